"""The clock of the stage, which steps of the wall clock do not move.

Why: docs/decisions/2026-11-22-stage-time.md
"""

from collections.abc import Callable
from dataclasses import dataclass

from common.units import NS_PER_S

# What is believed of a time between two processes: longer than page windows and quiet times usually are, and much
# shorter than the time for which a delivery is tried
DOWN_NS_MAX = 3600 * NS_PER_S


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment by both clocks. stage_ns: stage time. wall_ns: Unix time, as people and receivers know it."""

    stage_ns: int
    wall_ns: int


class StageClock:
    """Stage time follows the monotonic clock, and goes on after a restart where the last process left it.

    wall, monotonic: the clocks of the machine, in nanoseconds. left: the last moment of the earlier process, None when
    there was none: then it begins with the wall clock. The time since counts with at most ``DOWN_NS_MAX``.
    """

    def __init__(self, wall: Callable[[], int], monotonic: Callable[[], int], left: Moment | None) -> None:
        self._wall, self._monotonic = wall, monotonic
        self._begin_ns = wall() if left is None else left.stage_ns + min(max(0, wall() - left.wall_ns), DOWN_NS_MAX)
        self._begin_monotonic_ns = monotonic()

    def now(self) -> Moment:
        return Moment(self._begin_ns + self._monotonic() - self._begin_monotonic_ns, self._wall())
