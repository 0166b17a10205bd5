"""Whether a process that has been replaced still publishes, from the records that are dropped for it."""

import time
from collections.abc import Callable

from bus.base import Record
from common.units import NS_PER_S

WINDOW_S = 60


class StaleOwner:
    """The newest record that was dropped because its publisher had been replaced before.

    clock: wall clock in nanoseconds, by which records are compared with the bus's: old ones are read again at a start.
    """

    def __init__(self, clock: Callable[[], int] = time.time_ns) -> None:
        self._clock = clock
        self._newest: Record | None = None

    def add(self, record: Record) -> None:
        self._newest = record

    def problem(self) -> str | None:
        """None, or what an operator must know, in words, for a minute after such a record."""
        if self._newest is None or abs(self._clock() - self._newest.appended_ns) > WINDOW_S * NS_PER_S:
            return None
        return (
            f"{self._newest.topic}: a process that was replaced by a newer one still publishes; its records are"
            " dropped. Run one process of a stage with the same settings on one bus"
        )
