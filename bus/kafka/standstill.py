"""Whether the event loop stood still: the process was stopped, its machine suspended, or a call blocked."""

import asyncio
import time

_TICK_S = 0.25
_STILL_S = 1.0  # well below what a tick of analytics waits for late batches (half an interval)


class StandstillWatch:
    """Counts standstills of over a second. What the process has received before one is as old as that, though it may
    look new: a response that lay in the socket is read only afterwards.
    """

    def __init__(self) -> None:
        self._seen = 0
        self._ran_s: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Idempotent; needs a running loop."""
        if self._timer is None:
            self._tick()

    def stop(self) -> None:
        """Idempotent, safe before ``start``."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def count(self) -> int:
        """Standstills so far, one that has just ended included."""
        now_s = time.clock_gettime(time.CLOCK_BOOTTIME)  # goes on while the machine is suspended
        if self._ran_s is not None and now_s - self._ran_s > _STILL_S:
            self._seen += 1
        self._ran_s = now_s
        return self._seen

    def _tick(self) -> None:
        self.count()
        self._timer = asyncio.get_running_loop().call_later(_TICK_S, self._tick)
