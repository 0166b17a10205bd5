"""Configuration of dial-out receivers: one entry of ``gnmi_dialout_receivers`` is one address that we listen on."""

from pydantic import Field

from ingest.collectors.gnmi.config import LimitsConfig, Source
from ingest.collectors.receiver_config import ADDRESS, ReceiverConfig


class DialOutLimits(LimitsConfig):
    devices_max: int = Field(1_000, gt=0, description="Devices that are known at a time.")
    streams_max: int = Field(16, gt=0, description="Publish calls of one device at a time.")


class Config(ReceiverConfig):
    """One receiver. Updates are collected into batches as those of gNMI jobs are."""

    job_name: str = Field("dialout", min_length=1, description="First part of the targets' names.")
    listen: str = Field("0.0.0.0:8081", pattern=ADDRESS, description="host:port or [IPv6]:port; port 0: a free one.")
    source: Source = Field(Source.SONIC, description="Whose paths are used: sonic, openconfig, arista or junos.")
    gather_quiet_s: float = Field(0.02, gt=0, description="Updates become one batch when none has come for so long.")
    gather_max_s: float = Field(0.5, gt=0, description="A batch is open for so long at most.")
    limits: DialOutLimits = DialOutLimits()
