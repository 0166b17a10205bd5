"""Rows that come too late for their series to learn from them."""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled

_NEVER = np.iinfo(np.int64).min


class Newest:
    """The newest time of each series. Memory: eight bytes a series."""

    def __init__(self) -> None:
        self._times_ns = np.empty(0, np.int64)

    def late(self, times_ns: NDArray[np.int64], series: NDArray[np.int64]) -> int:
        """How many rows are not newer than the newest of their series. series: int64[n], numbered from 0."""
        more = int(series.max(initial=-1)) + 1 - self._times_ns.size
        self._times_ns = np.append(self._times_ns, np.full(max(more, 0), _NEVER))
        return int(_late(times_ns, series, self._times_ns))


@compiled
def _late(times_ns: NDArray[np.int64], series: NDArray[np.int64], newest_ns: NDArray[np.int64]) -> int:
    late = 0
    for row in range(times_ns.size):
        if times_ns[row] <= newest_ns[series[row]]:
            late += 1
        else:
            newest_ns[series[row]] = times_ns[row]
    return late
