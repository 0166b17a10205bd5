"""What the settings of all receivers that devices dial have in common."""

from pydantic import Field

from ingest.collectors.gnmi.config import LimitsConfig
from ingest.collectors.receiver_config import ReceiverConfig
from ingest.collectors.unmapped_settings import Unmapped, UnmappedSeriesMax


class DialledLimits(LimitsConfig):
    """What one device may send, and how many may dial."""

    devices_max: int = Field(1_000, gt=0, description="Devices that are known at a time.")
    streams_max: int = Field(16, gt=0, description="Calls of one device at a time.")


class DialledConfig(ReceiverConfig):
    """Updates are collected into batches as those of gNMI jobs are."""

    gather_quiet_s: float = Field(0.02, gt=0, description="Updates become one batch when none has come for so long.")
    gather_max_s: float = Field(0.5, gt=0, description="A batch is open for so long at most.")
    unmapped: Unmapped = "drop"
    unmapped_series_max: UnmappedSeriesMax = 1000
    limits: DialledLimits = DialledLimits()
