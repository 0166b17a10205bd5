"""Whether a stage drops most of what it receives, or keeps it back, from its reports on the ledger."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from common.units import NS_PER_S
from telemetry.ledger import CATCH_UP_SECONDS, LAG_RECORDS, StageReport

WINDOW_S = 60
_SHARE_MAX = 0.5
_BEYOND_A_QUOTA = {"quota", "new_series"}
"""What one target sent beyond what it may: as if it had not been sent. A single target could otherwise make most of
what a stage receives, while nothing of the others is dropped."""
_SKIPPED = {
    "collections_skipped_cpu": "CPU",
    "collections_skipped_memory": "memory",
    "collections_skipped_descriptors": "file descriptors",
}
SPOOLED_S_MAX = 60
"""Younger than this, a spool is being emptied, or a bus was slow for a moment."""
LAG_RECORDS_MAX, CATCH_UP_S_MAX = 1000, 60
"""A stage reads as many records at once; a start takes less time."""


class RecentDrops:
    """The reports of the last minute of each stage process, and one before them to count from.

    clock: monotonic seconds, by which a process that is gone is forgotten: the clocks of the stages' hosts may be
    what is wrong.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._reports: dict[tuple[str, str], deque[StageReport]] = {}
        self._heard_s: dict[tuple[str, str], float] = {}

    def add(self, report: StageReport) -> None:
        """A process that was started again counts from 0, and so does the window."""
        process = report.stage, report.instance
        reports = self._reports.setdefault(process, deque())
        self._heard_s[process] = self._clock()
        self._forget()
        if reports and reports[-1].epoch_ns != report.epoch_ns:
            reports.clear()
        reports.append(report)
        while len(reports) > 2 and reports[1].at_ns <= report.at_ns - WINDOW_S * NS_PER_S:
            reports.popleft()

    def newest(self) -> list[StageReport]:
        """The last report of each process that is heard of."""
        self._forget()
        return [reports[-1] for reports in self._reports.values()]

    def problem(self) -> str | None:
        """None, or which stages drop how much of what they receive, and mostly for which reason, in words."""
        self._forget()
        return "; ".join(filter(None, map(_problem, self._reports.values()))) or None

    def skip_warnings(self) -> Iterator[str]:
        """A sentence for each process that leaves out collections for want of something."""
        self._forget()
        return filter(None, map(_skip_warning, self._reports.values()))

    def _forget(self) -> None:
        before_s = self._clock() - WINDOW_S
        for process in [process for process, heard_s in self._heard_s.items() if heard_s < before_s]:
            del self._reports[process], self._heard_s[process]


def _problem(reports: deque[StageReport]) -> str | None:
    first, last = reports[0], reports[-1]
    drops = {reason: count - first.dropped.get(reason, 0) for reason, count in last.dropped.items()}
    received = last.samples_in - first.samples_in - sum(drops.get(reason, 0) for reason in _BEYOND_A_QUOTA)
    dropped = {reason: count for reason, count in drops.items() if reason not in _BEYOND_A_QUOTA}
    total = sum(dropped.values())
    if total == 0 or total <= _SHARE_MAX * received:
        return None
    worst = max(dropped, key=lambda reason: dropped[reason])
    return f"{last.stage}: {total:,} of {received:,} samples were dropped, mostly {worst}"


def _skip_warning(reports: deque[StageReport]) -> str | None:
    first, last = reports[0], reports[-1]
    counts = {what: int(last.details.get(key, 0) - first.details.get(key, 0)) for key, what in _SKIPPED.items()}
    if (total := sum(max(0, count) for count in counts.values())) == 0:
        return None
    worst = max(counts, key=lambda what: counts[what])
    return f"{last.stage} {last.instance}: {total:,} collections were left out in the last minute: too little {worst}"


def backlog_warnings(reports: Iterable[StageReport]) -> Iterator[str]:
    """A sentence for each process whose samples come late, or would be lost with it."""
    for report in reports:
        process, details = f"{report.stage} {report.instance}", report.details
        if details.get("spool_unwritable"):
            yield f"{process}: the spool cannot be written: what the bus does not take is in memory alone"
        spooled_s = details.get("spooled_seconds", 0.0)
        if spooled_s > SPOOLED_S_MAX:
            yield f"{process}: samples of the last {spooled_s:.0f} s wait on the disk for the bus"
        lag, catch_up_s = details.get(LAG_RECORDS, 0.0), details.get(CATCH_UP_SECONDS)
        if catch_up_s is None and lag > LAG_RECORDS_MAX:
            yield f"{process}: {lag:,.0f} records wait on the bus, no fewer than before"
        elif catch_up_s is not None and catch_up_s > CATCH_UP_S_MAX:
            yield f"{process}: {lag:,.0f} records wait on the bus, for {catch_up_s:.0f} s at the present pace"
