"""Scrape jobs, in the shape of Prometheus' ``scrape_configs``."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from common.secrets import BasicAuth, read_secret_text
from common.tls import TlsConfig
from common.units import Seconds
from ingest.admission.line import Priority
from ingest.collectors.exposition.relabel import LabelName, RelabelConfig
from ingest.collectors.unmapped_settings import Unmapped, UnmappedSeriesMax
from telemetry.catalogue import Metric, Origin, Source, metrics, origins_of, source, source_names
from telemetry.catalogue.own import NameRule


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def _without_credentials(address: str) -> str:
    """An address names its target in logs, records and pages."""
    if "@" in address.rpartition("://")[2].partition("/")[0]:
        raise ValueError("expected host:port without user name and password: they belong in basic_auth")
    return address


Address = Annotated[str, AfterValidator(_without_credentials)]


class Authorization(_Frozen):
    type: str = Field(default="Bearer", pattern=r"^[A-Za-z0-9_-]+$", description="First word of the header.")
    credentials_file: Path = Field(description="File with the rest of it, read again at each use.")

    def authorization(self) -> str:
        """The header's value, with what the file holds now. Unavailable where it cannot be read."""
        return f"{self.type} {read_secret_text(self.credentials_file)}"


class _Secured(_Frozen):
    """What is asked with TLS and a secret, both from files."""

    tls_config: TlsConfig = TlsConfig()
    basic_auth: BasicAuth | None = None
    authorization: Authorization | None = Field(default=None, description="The header Authorization.")

    @model_validator(mode="after")
    def _has_one_secret(self) -> Self:
        if self.basic_auth and self.authorization:
            raise ValueError("authorization: not together with basic_auth")
        return self

    @property
    def files(self) -> dict[str, Path]:
        """Those that are configured, by their key."""
        named = {f"tls_config.{key}": file for key, file in self.tls_config.files.items()}
        if self.basic_auth is not None:
            named["basic_auth.password_file"] = self.basic_auth.password_file
        if self.authorization is not None:
            named["authorization.credentials_file"] = self.authorization.credentials_file
        return named

    def secret_headers(self) -> dict[str, str]:
        """What says who asks, with what the file holds now. Unavailable where it cannot be read."""
        credentials = self.basic_auth or self.authorization
        return {} if credentials is None else {"Authorization": credentials.authorization()}


class StaticConfig(_Frozen):
    targets: tuple[Address, ...] = Field(description="host:port of each target.")
    labels: dict[LabelName, str] = Field(
        default={},
        description="`device` names the host, `job` replaces job_name; others are added to every series.",
    )


class FileSdConfig(_Frozen):
    files: tuple[str, ...] = Field(description="JSON or YAML files with targets; the last part may hold wildcards.")
    refresh_interval: Seconds = Field(default=30.0, description="How often the files are read.")


class HttpSdConfig(_Secured):
    url: str = Field(description="Answers with a JSON list of targets.", pattern=r"^https?://")
    refresh_interval: Seconds = Field(default=60.0, description="How often it is requested.")


class MappingEntry(NameRule):
    """The name and labels that an exporter outside the catalogue uses for a canonical metric."""

    metric: str = Field(description="Name in the catalogue, or of `metrics`.")

    @field_validator("metric")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in metrics():
            raise ValueError("expected a metric of the catalogue, or one that `metrics` defines")
        return name

    def origin(self, source: str) -> tuple[Metric, Origin]:
        fields = self.model_dump(exclude={"metric"})
        return metrics()[self.metric], Origin(source=source, **fields)


def check_source(source: str, origins: Sequence[tuple[Metric, Origin]], unmapped: Unmapped) -> None:
    """ValueError for a source of which no series would be kept."""
    known = source_names()
    if source in known or origins or unmapped == "keep":
        return
    similar = get_close_matches(source, known, 1)
    meant = f" (did you mean {similar[0]}?)" if similar else ""
    raise ValueError(
        f"source: nothing maps the names of {source!r}{meant}: expected one of {', '.join(known)}; or any name "
        "that has entries in mapping or in an origin of metrics, or unmapped: keep"
    )


