"""Ticks that are scored and wait for their correlation, oldest first."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, Protocol

from analytics.models.flap_comparison import FlapComparison
from analytics.snapshot.stateful import Stateful
from telemetry.changes import Change
from telemetry.findings import Finding, FindingState
from telemetry.incidents import Incident
from telemetry.refusals import Refusal
from telemetry.topology import Topology

Attempt = Callable[[str, int], AbstractContextManager[bool]]


def always(step: str, end_ns: int) -> AbstractContextManager[bool]:
    """Leaves out no step of any tick."""
    return nullcontext(True)


class Scored(NamedTuple):
    """A tick that waits for correlation: what it found, and what explains it, as of then.

    read_every_s: see ``devices_read_often``.
    """

    end_ns: int
    findings: list[Finding]
    topology: Topology
    changes: Sequence[Change]
    light: bool
    flaps: Sequence[FlapComparison]
    read_every_s: Mapping[str, float]


class Correlator(Stateful, Protocol):
    """Findings to incidents; see ``analytics.correlate``."""

    @property
    def left_out(self) -> Mapping[str, int]:
        """Active findings that the newest step has not looked at, by reason."""
        ...

    @property
    def refused(self) -> Mapping[str, Sequence[Refusal]]:
        """What the topology says that cannot be, by the fact's key."""
        ...

    def is_due(self, now_ns: int) -> bool:
        """Whether something is to be reported although nothing was found."""
        ...

    def step(
        self,
        now_ns: int,
        changed: Sequence[Finding],
        topology: Topology,
        changes: Sequence[Change],
        flaps: Sequence[FlapComparison] = (),
        read_every_s: Mapping[str, float] | None = None,
    ) -> list[Incident]: ...

    def close(self, now_ns: int, topology: Topology) -> list[Finding | Incident]:
        """Clears and resolves everything that is open, and forgets it."""
        ...


class Uncorrelated:
    """The queue between what finds and what explains. It is bounded by the service, which waits for it."""

    def __init__(self) -> None:
        self._waiting: deque[Scored] = deque()
        self._carried: list[Finding] = []  # cleared in ticks that are not correlated

    def __len__(self) -> int:
        return len(self._waiting)

    def append(self, scored: Scored) -> None:
        self._waiting.append(scored)

    def correlate(self, correlator: Correlator, attempt: Attempt) -> list[Incident]:
        """Correlates the oldest tick; returns the incidents that changed. attempt: as that of the engine."""
        scored = self._waiting.popleft()
        if scored.light and not scored.findings and not correlator.is_due(scored.end_ns):
            return []
        with attempt("correlation", scored.end_ns) as allowed:
            if allowed:
                carried, self._carried = self._carried, []
                found = carried + scored.findings
                explains = scored.topology, scored.changes, scored.flaps, scored.read_every_s
                return correlator.step(scored.end_ns, found, *explains)
        # What is over would never be heard of again.
        self._carried += [finding for finding in scored.findings if finding.state is FindingState.CLEARED]
        return []
