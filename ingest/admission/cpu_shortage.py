"""Whether this process gets less CPU than it asks for: by how long its threads were ready and waited for a core.

The wait of an event loop does not show it alone: each thread waits its own time, and what passes through many of them,
as what is published does, is late by all of it.
"""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

_INTERVAL_S = 0.25
_SHORT = 0.5  # of the time, summed over the threads: one that always has work gets less than half a core


class CpuShortage:
    """Without a kernel that counts it (Linux does: ``/proc/<pid>/task/<tid>/schedstat``) there never is one."""

    def __init__(
        self, tasks: Path = Path("/proc/self/task"), monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._tasks, self._monotonic_s = tasks, monotonic_s
        self._measured_s, self._waited_ns = monotonic_s(), self._read()
        self.share = 0.0

    def is_short(self) -> bool:
        """As of the last measurement."""
        return self.share >= _SHORT

    def measure(self) -> None:
        """Brings ``share`` up to date, a few times a second at most: seconds waited in a second, by all threads."""
        elapsed_s = self._monotonic_s() - self._measured_s
        if elapsed_s < _INTERVAL_S:
            return
        before, self._waited_ns = self._waited_ns, self._read()
        self._measured_s += elapsed_s
        waited_ns = sum(ns - before[thread] for thread, ns in self._waited_ns.items() if thread in before)
        self.share = waited_ns / 1e9 / elapsed_s

    def _read(self) -> dict[str, int]:
        """Nanoseconds that each thread has waited so far."""
        waited_ns = {}
        for task in self._tasks.glob("*"):
            with contextlib.suppress(OSError, IndexError):  # it has ended meanwhile, or nothing is counted here
                waited_ns[task.name] = int((task / "schedstat").read_text().split()[1])
        return waited_ns
