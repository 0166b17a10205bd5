"""Configuration of Redfish jobs."""

from pydantic import BaseModel, ConfigDict, Field, model_validator

from common.secrets import BasicAuth
from common.tls import TlsConfig
from common.units import Seconds
from ingest.collectors.redfish.logs.config import Logs


class Target(BaseModel):
    """One management controller, and the host that it belongs to."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    address: str = Field(pattern=r"^[^/@\s]+$", description="host or host:port of the controller.")
    device: str = Field(min_length=1, description="The host that it belongs to.")


class Limits(BaseModel):
    """What one controller is asked for, and what of it is read."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    connections_max: int = Field(2, gt=0, description="Requests to one controller at a time.")
    requests_per_s: float = Field(10.0, gt=0, description="To one controller; two seconds' worth may come at once.")
    requests_max: int = Field(300, gt=0, description="In one collection; what is beyond is not read.")
    body_bytes_max: int = Field(4 << 20, gt=0, description="Of one answer.")
    samples_max: int = Field(10_000, gt=0, description="Of one collection.")


class Config(BaseModel):
    """Controllers with the same settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    job_name: str = Field("redfish", min_length=1, description="First part of the targets' names.")
    targets: tuple[Target, ...] = Field(min_length=1, description="The controllers.")
    scheme: str = Field("https", pattern=r"^https?$", description="https or http.")
    tls_config: TlsConfig = TlsConfig()
    basic_auth: BasicAuth | None = Field(None, description="Sent with each request.")
    session_auth: BasicAuth | None = Field(
        None, description="Logs in once and keeps the session: where each request with a password costs the controller."
    )
    interval_s: Seconds = Field(30.0, description="How often each controller is asked.")
    timeout_s: Seconds = Field(20.0, description="Deadline of one collection, all of it.")
    layout_s: Seconds = Field(600.0, description="For how long it is remembered which resources there are.")
    logs: Logs | None = Field(Logs(), description="What controllers log, as events; null: logs are not read.")
    limits: Limits = Field(Limits(), description="Of one controller.")

    @model_validator(mode="after")
    def _fits(self) -> "Config":
        if self.basic_auth and self.session_auth:
            raise ValueError("session_auth: not together with basic_auth")
        if self.timeout_s > self.interval_s:
            raise ValueError("timeout_s: expected at most interval_s")
        return self
