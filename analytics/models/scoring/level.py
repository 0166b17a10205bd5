"""A robust level and spread that follow slowly and learn little from anomalies, and a quick forecast beside them."""

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring.layout import (
    AWAY,
    BACK,
    COUNT,
    DRIFT,
    DRIFT_SLOW,
    FAST,
    FAST_SPREAD,
    KNOWS_PRIOR,
    LAST,
    LEVEL,
    PRIOR,
    PRIOR_AT,
    RECENT,
    SPREAD,
    STEP_SPREAD,
    LearningPace,
    X,
)
from common.jit import compiled_unchecked as compiled

SIGMA_PER_SPREAD = 1.2533  # of a normal distribution, from its mean absolute deviation
Z_MAX = 100.0
_CLIP = 3.0
_FREEZE = 6.0
_LEAK = 0.2  # of the usual learning, for the spread, while values are anomalous
_BACK_MIN = 4.0
_APART = 1.0
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
def learn_level(row: NDArray[np.float64], at: int, x: float, z: float, floor: float, pace: LearningPace) -> None:
    """Learns one value whose distance was ``z``; after ``follow`` anomalous ones in a row they are the new normal.

    at: where in the row the seven columns begin.
    """
    alpha, warmup, follow = pace
    error, count = x - row[at + LEVEL], row[at + COUNT]
    row[at + COUNT] = count + 1.0
    spread = max(row[at + SPREAD], floor)
    if count < warmup:
        row[at + LEVEL] += error / (count + 1.0)
        row[at + SPREAD] += (abs(error) - row[at + SPREAD]) / max(count, 1.0)
        return
    rate = max(alpha, 1.0 / (count + 1.0))
    clip = _CLIP * spread
    if abs(z) > _FREEZE:
        away = row[at + AWAY] + 1.0
        row[at + RECENT] = x if away == 1.0 else row[at + RECENT] + (x - row[at + RECENT]) / away
        row[at + AWAY] = away
        row[at + SPREAD] += _LEAK * rate * (clip - row[at + SPREAD])
        if away >= follow:
            if at == X:
                remember(row, count, _APART / alpha)
            row[at + LEVEL], row[at + AWAY] = row[at + RECENT], 0.0
        elif at == X:
            come_back(row, x, clip)
        return
    row[at + AWAY] = 0.0
    if at == X:
        row[BACK] = 0.0
    row[at + LEVEL] += rate * min(max(error, -clip), clip)
    row[at + SPREAD] += rate * (min(abs(error), clip) - row[at + SPREAD])


@compiled
def remember(row: NDArray[np.float64], count: float, apart: float) -> None:
    """The level that is given up, unless it was itself that of an event a short time ago."""
    if row[PRIOR_AT] == 0.0 or count - row[PRIOR_AT] > apart:
        row[PRIOR], row[KNOWS_PRIOR] = row[LEVEL], 1.0
    row[PRIOR_AT], row[BACK] = count, 0.0


@compiled
def come_back(row: NDArray[np.float64], x: float, near: float) -> None:
    """Values as they were before an event are known: no need to wait until they are the new normal."""
    if row[KNOWS_PRIOR] == 0.0 or abs(x - row[PRIOR]) > near:
        row[BACK] = 0.0
        return
    row[BACK] += 1.0
    if row[BACK] >= _BACK_MIN:
        row[LEVEL], row[KNOWS_PRIOR] = row[PRIOR], 0.0
        row[PRIOR_AT] = row[COUNT]
        row[AWAY] = row[BACK] = 0.0
        row[DRIFT] = row[DRIFT_SLOW] = 0.0


@compiled
def learn_fast(row: NDArray[np.float64], at: int, x: float, floor: float, alpha: float) -> None:
    """The quick forecast, and its mean absolute error."""
    error = x - row[at + FAST]
    rate = max(alpha, 1.0 / (row[at + COUNT] + 1.0))
    clip = _FAST_CLIP * max(row[at + FAST_SPREAD], floor)
    if row[at + COUNT] < 8.0:
        clip = abs(error)
    row[at + FAST] += _FAST * min(max(error, -clip), clip)
    row[at + FAST_SPREAD] += rate * (min(abs(error), clip) - row[at + FAST_SPREAD])


@compiled
def learn_step(row: NDArray[np.float64], x: float, floor: float, alpha: float) -> None:
    """The mean absolute step from the last value."""
    error = abs(x - row[LAST])
    clip = _FAST_CLIP * max(row[STEP_SPREAD], floor) if row[COUNT] >= 8.0 else error
    row[STEP_SPREAD] += max(alpha, 1.0 / (row[COUNT] + 1.0)) * (min(error, clip) - row[STEP_SPREAD])
