"""Events: what happened to one object for a time, as the source shows it, without judging whether it is a fault."""

from dataclasses import dataclass
from enum import StrEnum

from telemetry.objects import Count, EventTime, Finite, Name, ObjectRef


class EventKind(StrEnum):
    """What can be logged; docs/events.md says what each rests on."""

    PFC_PAUSE = "pfc_pause"
    PFC_BRIEF_PAUSES = "pfc_brief_pauses"  # those of an hour that were too short for an event each
    PAUSE = "pause"  # of the whole link, 802.3x
    PFC_WATCHDOG = "pfc_watchdog"
    XID = "xid"
    SXID = "sxid"
    LINK_DOWN = "link_down"
    LINK_BOUNCED = "link_bounced"  # it was down between two readings, as its count alone shows
    BGP_DOWN = "bgp_down"
    REBOOT = "reboot"
    NCCL_PROCESS = "nccl_process"
    BMC_LOG = "bmc_log"  # an entry of the log of a host's management controller


class EventState(StrEnum):
    OPEN = "open"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Event:
    """One event, as of ``observed_ns``. ``id`` stays the same from its beginning to its end.

    It began after ``began_after_ns`` and by ``began_by_ns``, and ended between the other two, which are 0 while it is
    open: what a counter shows lies between two readings. Where both are equal the time is exact.

    source, target: the metric that shows it, and who reported that. count: how many were merged into it.
    amount: growth of a counter in it, in ``unit``; 0 of a state. priority, queue, direction: '' where it has none;
    direction is seen from the port. detail: what else the source says, such as the code of an XID. where: the object as
    people call it, a GPU by its index and serial.
    """

    id: Name
    kind: EventKind
    state: EventState
    object: ObjectRef
    source: Name
    target: str
    observed_ns: EventTime
    began_after_ns: EventTime
    began_by_ns: EventTime
    ended_after_ns: EventTime = 0
    ended_by_ns: EventTime = 0
    count: Count = 1
    amount: Finite = 0.0
    unit: str = ""
    priority: str = ""
    queue: str = ""
    direction: str = ""
    detail: str = ""
    where: str = ""

    @property
    def at_least_s(self) -> float | None:
        """Its duration in seconds is that or more, None while it is open."""
        if not self.ended_by_ns:
            return None
        known = max(0, self.ended_after_ns - self.began_by_ns) / 1e9
        return max(known, self.amount) if self.unit == "seconds" and self.kind in _PAUSES else known

    @property
    def at_most_s(self) -> float | None:
        """Its duration in seconds is that or less, None while it is open."""
        return (self.ended_by_ns - self.began_after_ns) / 1e9 if self.ended_by_ns else None


_PAUSES = (EventKind.PFC_PAUSE, EventKind.PAUSE)
