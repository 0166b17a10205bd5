"""A robust level and spread that follow slowly and learn little from anomalies, and a quick forecast beside them."""

import numpy as np
from numpy.typing import NDArray

from analytics.jit import compiled
from analytics.scoring.layout import AWAY, COUNT, FAST, FAST_SPREAD, LEVEL, RECENT, SPREAD

SIGMA_PER_SPREAD = 1.2533  # of a normal distribution, from its mean absolute deviation
Z_MAX = 100.0
_CLIP = 3.0
_FREEZE = 6.0
_LEAK = 0.2  # of the usual learning, for the spread, while values are anomalous
_FAST = 0.25
_FAST_CLIP = 4.0


@compiled
def distance(error: float, spread: float, floor: float) -> float:
    """Standard deviations, bounded."""
    sigma = SIGMA_PER_SPREAD * max(spread, floor)
    if error == 0.0:
        return 0.0
    if abs(error) >= Z_MAX * sigma:
        return Z_MAX if error > 0.0 else -Z_MAX
    return error / sigma


@compiled
def learn_level(
    row: NDArray[np.float64], x: float, z: float, floor: float, alpha: float, warmup: float, follow: float
) -> None:
    """Learns one value whose distance was ``z``; after ``follow`` anomalous ones in a row they are the new normal."""
    error, count = x - row[LEVEL], row[COUNT]
    row[COUNT] = count + 1.0
    spread = max(row[SPREAD], floor)
    if count < warmup:
        row[LEVEL] += error / (count + 1.0)
        row[SPREAD] += (abs(error) - row[SPREAD]) / max(count, 1.0)
        return
    rate = max(alpha, 1.0 / (count + 1.0))
    clip = _CLIP * spread
    if abs(z) > _FREEZE:
        away = row[AWAY] + 1.0
        row[RECENT] = x if away == 1.0 else row[RECENT] + (x - row[RECENT]) / away
        row[AWAY] = away
        row[SPREAD] += _LEAK * rate * (clip - row[SPREAD])
        if away >= follow:
            row[LEVEL], row[AWAY] = row[RECENT], 0.0
        return
    row[AWAY] = 0.0
    row[LEVEL] += rate * min(max(error, -clip), clip)
    row[SPREAD] += rate * (min(abs(error), clip) - row[SPREAD])


@compiled
def learn_fast(row: NDArray[np.float64], x: float, floor: float, alpha: float) -> None:
    """The quick forecast, and its mean absolute error."""
    error = x - row[FAST]
    rate = max(alpha, 1.0 / (row[COUNT] + 1.0))
    clip = _FAST_CLIP * max(row[FAST_SPREAD], floor)
    if row[COUNT] < 8.0:
        clip = abs(error)
    row[FAST] += _FAST * min(max(error, -clip), clip)
    row[FAST_SPREAD] += rate * (min(abs(error), clip) - row[FAST_SPREAD])
