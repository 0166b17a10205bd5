"""Is a group really two groups? Experts and pipeline stages of one job work at two levels, and both are healthy."""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled

_MEMBERS_MIN = 4
_SHARE_MIN = 0.36  # up to a third may be faulty at once and is then no second kind of member
_OUTLIERS = 0.1  # of the members on either side, which may not decide where the split is
_APART = 6.0  # standard deviations of the wider mode between the middles: a single bell seldom reaches 3
_GAP_SHARE = 0.3  # of the distance lies empty between the modes, a tenth of each left out


@compiled
def median_of_sorted(ranked: NDArray[np.float64]) -> float:
    """The median of sorted values."""
    return float(ranked[(ranked.size - 1) // 2] + ranked[ranked.size // 2]) / 2.0


@compiled
def mad_scale(values: NDArray[np.float64]) -> float:
    """The standard deviation of a bell around 0 with this median absolute deviation. Source: Hampel (1974)."""
    return float(1.4826 * np.median(np.abs(values)))


@compiled
def boundary(values: NDArray[np.float64], floor: float, apart_min: float) -> float:
    """Values above it are of the upper mode; infinite where the group is of one kind.

    values: float64[n]. floor: least standard deviation. apart_min: least distance of two modes.
    The best split is that of 1-D 2-means, with the largest variance between its sides. It counts where both sides are
    large, their middles far apart against the spreads, and little lies between them.
    """
    n = values.size
    if n < 2 * _MEMBERS_MIN:
        return np.inf
    outside = int(_SHARE_MIN / 2.0 * n)  # the middles of both modes lie further in than that
    if np.partition(values, n - 1 - outside)[n - 1 - outside] - np.partition(values, outside)[outside] < apart_min:
        return np.inf
    few = int(_OUTLIERS * n)
    least = max(2, few)
    ranked = np.sort(values)
    clipped = np.minimum(np.maximum(ranked, ranked[few]), ranked[n - 1 - few])
    total, below = clipped.sum(), clipped[: least - 1].sum()
    best, at = -1.0, least
    for split in range(least, n - least + 1):
        below += clipped[split - 1]
        distance = (total - below) / (n - split) - below / split
        between = distance * distance * split * (n - split)
        if between > best:
            best, at = between, split
    if min(at, n - at) < max(_MEMBERS_MIN, _SHARE_MIN * n):
        return np.inf
    low, high = ranked[:at], ranked[at:]
    a, b = median_of_sorted(low), median_of_sorted(high)
    wide = max(floor, mad_scale(low - a), mad_scale(high - b))
    gap = ranked[at + high.size // 10] - ranked[at - 1 - low.size // 10]
    if b - a < max(apart_min, _APART * wide) or gap < _GAP_SHARE * (b - a):
        return np.inf
    return float(ranked[at - 1] + ranked[at]) / 2.0


def kind_medians(
    groups: NDArray[np.int64], values: NDArray[np.float64], floor: float, apart_min: float
) -> NDArray[np.float64]:
    """The median of each row's group, of its own mode where the group has two; NaN values are left out.

    groups: int64[n], any numbers; values: float64[n]. floor, apart_min: see ``boundary``.
    """
    order = np.argsort(groups, kind="stable")
    ranked = groups[order]
    starts = np.concatenate([np.flatnonzero(np.diff(ranked, prepend=ranked[:1] - 1)), [ranked.size]])
    found = np.full(values.size, np.nan)
    _fill_kind_medians(order, starts, values, floor, apart_min, found)
    return found


@compiled
def _fill_kind_medians(
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    values: NDArray[np.float64],
    floor: float,
    apart_min: float,
    found: NDArray[np.float64],
) -> None:
    """order: rows group by group; starts: first of each group in it, and the end."""
    for g in range(starts.size - 1):
        rows = order[starts[g] : starts[g + 1]]
        rows = rows[~np.isnan(values[rows])]
        if rows.size == 0:
            continue
        mine = values[rows]
        upper = mine > boundary(mine, floor, apart_min)
        for kind in range(2):
            members = upper == (kind == 1)
            if members.any():
                found[rows[members]] = np.median(mine[members])
