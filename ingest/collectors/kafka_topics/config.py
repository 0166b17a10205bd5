"""Settings of Kafka topics that other collectors fill: one entry of ``kafka_sources`` is some topics of one format."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from bus.config import KafkaConnection
from common.units import Seconds
from ingest.collectors.gnmi.config import Source


class Format(StrEnum):
    GNMIC_EVENT = "gnmic_event"


class Limits(BaseModel):
    """What is taken of the topics. What is above it is dropped and counted; nothing is, for coming fast."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    message_bytes_max: int = Field(4 << 20, gt=0, le=64 << 20, description="Of one message, decompressed.")
    fetch_bytes_max: int = Field(32 << 20, gt=0, description="Of one answer of a broker, as sent.")
    devices_max: int = Field(10_000, gt=0, description="Devices that are known at a time.")
    series_max: int = Field(50_000, gt=0, description="Of one device.")


class Config(BaseModel):
    """Some topics of one format."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    job_name: str = Field("kafka", min_length=1, description="First part of the targets' names.")
    kafka: KafkaConnection = Field(KafkaConnection(), description="The brokers, and how to reach them.")
    topics: tuple[str, ...] = Field(min_length=1, description="Names of the topics.")
    group: str = Field(
        "fabricscope", min_length=1, description="Consumer group: processes of one group share the partitions."
    )
    format: Format = Field(description="What the messages are: gnmic_event.")
    source: Source = Field(Source.OPENCONFIG, description="Whose paths are used: sonic, openconfig, arista or junos.")
    devices: dict[str, str] = Field(
        {},
        description="Name of a device by the source that gnmic states, where that, without its port, is not the "
        "device's name.",
    )
    gather_s: Seconds = Field(0.5, description="How long messages are collected into batches.")
    silence_s: float = Field(60.0, gt=0, description="A device that sends nothing for so long is down as `silent`.")
    limits: Limits = Limits()
