"""Unix time that a short step of the wall clock does not move."""

import time
from collections.abc import Callable

import structlog

from common.units import NS_PER_S

# Below it the wall clock is followed: NTP slews, and corrects small errors in one step.
STEP_NS_MIN = NS_PER_S // 2
SETTLE_NS = 60 * NS_PER_S
log = structlog.get_logger(__name__)


def _boot_ns() -> int:
    """Unlike CLOCK_MONOTONIC it goes on while the machine is suspended."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class SteadyClock:
    """Nanoseconds since the Unix epoch. A step of the wall clock is followed once it has lasted for ``SETTLE_NS``.

    A clock that is wrong for some seconds (a bad time server, a hand that slips) then stamps nothing with a time that
    others cannot have. wall, steady: the clocks of the machine, in nanoseconds.
    """

    def __init__(self, wall: Callable[[], int] = time.time_ns, steady: Callable[[], int] = _boot_ns) -> None:
        self._wall, self._steady = wall, steady
        self._offset_ns = wall() - steady()
        self._stepped_ns: int | None = None  # when, on the steady clock

    def __call__(self) -> int:
        steady_ns = self._steady()
        step_ns = self._wall() - steady_ns - self._offset_ns
        if abs(step_ns) < STEP_NS_MIN:
            self._follow(step_ns)
        elif self._stepped_ns is None:
            self._stepped_ns = steady_ns
            log.warning("the wall clock has stepped", step_seconds=step_ns / NS_PER_S)
        elif steady_ns - self._stepped_ns >= SETTLE_NS:
            log.warning("the step of the wall clock is followed", step_seconds=step_ns / NS_PER_S)
            self._follow(step_ns)
        return steady_ns + self._offset_ns

    def _follow(self, step_ns: int) -> None:
        self._offset_ns += step_ns
        self._stepped_ns = None