def check_addresses(addresses: Iterable[str]) -> None:
    """ValueError for the first that is an address of a page, in place of a host's."""
    for address in addresses:
        if "/" in address:
            raise ValueError(
                f"static_configs: target {address!r}: expected host:port; the rest belongs in scheme and metrics_path"
            )


class ScrapeConfig(_Secured):
    """One job: where its targets are, and which source's names they use."""

    job_name: str = Field(min_length=1, description="First part of the targets' names.")
    source: str = Field(
        description="Source of the catalogue (dcgm, node_exporter, lustre, …), or any name with mapping."
    )
    format: Literal["text", "csv"] = Field(
        default="text",
        description="Of its pages: text, Prometheus' or OpenMetrics; csv, a header and a row for each object.",
    )
    scrape_interval: Seconds = Field(default=10.0, description="How often each target is scraped.")
    scrape_timeout: Seconds | None = Field(default=None, description="At most the interval, which is the default.")
    priority: Priority = Field(
        default=Priority.NORMAL, description="high, normal or low: who is left out first when not all can be scraped."
    )
    connect_timeout: Seconds = Field(default=3.0, description="The part of scrape_timeout that connecting may take.")
    backoff_intervals_max: int = Field(
        default=4,
        ge=1,
        description="A target that keeps failing is scraped every second interval, then every so many.",
    )
    metrics_path: str = Field(default="/metrics", pattern=r"^/[^\s]*$", description="Path of the address.")
    params: dict[str, tuple[str, ...]] = Field(default={}, description="Parameters of the address.")
    scheme: Literal["http", "https"] = Field(default="http", description="http or https.")
    enable_compression: bool = Field(default=True, description="Ask for gzip.")
    static_configs: tuple[StaticConfig, ...] = Field(default=(), description="Targets that stand here.")
    file_sd_configs: tuple[FileSdConfig, ...] = Field(default=(), description="Targets from files that change.")
    http_sd_configs: tuple[HttpSdConfig, ...] = Field(default=(), description="Targets from a service.")
    relabel_configs: tuple[RelabelConfig, ...] = ()
    mapping: tuple[MappingEntry, ...] = ()
    guids_from: str = Field(
        default="", description="Name of one of infiniband_sources: it names devices that the page knows by GUID."
    )
    unmapped: Unmapped = "drop"
    unmapped_series_max: UnmappedSeriesMax = 1000
    body_bytes_max: int = Field(default=16 * 1024 * 1024, gt=0, description="Of one body as sent.")
    decoded_bytes_max: int = Field(default=64 * 1024 * 1024, gt=0, description="Of one body unpacked.")
    series_max: int = Field(default=50_000, gt=0, description="Of one body.")

    @model_validator(mode="after")
    def _fits(self) -> "ScrapeConfig":
        if self.timeout_s > self.scrape_interval:
            raise ValueError("scrape_timeout: expected at most scrape_interval")
        check_source(self.source, self.origins(), self.unmapped)
        if not self.relabel_configs:  # which may make an address of anything
            check_addresses(address for group in self.static_configs for address in group.targets)
        if self.guids_from and "device" not in self.catalogue_source().labels:
            raise ValueError("guids_from: expected a source that speaks for other devices, as ufm")
        return self

    @property
    def timeout_s(self) -> float:
        return self.scrape_interval if self.scrape_timeout is None else self.scrape_timeout

    def catalogue_source(self) -> Source:
        if self.source in source_names():
            return source(self.source)
        return Source(self.source, "by mapping alone", ("exposition",))

    def origins(self) -> list[tuple[Metric, Origin]]:
        return origins_of(self.source) + [entry.origin(self.source) for entry in self.mapping]
