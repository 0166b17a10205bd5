"""The middle of each group."""

import numpy as np
from numpy.typing import NDArray


def group_medians(groups: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The median of each row's group, NaN values left out; NaN for a group without values.

    groups: int64[n], any numbers; values: float64[n]. Returns float64[n].
    """
    result = np.full(values.size, np.nan)
    order = np.lexsort((values, groups))  # NaN sorts last within its group
    sorted_groups = groups[order]
    starts = np.flatnonzero(np.r_[True, sorted_groups[1:] != sorted_groups[:-1]]) if values.size else np.zeros(0, int)
    ends = np.r_[starts[1:], values.size]
    counts = np.add.reduceat(~np.isnan(values[order]), starts) if values.size else np.zeros(0, int)
    lower = order[np.minimum(starts + np.maximum(counts - 1, 0) // 2, values.size - 1)] if values.size else order
    upper = order[np.minimum(starts + counts // 2, values.size - 1)] if values.size else order
    medians = np.where(counts > 0, (values[lower] + values[upper]) / 2, np.nan)
    result[order] = np.repeat(medians, ends - starts)
    return result
