"""How often each client may do something: a sliding minute."""

import time
from collections import OrderedDict, deque
from collections.abc import Callable

_WINDOW_S = 60.0
_KEYS_MAX = 4096


class RateLimit:
    """At most ``per_minute`` times of each key within any 60 s. clock: seconds that only grow.

    Of more than 4,096 keys the one that came least recently is forgotten.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = per_minute, clock
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_s(self, key: str) -> float:
        """0 when it may happen now, which counts it; else how long to wait, above 0."""
        now_s = self._clock()
        times = self._times.setdefault(key, deque())
        self._times.move_to_end(key)
        if len(self._times) > _KEYS_MAX:
            self._times.popitem(last=False)
        while times and times[0] <= now_s - _WINDOW_S:
            times.popleft()
        if len(times) >= self._most:
            return times[0] + _WINDOW_S - now_s
        times.append(now_s)
        return 0.0
