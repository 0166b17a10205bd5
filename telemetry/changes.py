"""Changes: what people and automation did to the cluster. A change often explains what follows it."""

from dataclasses import dataclass
from enum import StrEnum

from telemetry.objects import EventTime, Name, ObjectRef


class ChangeKind(StrEnum):
    CONFIG = "config"
    REBOOT = "reboot"
    FIRMWARE = "firmware"
    DRAIN = "drain"
    JOB_START = "job_start"
    JOB_END = "job_end"
    MAINTENANCE = "maintenance"


@dataclass(frozen=True, slots=True)
class Change:
    """One change of ``objects``; ends_ns is 0 for one without duration. Times are event times."""

    id: Name
    kind: ChangeKind
    objects: tuple[ObjectRef, ...]
    starts_ns: EventTime
    ends_ns: EventTime = 0
    author: str = ""
    summary: str = ""
