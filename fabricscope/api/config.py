"""Where the API listens, whom it lets in, and how much it gives to each."""

import ipaddress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator


class ApiConfig(BaseModel):
    """Loopback by default; beyond loopback only with TLS and tokens, or on a network that the operator trusts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(9099, ge=0, le=65535, description="Port to listen on; 0 picks a free one.")
    allowed_hosts: tuple[str, ...] = Field(
        ("127.0.0.1", "localhost", "[::1]"), description="Host headers that are answered; others get a 400."
    )
    tls_cert_file: Path | None = Field(None, description="Certificate chain, PEM.")
    tls_key_file: Path | None = Field(None, description="Private key, PEM.")
    state_dir: Path = Field(Path("data/api"), description="Where tokens (hashed) and the audit log are kept.")
    recordings_dir: Path | None = Field(
        None, description="Folder of recordings that POST /api/v1/replays may run again; without it none."
    )
    token_for_reading: bool = Field(
        False, description="Reading needs a token too. Beyond loopback it always does, unless trusted_network."
    )
    bearer_token_file: Path | None = Field(
        None,
        description="File with a token that may do everything, for ever; with it reading needs a token too. "
        "Better: `fabricscope token create`.",
    )
    session_s: float = Field(
        43_200,
        ge=60,
        le=31_622_400,
        description="How long a browser stays logged in; never longer than its token is valid.",
    )
    trusted_network: bool = Field(
        False,
        description="Listen beyond loopback without TLS, and let everybody read: the network around is trusted "
        "(a compose network).",
    )
    connections_max: int = Field(
        512,
        ge=64,
        le=16_384,
        description="Connections at a time; one that waits for its client gives way to a new one.",
    )
    streams_max: int = Field(128, ge=1, description="Event streams (NOC pages) at a time, of all clients.")
    client_streams_max: int = Field(16, ge=1, description="Event streams at a time, of one client address.")
    changes_per_minute: int = Field(60, ge=1, le=10_000, description="Requests of one token that change something.")
    history_s: float = Field(900, gt=0, description="How much recent telemetry is kept in memory for evidence plots.")
    history_bytes_max: int = Field(
        256 * 1024 * 1024, gt=0, description="Memory for it, compressed; the oldest goes first."
    )

    @model_validator(mode="after")
    def _closed_by_default(self) -> "ApiConfig":
        if (self.tls_cert_file is None) != (self.tls_key_file is None):
            raise ValueError("tls_cert_file and tls_key_file belong together")
        if not (is_loopback(self.host) or self.tls_cert_file is not None or self.trusted_network):
            raise ValueError(
                f"host {self.host} is reachable from elsewhere: "
                "give tls_cert_file and tls_key_file, or set trusted_network"
            )
        if self.streams_max > self.connections_max // 2:
            raise ValueError(
                f"streams_max {self.streams_max}: expected at most half of connections_max {self.connections_max}, "
                "so that others are answered"
            )
        return self

    @property
    def reading_needs_token(self) -> bool:
        """Whether a request that changes nothing needs a token too; one that changes something always does."""
        is_private = is_loopback(self.host) or self.trusted_network
        return self.token_for_reading or self.bearer_token_file is not None or not is_private


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it; any other name than localhost counts as reachable."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
