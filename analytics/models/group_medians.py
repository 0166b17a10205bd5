"""The median of each group."""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled

_FEW = 16  # as the GPUs of a host: quicker to put in order where they are than to make a copy of


def group_medians(groups: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The median of each row's group, NaN values left out; NaN for a group without values.

    groups: int64[n], any numbers; values: float64[n]. Returns float64[n].
    """
    ascending = bool((groups[1:] >= groups[:-1]).all())
    order = np.arange(groups.size) if ascending else np.argsort(groups, kind="stable")  # fast with long runs
    medians = np.full(values.size, np.nan)
    _fill_medians(groups, values, order, np.empty(values.size), medians)
    return medians


@compiled
def _median_of_few(values: NDArray[np.float64], count: int) -> float:
    """The median of the first ``count`` values, which are in order afterwards."""
    for at in range(1, count):
        value, before = values[at], at - 1
        while before >= 0 and values[before] > value:
            values[before + 1] = values[before]
            before -= 1
        values[before + 1] = value
    half = count // 2
    return float(values[half] if count % 2 else (values[half - 1] + values[half]) / 2)


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
            median = _median_of_few(inside, known) if known <= _FEW else np.median(inside[:known])
            for i in range(start, end):
                medians[order[i]] = median
        start = end
