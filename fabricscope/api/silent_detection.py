"""Whether anything looks for faults: samples come, and analytics reports."""

import time
from collections.abc import Callable

from telemetry.ledger import StageReport
from telemetry.recent_drops import WINDOW_S


class SilentDetection:
    """Since when samples come of which analytics has reported nothing.

    clock: monotonic seconds, as the clocks of the stages' hosts may differ.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since_s: float | None = None

    def add_samples(self) -> None:
        if self._since_s is None:
            self._since_s = self._clock()

    def add_report(self, report: StageReport) -> None:
        if report.stage == "analytics":
            self._since_s = None

    def problem(self) -> str | None:
        """None, or what an operator must know, in words: where nothing looks for faults, no incident means nothing."""
        since_s = self._since_s
        if since_s is None or (silent_s := self._clock() - since_s) <= WINDOW_S:
            return None
        return f"no detection: analytics has reported nothing for {silent_s:.0f} s"
