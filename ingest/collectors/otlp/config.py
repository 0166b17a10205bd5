"""Configuration of OTLP receivers: one entry of ``otlp_receivers`` is one address that we listen on."""

from enum import StrEnum
from typing import Any

from pydantic import Field, model_validator

from ingest.collectors.pushed_rule import PushedRule
from ingest.collectors.receiver_config import ADDRESS, ReceiverConfig, ReceiverLimits


class Transport(StrEnum):
    """What OTLP is carried by."""

    GRPC = "grpc"
    HTTP = "http"


class OtlpRule(PushedRule):
    """Attributes are labels, with ``_`` for each character that no label can have; ``sender`` is who sent them."""

    device_from: tuple[str, ...] = Field(
        default=("host_name", "net_host_name", "instance", "sender"),
        min_length=1,
        description="Attributes, the first present one names the device; `sender` is the name in the sender's "
        "certificate, else its address. [sender] lets nobody speak for another device.",
    )


class OtlpLimits(ReceiverLimits):
    """What one sender, and all of them together, may send, and how much of it is remembered."""

    series_max: int = Field(500_000, gt=0, description="Of all senders, those that nothing maps included.")
    targets_max: int = Field(10_000, gt=0, description="Devices of all senders.")


class Config(ReceiverConfig):
    """One receiver."""

    job_name: str = Field("otlp", min_length=1, description="First part of the targets' names.")
    protocol: Transport = Field(Transport.GRPC, description="grpc, or http: protobuf and JSON, POST to /v1/metrics.")
    listen: str = Field(
        "0.0.0.0:4317",
        pattern=ADDRESS,
        description="host:port or [IPv6]:port; port 0: a free one. With http the default port is 4318.",
    )
    rules: tuple[OtlpRule, ...] = Field(
        min_length=1, description="Whose names a series has, and of which device it is."
    )
    limits: OtlpLimits = OtlpLimits()

    @model_validator(mode="before")
    @classmethod
    def _listens_at_the_port_of_its_protocol(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("protocol") == Transport.HTTP:
            return {"listen": "0.0.0.0:4318", **given}
        return given
