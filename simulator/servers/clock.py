"""Simulated time: event time that runs at a chosen speed."""

import time
from collections.abc import Callable

from common.units import NS_PER_S

_AHEAD_LIMIT_S = 55 * 60


def default_start_ns(speed: float, wall_ns: int) -> int:
    """Where simulated time begins: now, or 55 minutes back when it runs fast.

    Ingest accepts event times from 1 h ago to 5 min ahead, so the samples of a fast simulation that starts in the past
    are accepted for an hour of simulated time.
    """
    return wall_ns if speed <= 1 else wall_ns - _AHEAD_LIMIT_S * NS_PER_S


class SimulatedClock:
    """Maps monotonic time to simulated nanoseconds since the Unix epoch; starts when built."""

    def __init__(self, start_ns: int, speed: float, monotonic_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self.start_ns = start_ns
        self.speed = speed
        self._monotonic_ns = monotonic_ns
        self._origin_ns = monotonic_ns()

    def now_ns(self) -> int:
        return self.start_ns + self.elapsed_ns()

    def elapsed_ns(self) -> int:
        """Simulated time since the start."""
        return int((self._monotonic_ns() - self._origin_ns) * self.speed)
