"""Where the API listens."""

import ipaddress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator


class ApiConfig(BaseModel):
    """Loopback by default; beyond loopback only with TLS and a token, or on a network that the operator trusts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(9099, ge=0, le=65535, description="Port to listen on; 0 picks a free one.")
    allowed_hosts: tuple[str, ...] = Field(
        ("127.0.0.1", "localhost", "[::1]"), description="Host headers that are answered; others get a 400."
    )
    tls_cert_file: Path | None = Field(None, description="Certificate chain, PEM.")
    tls_key_file: Path | None = Field(None, description="Private key, PEM.")
    bearer_token_file: Path | None = Field(None, description="File with the token that every request must carry.")
    trusted_network: bool = Field(
        False,
        description="Listen beyond loopback without TLS and token: the network around is trusted (a compose network).",
    )
    history_s: float = Field(900, gt=0, description="How much recent telemetry is kept in memory for evidence plots.")
    history_bytes_max: int = Field(
        256 * 1024 * 1024, gt=0, description="Memory for it, compressed; the oldest goes first."
    )

    @model_validator(mode="after")
    def _closed_by_default(self) -> "ApiConfig":
        if (self.tls_cert_file is None) != (self.tls_key_file is None):
            raise ValueError("tls_cert_file and tls_key_file belong together")
        secured = self.tls_cert_file is not None and self.bearer_token_file is not None
        if not (is_loopback(self.host) or secured or self.trusted_network):
            raise ValueError(
                f"host {self.host} is reachable from elsewhere: "
                "give tls_cert_file, tls_key_file and bearer_token_file, or set trusted_network"
            )
        return self


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it; any other name than localhost counts as reachable."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
