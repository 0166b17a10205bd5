"""The events of one controller's logs, and the samples of them. Pure: time goes in.

A sample says when it was logged last. It is repeated for ``HOLD_NS`` after it was read, so that whoever reads it sees
that it is over. What is read again after a restart has the same time, and so is no second event.
"""

from dataclasses import dataclass, replace

from common.units import NS_PER_S
from ingest.collectors.canonical_samples import SourceSample
from ingest.collectors.redfish.logs.entry import LogEntry, rank_of, time_ns
from ingest.collectors.redfish.logs.metrics import Outcome
from ingest.collectors.redfish.parse import Document

HOLD_NS = 900 * NS_PER_S
RECENT_NS = 600 * NS_PER_S  # what is older is history to whoever makes events of samples, too
_AHEAD_NS = 120 * NS_PER_S  # of our clock; what is dated later comes from a clock that is wrong
_CLOCK_NS = 5 * NS_PER_S  # by which a clock may differ from ours and is taken as it is


def clock_error_ns(service: Document, now_ns: int) -> int:
    """What to add to times of a log, by the clock that its LogService states; 0 where that is right or unknown."""
    stated_ns = time_ns(service.get("DateTime"))
    error_ns = now_ns - stated_ns if stated_ns else 0
    return error_ns if abs(error_ns) > _CLOCK_NS else 0


@dataclass(slots=True)
class _Held:
    at_ns: int
    read_ns: int
    is_unread: bool = True


class LogEvents:
    """severity: from which on an entry is an event."""

    def __init__(self, severity: str, events_max: int) -> None:
        self._rank_min, self._events_max = rank_of(severity), events_max
        self._held: dict[LogEntry, _Held] = {}  # by what makes a series

    def wants(self, entry: LogEntry) -> bool:
        return rank_of(entry.severity) >= self._rank_min

    def add(self, entry: LogEntry, error_ns: int, now_ns: int, *, is_past: bool) -> Outcome:
        """is_past: it was there when its log was first seen, so without a time nobody knows how old it is."""
        if not self.wants(entry):
            return Outcome.MINOR
        at_ns = entry.at_ns + error_ns if entry.at_ns else 0
        if not at_ns or at_ns > now_ns + _AHEAD_NS:
            at_ns = 0 if is_past else now_ns
        if at_ns <= now_ns - RECENT_NS:
            return Outcome.PAST if is_past else Outcome.LATE
        series = replace(entry, id="", at_ns=0)
        held = self._held.get(series)
        if held is None and len(self._held) >= self._events_max:
            return Outcome.QUOTA
        at_ns = max(min(at_ns, now_ns // NS_PER_S * NS_PER_S), held.at_ns if held is not None else 0)
        self._held[series] = _Held(at_ns, now_ns)
        return Outcome.DUPLICATE if held is not None and held.is_unread else Outcome.TAKEN  # the newest one counts

    def reading(self, now_ns: int) -> list[SourceSample]:
        """What was logged lately."""
        self._held = {
            series: held for series, held in self._held.items() if held.is_unread or now_ns - held.read_ns < HOLD_NS
        }
        for held in self._held.values():
            held.is_unread = False
        return [
            SourceSample("LogEntry/Created", _labels(series), held.at_ns / NS_PER_S)
            for series, held in self._held.items()
        ]


def _labels(series: LogEntry) -> dict[str, str]:
    return {
        "severity": series.severity,
        "sensor": series.sensor,
        "event": series.event,
        "part": series.part,
        "message_id": series.message_id,
        "message": series.message,
    }
