"""Lustre's histogram of I/O times, from the operations and their summed time that the model counts."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from simulator.counters.readings import StorageReadings

BUCKETS_MS = tuple(2**k for k in range(13))
"""Upper bounds of the buckets: an operation of t ms counts in the first one that is >= t."""

_MIDPOINTS_S = 0.75e-3 * np.array(BUCKETS_MS)


class IoCounts(Protocol):
    """counts: float64[targets, buckets, 2], as ``IoTimes`` counts them."""

    counts: NDArray[np.float64]


class IoTimes:
    """Operations by duration since each target's counters began. counts: float64[targets, buckets, 2], read and write.

    The operations of one step are shared by the two buckets whose midpoints enclose their mean duration, so that
    midpoints times counts add up to the time that the model measured. Durations beyond the first or last midpoint
    count in the first or last bucket.
    """

    def __init__(self, targets: int) -> None:
        self.counts: NDArray[np.float64] = np.zeros((targets, len(BUCKETS_MS), 2))
        self._operations: NDArray[np.float64] = np.zeros((targets, 2))
        self._seconds: NDArray[np.float64] = np.zeros((targets, 2))

    def observe(self, storage: StorageReadings) -> None:
        """Adds the operations since the last call; a counter that went back has restarted at zero."""
        operations = np.stack([storage.reads, storage.writes], axis=1)
        seconds = np.stack([storage.read_s, storage.write_s], axis=1)
        restarted: NDArray[np.bool_] = np.any(operations < self._operations, axis=1)
        counts = np.where(restarted[:, None, None], 0.0, self.counts)
        done = operations - np.where(restarted[:, None], 0.0, self._operations)
        spent = seconds - np.where(restarted[:, None], 0.0, self._seconds)
        self._operations, self._seconds = operations, seconds
        mean_s = np.divide(spent, done, out=np.zeros_like(spent), where=done > 0)
        low = np.clip(np.searchsorted(_MIDPOINTS_S, mean_s, side="right") - 1, 0, len(BUCKETS_MS) - 2)
        upper_share = np.clip((mean_s - _MIDPOINTS_S[low]) / (_MIDPOINTS_S[low + 1] - _MIDPOINTS_S[low]), 0.0, 1.0)
        target, direction = np.indices(done.shape)
        counts[target, low, direction] += done * (1 - upper_share)
        counts[target, low + 1, direction] += done * upper_share
        self.counts = counts  # replaced, never changed in place: the servers read it from another thread
