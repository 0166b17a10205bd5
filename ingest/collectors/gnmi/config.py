"""Configuration of gNMI targets: one entry of ``gnmi_configs`` is one job, a set of similar targets."""

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from common.renamed import accept_renamed
from common.tls import TlsConfig
from ingest.collectors.unmapped_settings import Unmapped, UnmappedSeriesMax


class Source(StrEnum):
    """Whose paths a target uses; all of them also use OpenConfig's."""

    SONIC = "sonic"
    OPENCONFIG = "openconfig"
    ARISTA = "arista"
    JUNOS = "junos"
    CISCO = "cisco"


class Mode(StrEnum):
    SAMPLE = "sample"
    ON_CHANGE = "on_change"
    TARGET_DEFINED = "target_defined"


class Encoding(StrEnum):
    PROTO = "proto"
    JSON_IETF = "json_ietf"
    JSON = "json"


class PathConfig(BaseModel):
    """One path of a subscription."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    path: str = Field(min_length=1, description="As in the device's documentation: /interfaces/interface[name=*]/state")
    mode: Mode = Field(Mode.SAMPLE, description="sample, on_change or target_defined.")
    interval_s: float | None = Field(None, gt=0, description="Sample interval; the job's interval when absent.")
    heartbeat_s: float | None = Field(None, gt=0, description="on_change: the device repeats the value this often.")


class SubscriptionConfig(BaseModel):
    """One Subscribe call: paths that share a prefix and an encoding."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    paths: tuple[PathConfig, ...] = Field(min_length=1)
    target: str = Field("", description="prefix.target; on SONiC the database.")
    origin: str = Field("", description="prefix.origin, as eos_native.")
    encoding: Encoding = Field(Encoding.PROTO, description="proto, json_ietf or json.")
    names: bool = Field(False, description="Sends port names that the others need: they start once it has synced.")


class GnmiTlsConfig(TlsConfig):
    """Transport security of a device, which may have none at all."""

    insecure: bool = Field(False, description="No TLS at all. Warned about, and no credentials are sent.")

    @model_validator(mode="before")
    @classmethod
    def _accept_renamed(cls, settings: Any) -> Any:
        return accept_renamed(settings, {"skip_verify": "insecure_skip_verify"})

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.insecure and (self.insecure_skip_verify or self.files or self.server_name):
            raise ValueError("insecure means no TLS: the other TLS keys have no effect, remove them")
        return self


class TargetConfig(BaseModel):
    """One device."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    address: str = Field(pattern=r"^(\[[0-9a-fA-F:]+\]|[^:\s]+):\d{1,5}$", description="host:port or [IPv6]:port")
    device: str = Field(min_length=1, description="The label device of all its series.")
    tls: GnmiTlsConfig | None = Field(None, description="In place of the job's.")


class LimitsConfig(BaseModel):
    """What one target may send. Everything above is dropped and counted; too many messages end the call as well."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    message_bytes_max: int = Field(4 * 1024 * 1024, gt=0, le=64 * 1024 * 1024, description="Of one message.")
    bytes_per_s: float = Field(32 * 1024 * 1024, gt=0, description="Averaged over two seconds.")
    updates_per_s: float = Field(200_000, gt=0, description="Averaged over two seconds.")
    messages_per_s: float = Field(
        50_000, gt=0, description="Averaged over two seconds. Above it the call ends, and is asked again ever later."
    )
    series_max: int = Field(50_000, gt=0, description="Of one target.")


class Config(BaseModel):
    """One job of gNMI targets.

    A subscription without updates for ``silence_intervals`` of its shortest interval is subscribed again. Updates are
    collected into one batch until none has come for ``gather_quiet_s``, at most for ``gather_max_s``; a batch that is
    small for the target waits for the whole ``gather_max_s``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    job_name: str = Field("gnmi", min_length=1, description="First part of the targets' names.")
    source: Source = Field(
        Source.OPENCONFIG, description="Whose paths are used: sonic, openconfig, arista, junos or cisco."
    )
    targets: tuple[TargetConfig, ...] = Field((), description="The switches.")
    interval_s: float = Field(10.0, gt=0, description="Sample interval.")
    subscriptions: tuple[SubscriptionConfig, ...] = Field((), description="In place of the source's default set.")
    tls: GnmiTlsConfig = GnmiTlsConfig()
    username_file: Path | None = Field(None, description="File with the user name, read at each connection.")
    password_file: Path | None = Field(None, description="File with the password, read at each connection.")
    connect_timeout_s: float = Field(10.0, gt=0, description="Until a connection is there, TLS and all.")
    sync_timeout_s: float = Field(60.0, gt=0, description="Until the device has sent every value once.")
    silence_intervals: float = Field(
        2.5, ge=1.5, description="Subscribed again after so many of the shortest interval without an update."
    )
    keepalive_s: float = Field(30.0, ge=1, description="Between two pings on a connection.")
    backoff_max_s: float = Field(30.0, gt=0, description="Longest wait between two attempts to connect.")
    gather_quiet_s: float = Field(0.02, gt=0, description="Updates become one batch when none has come for so long.")
    gather_max_s: float = Field(0.5, gt=0, description="A batch is open for so long at most.")
    unmapped: Unmapped = "drop"
    unmapped_series_max: UnmappedSeriesMax = 1000
    limits: LimitsConfig = LimitsConfig()

    @model_validator(mode="after")
    def _consistent(self) -> "Config":
        if (self.username_file is None) != (self.password_file is None):
            raise ValueError("username_file and password_file belong together")
        if self.username_file and any(self.tls_of(target).insecure for target in self.targets):
            raise ValueError("username_file needs TLS: credentials are not sent in the clear")
        addresses = Counter(target.address for target in self.targets)
        if twice := [address for address, count in addresses.items() if count > 1]:
            raise ValueError(f"targets: two targets have the same address: {twice[0]!r}")
        return self

    def tls_of(self, target: TargetConfig) -> GnmiTlsConfig:
        return target.tls or self.tls
