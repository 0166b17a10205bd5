"""The median of each group."""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled


def group_medians(groups: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The median of each row's group, NaN values left out; NaN for a group without values.

    groups: int64[n], any numbers; values: float64[n]. Returns float64[n].
    """
    order = np.argsort(groups, kind="stable")  # mostly long runs, which this sort is fast with
    medians = np.full(values.size, np.nan)
    _fill_medians(groups, values, order, np.empty(values.size), medians)
    return medians


@compiled
def _fill_medians(
    groups: NDArray[np.int64],
    values: NDArray[np.float64],
    order: NDArray[np.int64],
    inside: NDArray[np.float64],
    medians: NDArray[np.float64],
) -> None:
    """order: rows group by group. inside: float64[n] to work in."""
    start = 0
    while start < order.size:
        end, known = start, 0
        while end < order.size and groups[order[end]] == groups[order[start]]:
            if not np.isnan(values[order[end]]):
                inside[known] = values[order[end]]
                known += 1
            end += 1
        if known:
            median = inside[0] if known == 1 else np.median(inside[:known])
            for i in range(start, end):
                medians[order[i]] = median
        start = end
