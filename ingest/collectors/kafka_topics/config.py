"""Settings of Kafka topics that other collectors fill: one entry of ``kafka_sources`` is some topics of one format."""

from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bus.config import KafkaConnection
from common.units import Seconds
from ingest.collectors.gnmi.config import Source
from ingest.collectors.pushed_rule import PushedRule
from ingest.collectors.unmapped_settings import Unmapped, UnmappedSeriesMax


class Format(StrEnum):
    GNMIC_EVENT = "gnmic_event"
    GNMIC_JSON = "gnmic_json"
    GNMIC_PROTO = "gnmic_proto"
    GNMIC_PROTOJSON = "gnmic_protojson"
    GNMIC_PROTOTEXT = "gnmic_prototext"
    TELEGRAF_INFLUX = "telegraf_influx"
    TELEGRAF_JSON = "telegraf_json"
    TELEGRAF_REMOTE_WRITE = "telegraf_remote_write"

    @property
    def is_of_telegraf(self) -> bool:
        return self.name.startswith("TELEGRAF")


class TopicRule(PushedRule):
    """Tags are labels; ``job`` of a series is its tag ``job``, else its measurement."""

    device_from: tuple[str, ...] = Field(
        default=("source", "host"),
        min_length=1,
        description="Tags, the first present one names the device; what follows its last colon is left out.",
    )


class Limits(BaseModel):
    """What is taken of the topics. What is above it is dropped and counted; nothing is, for coming fast."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    message_bytes_max: int = Field(4 << 20, gt=0, le=64 << 20, description="Of one message, decompressed.")
    fetch_bytes_max: int = Field(32 << 20, gt=0, description="Of one answer of a broker, as sent.")
    devices_max: int = Field(10_000, gt=0, description="Devices that are known at a time.")
    series_max: int = Field(50_000, gt=0, description="Of one device, in a format of gnmic.")
    all_series_max: int = Field(
        500_000, gt=0, description="Of all devices, those that nothing maps included, in a format of Telegraf."
    )


class Config(BaseModel):
    """Some topics of one format."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    job_name: str = Field("kafka", min_length=1, description="First part of the targets' names.")
    kafka: KafkaConnection = Field(KafkaConnection(), description="The brokers, and how to reach them.")
    topics: tuple[str, ...] = Field(min_length=1, description="Names of the topics.")
    group: str = Field(
        "fabricscope", min_length=1, description="Consumer group: processes of one group share the partitions."
    )
    format: Format = Field(
        description="What the messages are: gnmic_event, gnmic_json, gnmic_proto, gnmic_protojson, gnmic_prototext, "
        "telegraf_influx, telegraf_json or telegraf_remote_write."
    )
    source: Source = Field(
        Source.OPENCONFIG, description="Whose paths gnmic sends: sonic, openconfig, arista, junos or cisco."
    )
    rules: tuple[TopicRule, ...] = Field(
        (), description="Whose names a series of Telegraf has, and of which device it is; the first that fits decides."
    )
    devices: dict[str, str] = Field(
        {},
        description="Name of a device by the source that gnmic states, where that, without its port, is not the "
        "device's name.",
    )
    gather_s: Seconds = Field(0.5, description="How long messages are collected into batches.")
    silence_s: float = Field(60.0, gt=0, description="A device that sends nothing for so long is down as `silent`.")
    unmapped: Unmapped = "drop"
    unmapped_series_max: UnmappedSeriesMax = 1000
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _fits_its_format(self) -> Self:
        of_telegraf = self.format.is_of_telegraf
        if of_telegraf and not self.rules:
            raise ValueError(f"rules: expected at least one with format {self.format}")
        if of_telegraf and self.devices:
            raise ValueError(f"devices: expected none with format {self.format}; rules have relabel_configs")
        if of_telegraf and self.unmapped == "keep":
            raise ValueError(f"unmapped: expected in rules with format {self.format}")
        if self.rules and not of_telegraf:
            raise ValueError(f"rules: expected none with format {self.format}, which has source")
        return self
