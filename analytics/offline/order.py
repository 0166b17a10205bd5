"""The order of rows in time: which are late, and which of two hours is meant where clocks are put back."""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled

_NEVER = np.iinfo(np.int64).min


class Order:
    """late: rows that are not newer than the newest of their series. twice: times that clocks show twice."""

    def __init__(self) -> None:
        self.late = self.twice = 0
        self._newest_ns = np.empty(0, np.int64)  # of each series

    def settle(self, times_ns: NDArray[np.int64], later_ns: NDArray[np.int64], series: NDArray[np.int64]) -> None:
        """Brings the counts up to date, and in place the times that clocks show twice: the first, or the second where
        the first is not newer than the newest of its series.

        later_ns: int64[n], the second; ``times_ns`` where no clock shows a time twice. series: int64[n], from 0 on.
        """
        new = int(series.max(initial=-1)) + 1 - self._newest_ns.size
        if new > 0:
            self._newest_ns = np.append(self._newest_ns, np.full(max(new, self._newest_ns.size), _NEVER))
        late, twice = _settle(times_ns, later_ns, series, self._newest_ns)
        self.late += int(late)
        self.twice += int(twice)


@compiled
def _settle(
    times_ns: NDArray[np.int64], later_ns: NDArray[np.int64], series: NDArray[np.int64], newest_ns: NDArray[np.int64]
) -> tuple[int, int]:
    late = twice = 0
    for row in range(times_ns.size):
        newest = newest_ns[series[row]]
        if later_ns[row] != times_ns[row]:
            twice += 1
            if times_ns[row] <= newest:
                times_ns[row] = later_ns[row]
        if times_ns[row] <= newest:
            late += 1
        else:
            newest_ns[series[row]] = times_ns[row]
    return late, twice
