"""Whether a stage drops most of what it receives, from its reports on the ledger."""

import time
from collections import deque
from collections.abc import Callable

from common.units import NS_PER_S
from telemetry.ledger import StageReport

WINDOW_S = 60
_SHARE_MAX = 0.5


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

    def problem(self) -> str | None:
        """None, or which stages drop how much of what they receive, and mostly for which reason, in words."""
        self._forget()
        return "; ".join(filter(None, map(_problem, self._reports.values()))) or None

    def _forget(self) -> None:
        before_s = self._clock() - WINDOW_S
        for process in [process for process, heard_s in self._heard_s.items() if heard_s < before_s]:
            del self._reports[process], self._heard_s[process]


def _problem(reports: deque[StageReport]) -> str | None:
    first, last = reports[0], reports[-1]
    received = last.samples_in - first.samples_in
    dropped = {reason: count - first.dropped.get(reason, 0) for reason, count in last.dropped.items()}
    total = sum(dropped.values())
    if total == 0 or total <= _SHARE_MAX * received:
        return None
    worst = max(dropped, key=lambda reason: dropped[reason])
    return f"{last.stage}: {total:,} of {received:,} samples were dropped, mostly {worst}"
