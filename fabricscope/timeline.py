"""What a run does, from its first second on: a line for each step, and one for what it waits for, both with the time.

Where the output is no terminal, the lines alone are there.
"""

import time
from collections.abc import Callable, Iterable, Mapping

from rich.console import Console
from rich.text import Text

from common.printing import printable
from telemetry.ledger import StageReport

STARTING = "starting the stages; the first start on a machine compiles for half a minute"
STARTING_SIMULATOR = "starting the simulator; the first start on a machine compiles for half a minute"
LEARNING = "learning what is normal"
BUS_AWAY_S = 10.0  # a broker answers in a second or two; what lasts longer, somebody has to look at


class Timeline:
    """Times are seconds since it was made. now_s: a clock that never goes back."""

    def __init__(self, console: Console, now_s: Callable[[], float] = time.monotonic) -> None:
        self.console = console
        self._now_s = now_s
        self._since_s = now_s()
        self._waits_for = ""
        self._fault_s: float | None = None
        self._kinds: frozenset[str] = frozenset()
        self._passed: set[str] = set()
        self._bus_away_s: float | None = None

    def step(self, text: str) -> None:
        """A line that stays."""
        self.console.print(Text(f"{self._now_s() - self._since_s:4.0f} s  {printable(text)}"), soft_wrap=True)

    def wait_for(self, text: str) -> None:
        """What stands in the last line from now on, with the time since the start."""
        self._waits_for = printable(text)

    def reported(self, reports: Mapping[str, StageReport]) -> None:
        """Takes the newest report of each stage: a step for what is there for the first time."""
        ingest, analytics = reports.get("ingest"), reports.get("analytics")
        if ingest is not None and ingest.details["targets_up"] and self._first("targets"):
            up, targets = ingest.details["targets_up"], ingest.details["targets"]
            self.step(f"first samples: {up:.0f} of {targets:.0f} polled targets up")
        if analytics is not None and analytics.samples_out and self._first("evaluated"):
            self.step(f"first samples evaluated: {LEARNING}")
        self.wait_for(state_line(reports))

    def bus_is(self, problem: str | None) -> None:
        """Takes why the bus does not work, or None: a step once that has lasted, and one when it is over."""
        if problem is None:
            if self._bus_away_s is not None and "bus away" in self._passed:
                self.step("the bus answers again")
                self._passed.remove("bus away")
            self._bus_away_s = None
            return
        if self._bus_away_s is None:
            self._bus_away_s = self._now_s()
        if self._now_s() - self._bus_away_s >= BUS_AWAY_S and self._first("bus away"):
            self.step(f"the bus does not answer, all stages wait for it: {problem}")

    def injected(self, fault: str, root: str, kinds: Iterable[str]) -> None:
        """A fault of a demo acts from now on. kinds: of incidents that are right about it."""
        self._fault_s, self._kinds = self._now_s(), frozenset(kinds)
        self.step(f"fault injected: {fault} at {root}")

    def fired(self, kind: str, title: str) -> None:
        """An incident has fired; the first one of the right kind has found the fault."""
        if kind in self._kinds and self._first("detected"):
            self.step(f"detected {self._since_fault_s():.0f} s after the fault: {title}")

    def _since_fault_s(self) -> float:
        return 0.0 if self._fault_s is None else self._now_s() - self._fault_s

    def _first(self, what: str) -> bool:
        new = what not in self._passed
        self._passed.add(what)
        return new

    def __rich__(self) -> Text:
        searched = self._fault_s is not None and "detected" not in self._passed
        fault = f" · fault since {self._since_fault_s():.0f} s, not detected yet" if searched else ""
        return Text(f"{self._now_s() - self._since_s:.0f} s: {self._waits_for}{fault}")


def state_line(reports: Mapping[str, StageReport]) -> str:
    """The newest report of each stage in one line."""
    parts = []
    if "ingest" in reports:
        details = reports["ingest"].details
        parts.append(f"{details['targets_up']:.0f} of {details['targets']:.0f} polled targets up")
    if "analytics" in reports:
        report = reports["analytics"]
        parts.append(f"{report.details['series']:,.0f} series, {report.samples_out:,} samples evaluated")
        parts.append(f"{report.details['findings_active']:.0f} findings")
    return " · ".join(parts) or STARTING
