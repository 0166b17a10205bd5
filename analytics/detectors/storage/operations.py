"""Operations of a target or a client: which series belong together, and when their mean time shows something."""

import numpy as np
from numpy.typing import NDArray

from analytics.state.series_index import SeriesIndex

OPERATIONS_PER_SECOND_MIN = 1.0
PEAK_FADES_S = 3 * 86_400.0  # the most operations a second that one has done; an assumption
NEW_INTERVALS = 1.5  # older values are unchanged ones, which show nothing about the present
# Half as much again as others do, or as usual, is more than chance makes of equal shares: an assumption.
BUSY_TIMES, SCORE_BUSY = 1.5, 0.99


def members(groups: NDArray[np.int64], flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """int64[n]: how many members of each row's group have the flag. groups: int64[n], each below n."""
    return np.asarray(np.bincount(groups[flags], minlength=groups.size)[groups])


def sums_of(groups: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[n]: the sum of each row's group, NaN values left out. groups: int64[n], each below n."""
    return np.bincount(groups, np.nan_to_num(values), groups.size).astype(np.float64)[groups]


def owners(index: SeriesIndex, sids: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[n], each below n: one number for the reads and writes of a target, a disk, or a client of a file system."""
    operations = [(target, labels.replace('op="write"', 'op="read"')) for target, labels in _operations_of(index, sids)]
    numbers = {operation: number for number, operation in enumerate(dict.fromkeys(operations))}
    return np.array([numbers[operation] for operation in operations], np.int64)


def counterparts(index: SeriesIndex, sums: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[n]: row in ``others`` of the operation that each of the sums is of, -1 where there is none.

    Found by all labels, because the disks of a host are one object.
    """
    rows = {operation: row for row, operation in enumerate(_operations_of(index, others))}
    return np.array([rows.get(operation, -1) for operation in _operations_of(index, sums)], np.int64)


def _operations_of(index: SeriesIndex, sids: NDArray[np.int64]) -> list[tuple[int, str]]:
    """Target and labels of each series."""
    targets = index.columns["target"][sids].tolist()
    return [(target, index.keys[sid].partition("{")[2]) for target, sid in zip(targets, sids.tolist(), strict=True)]
