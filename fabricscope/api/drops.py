"""Whether a stage drops most of what it receives, from its reports on the ledger. Pure, in the time of the reports."""

from collections import deque

from common.units import NS_PER_S
from telemetry.ledger import StageReport

WINDOW_NS = 60 * NS_PER_S
_SHARE_MAX = 0.5


class RecentDrops:
    """The reports of one stage process of the last ``WINDOW_NS``, and one before them to count from."""

    def __init__(self) -> None:
        self._reports: deque[StageReport] = deque()

    def add(self, report: StageReport) -> None:
        """A process that was started again counts from 0, and so does the window."""
        if self._reports and self._reports[-1].epoch_ns != report.epoch_ns:
            self._reports.clear()
        self._reports.append(report)
        while len(self._reports) > 2 and self._reports[1].at_ns <= report.at_ns - WINDOW_NS:
            self._reports.popleft()

    def problem(self) -> str | None:
        """None, or how much is dropped and mostly for which reason, in words."""
        if len(self._reports) < 2:
            return None
        first, last = self._reports[0], self._reports[-1]
        received = last.samples_in - first.samples_in
        dropped = {reason: count - first.dropped.get(reason, 0) for reason, count in last.dropped.items()}
        total = sum(dropped.values())
        if total <= _SHARE_MAX * received or total == 0:
            return None
        worst = max(dropped, key=lambda reason: dropped[reason])
        return f"{last.stage}: {total:,} of {received:,} samples were dropped, mostly {worst}"
