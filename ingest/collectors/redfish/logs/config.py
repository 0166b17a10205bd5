"""Configuration of the logs of management controllers."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from common.units import Seconds


class Severity(StrEnum):
    OK = "ok"
    WARNING = "warning"
    CRITICAL = "critical"


class Logs(BaseModel):
    """Which entries of a controller's logs are events, and how often and how far the logs are read."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    interval_s: Seconds = Field(
        60.0,
        le=300,
        description="A log is read no more often: a controller builds each page on a slow processor that has sensors "
        "to read too, and what is logged has a time of its own.",
    )
    severity: Severity = Field(
        Severity.WARNING, description="The least severe entries that are events. With ok also each login."
    )
    leave_out: tuple[str, ...] = Field(
        ("*Journal*", "*HostLogger*", "*PostCode*", "*Dump*", "*Crashdump*", "*Audit*"),
        description="Ids of logs that are not read, with * for any text: consoles, and what is no event.",
    )
    pages_max: int = Field(4, ge=2, description="Of one log in one reading.")
    entries_max: int = Field(100, gt=0, description="New ones of one log in one reading; older ones are dropped.")
    events_max: int = Field(100, gt=0, description="Different ones of one controller in a quarter of an hour.")
