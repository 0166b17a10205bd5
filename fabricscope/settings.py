"""All settings of the program, composed from the components' own: one YAML file, then the environment over it."""

import os
from pathlib import Path
from typing import Any

from ingest.config import IngestConfig
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from alerts.config import AlertingConfig
from analytics.config import AnalyticsConfig
from export.remote_write.config import RemoteWriteConfig
from fabricscope.api.config import ApiConfig
from fabricscope.marked_yaml import load_marked, locate
from recordings.config import RecordingConfig
from telemetry.bus.config import BusConfig
from telemetry.errors import ConfigError

ENVIRONMENT_PREFIX = "FABRICSCOPE__"


class MetricsPorts(BaseModel):
    """Loopback ports of the stages' own ``/metrics``; 0 is none. The API has its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ingest: int = Field(9211, ge=0, le=65535)
    analytics: int = Field(9212, ge=0, le=65535)
    alerts: int = Field(9213, ge=0, le=65535)
    export: int = Field(9214, ge=0, le=65535)


class GlobalConfig(BaseModel):
    """What all stages share."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cluster: str = Field("cluster", description="Name of this cluster, on every page and series that goes out.")
    data_dir: Path = Field(Path("data"), description="Where the embedded bus, snapshots and outbox live.")
    metrics_host: str = Field("127.0.0.1", description="Address of the stages' own /metrics.")
    metrics_ports: MetricsPorts = MetricsPorts()


class Settings(BaseSettings):
    """The whole file. Environment variables like ``FABRICSCOPE__API__PORT=9100`` go over it."""

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", env_prefix=ENVIRONMENT_PREFIX, env_nested_delimiter="__", populate_by_name=True
    )

    general: GlobalConfig = Field(GlobalConfig(), alias="global")
    bus: BusConfig = BusConfig()
    ingest: IngestConfig = IngestConfig()
    analytics: AnalyticsConfig = AnalyticsConfig()
    alerting: AlertingConfig = AlertingConfig()
    remote_write: tuple[RemoteWriteConfig, ...] = ()
    recording: RecordingConfig | None = None
    api: ApiConfig = ApiConfig()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return env_settings, init_settings


def load_settings(path: Path | None) -> Settings:
    """Settings from a file, or the defaults; ConfigError with file:line:column for the first thing that is wrong."""
    document: dict[str, Any] = {}
    marks = {}
    if path is not None:
        document, marks = load_marked(path)
    try:
        return Settings(**document)
    except ValidationError as error:
        raise ConfigError("\n".join(_describe(path, marks, problem) for problem in error.errors())) from error


def _describe(path: Path | None, marks: Any, problem: Any) -> str:
    where = problem["loc"]
    variable = ENVIRONMENT_PREFIX + "__".join(map(str, where)).upper()
    key = ".".join(map(str, where))
    text = "unknown key" if problem["type"] == "extra_forbidden" else problem["msg"]
    if variable in os.environ:
        return f"environment {variable}: {text}"
    return f"{locate(path, marks, where)}: {key}: {text}" if path else f"{key}: {text}"
