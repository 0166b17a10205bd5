"""Where a collector listens that devices push to, who may push, and how much: settings that receivers share."""

import ipaddress
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from common.tls import check_pair

ADDRESS = r"^(\[[0-9a-fA-F:]+\]|[^:\s]+):\d{1,5}$"


class ServerTlsConfig(BaseModel):
    """Our own certificate, and whose certificates we ask for."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    cert_file: Path = Field(description="Our certificate chain, PEM. Read again when it changes.")
    key_file: Path = Field(description="Its private key, PEM.")
    client_ca_file: Path | None = Field(
        None, description="Authorities of the senders' certificates; with it only senders that have one may push."
    )

    @model_validator(mode="after")
    def _certificate_has_its_key(self) -> Self:
        check_pair(self.cert_file, self.key_file)
        return self


class ReceiverLimits(BaseModel):
    """What one sender, and all of them together, may send."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    message_bytes_max: int = Field(
        4 << 20, gt=0, le=64 << 20, description="Of one message, decompressed. A larger one is refused."
    )
    bytes_per_s: float = Field(32 << 20, gt=0, description="Of one sender, averaged over two seconds.")
    messages_per_s: float = Field(5_000, gt=0, description="Of one sender, averaged over two seconds.")
    waiting_max: int = Field(64, gt=0, description="Messages of all senders that wait to be decoded.")
    waiting_bytes_max: int = Field(64 << 20, gt=0, description="Their size together.")
    senders_max: int = Field(10_000, gt=0, description="Senders that are known at a time.")


class ReceiverConfig(BaseModel):
    """One receiver: an address that we listen on."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    job_name: str = Field(min_length=1, description="First part of the targets' names.")
    listen: str = Field(
        pattern=ADDRESS,
        description="host:port or [IPv6]:port; port 0: a free one.",
    )
    tls: ServerTlsConfig | None = Field(None, description="Without it nothing is encrypted. Warned about.")
    allow: tuple[str, ...] = Field(
        (), description="Addresses and networks that may push, as 10.0.0.0/16. All, when tls.client_ca_file is set."
    )
    silence_s: float = Field(60.0, gt=0, description="A device that sends nothing for so long is down as `silent`.")
    senders: dict[str, str] = Field(
        {},
        description="Name of a sender by the name in its certificate or by its address, where these are not the "
        "device's name.",
    )

    @field_validator("allow")
    @classmethod
    def _are_networks(cls, allow: tuple[str, ...]) -> tuple[str, ...]:
        for network in allow:
            ipaddress.ip_network(network)  # a ValueError that says what is wrong
        return allow

    @field_validator("senders")
    @classmethod
    def _are_written_as_they_come(cls, senders: dict[str, str]) -> dict[str, str]:
        return {_as_it_comes(sender): device for sender, device in senders.items()}

    @model_validator(mode="after")
    def _says_who_may_push(self) -> Self:
        if not self.allow and (self.tls is None or self.tls.client_ca_file is None):
            raise ValueError("who may push? expected tls.client_ca_file, or addresses in allow")
        return self


def _as_it_comes(sender: str) -> str:
    """An address as connections have it; any other name as it is.

    >>> [_as_it_comes(text) for text in ("2001:DB8:0::1", "::ffff:10.0.0.1", "10.0.0.1", "leaf1.example")]
    ['2001:db8::1', '10.0.0.1', '10.0.0.1', 'leaf1.example']
    """
    try:
        address = ipaddress.ip_address(sender)
    except ValueError:
        return sender
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)
