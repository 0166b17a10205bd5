"""Detectors that each break one rule, to show that the checks see it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import Detector, Verdicts
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind

METRIC = "fabric_port_up"


@dataclass(frozen=True, kw_only=True)
class _Bad(Detector):
    name: str = "bad"
    kind: FindingKind = FindingKind.LINK_DOWN
    metrics: tuple[str, ...] = (METRIC,)

    def _verdicts(self, view: TickView, score: float, objects: Sequence[int] = (0,)) -> list[Verdicts]:
        scores = np.full(len(objects), score)
        return [Verdicts(np.array(objects), np.full(len(objects), view.end_ns), scores >= 1.0, scores)]


@dataclass(frozen=True, kw_only=True)
class CountsItsTicks(_Bad):
    """Keeps state of its own that the engine does not know."""

    ticks: list[int] = field(default_factory=list)

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        self.ticks.append(view.end_ns)
        return self._verdicts(view, 1.0 + len(self.ticks))


@dataclass(frozen=True, kw_only=True)
class WritesToTheView(_Bad):
    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        view.column(METRIC).values[:] = 0.0
        return []


@dataclass(frozen=True, kw_only=True)
class ChangesTheEngine(_Bad):
    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        view.index.objects.intern(f"device:{view.end_ns}")
        return []


@dataclass(frozen=True, kw_only=True)
class RemembersStrangers(_Bad):
    """Asks its memory for more series than there are."""

    memory: tuple[MemoryColumn, ...] = (MemoryColumn("seen"),)

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        unknown: NDArray[np.int64] = len(view.index) + np.arange(100) + view.end_ns
        memory.rows(unknown)
        return []


@dataclass(frozen=True, kw_only=True)
class GivesTwoVerdicts(_Bad):
    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        return self._verdicts(view, 2.0, objects=(0, 0))


@dataclass(frozen=True, kw_only=True)
class DoesNotBreachAtItsLimit(_Bad):
    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        return [Verdicts(np.array([0]), np.array([view.end_ns]), np.array([False]), np.array([1.0]))]


@dataclass(frozen=True, kw_only=True)
class SeesOthers(_Bad):
    """Finds something when another one was asked since it was asked itself."""

    asked: list[str]

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        other = self.asked[-1:] not in ([], [self.name])
        self.asked.append(self.name)
        return self._verdicts(view, 2.0 if other else 0.0)


@dataclass(frozen=True, kw_only=True)
class LooksAtTheClock(_Bad):
    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        return self._verdicts(view, 1.0 + time.perf_counter())


@dataclass(frozen=True, kw_only=True)
class IsNeverContent(_Bad):
    """Finds something in every fiftieth tick of a port that is up."""

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        tick = view.end_ns // view.config.tick_ns
        return self._verdicts(view, 0.0 if tick % 50 else 2.0)
