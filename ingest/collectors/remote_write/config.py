"""Settings of the receiver: one entry of ``remote_write_receivers`` is one address that we listen on."""

import ipaddress
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from common.secrets import BasicAuth
from common.units import Seconds
from ingest.collectors.pushed_rule import PushedRule
from ingest.collectors.receiver_config import ServerTlsConfig


class RemoteWriteLimits(BaseModel):
    """What all senders together may send."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    body_bytes_max: int = Field(16 << 20, gt=0, description="Of one request as sent.")
    decoded_bytes_max: int = Field(64 << 20, gt=0, description="Of one request unpacked.")
    waiting_bytes_max: int = Field(
        64 << 20, gt=0, description="Requests as sent that are not in the queue yet; beyond it the answer is 503."
    )
    connections_max: int = Field(
        1_024, gt=0, description="Connections at a time; beyond them one without a request ends."
    )
    series_max: int = Field(500_000, gt=0, description="Series of all senders, those that nothing maps included.")
    targets_max: int = Field(10_000, gt=0, description="Devices of all senders.")


class Config(BaseModel):
    """One receiver."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    job_name: str = Field("remote_write", min_length=1, description="First part of the targets' names.")
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(9201, ge=0, le=65535, description="Port to listen on; 0 picks a free one.")
    path: str = Field("/api/v1/write", pattern=r"^/[^\s?#{}]*$", description="Path that senders write to.")
    tls: ServerTlsConfig | None = Field(None, description="Without it nothing is encrypted.")
    bearer_token_file: Path | None = Field(None, description="File with the token that senders must show.")
    basic_auth: BasicAuth | None = Field(None, description="User name and password that senders must show.")
    trusted_network: bool = Field(
        False, description="Listen beyond loopback without TLS or without credentials: the network around is trusted."
    )
    rules: tuple[PushedRule, ...] = Field(
        min_length=1, description="Whose names a series has, and of which device it is; the first that fits decides."
    )
    gather_s: Seconds = Field(
        0.2, description="How long requests are collected into batches; a request is answered when they are queued."
    )
    silence_s: float = Field(60.0, gt=0, description="A device that sends nothing for so long is down as `silent`.")
    limits: RemoteWriteLimits = RemoteWriteLimits()

    @property
    def listen(self) -> str:
        """host:port, with the brackets of IPv6."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @model_validator(mode="after")
    def _closed_by_default(self) -> Self:
        if self.bearer_token_file is not None and self.basic_auth is not None:
            raise ValueError("give either basic_auth or bearer_token_file")
        knows_senders = self.bearer_token_file or self.basic_auth or (self.tls and self.tls.client_ca_file)
        is_closed = self.tls is not None and knows_senders
        if not (_is_loopback(self.host) or is_closed or self.trusted_network):
            raise ValueError(
                f"host {self.host} is reachable from elsewhere: give tls and bearer_token_file, basic_auth or "
                "tls.client_ca_file, or set trusted_network"
            )
        return self


def _is_loopback(host: str) -> bool:
    """Whether only this machine reaches it; any other name than localhost counts as reachable."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
