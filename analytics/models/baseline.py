"""Every series' own normal: a robust level and its scale, which follow slowly and do not learn from anomalies."""

import numpy as np
from numpy.typing import NDArray

from analytics.models.pace import WARMUP, Pace
from common.jit import compiled

LEVEL, SCALE, COUNT, OUTLIERS, OUTLIER_LEVEL = range(5)
WIDTH = 5

# For normal noise the mean absolute deviation is 0.80 standard deviations, and the clip below takes a little more.
_SIGMA_PER_SCALE = 1.2533
# One per cent of the level: below that rounding would be an anomaly of a steady series (a fan, a clock).
_SCALE_SHARE_MIN = 0.01
_CLIP = 3.0  # scales that one value may move the level by (Huber's psi)
_SCORE_MAX = 1e6  # a series that never changed has no scale to measure by
_LEFT_MIN = 3.0  # anomalous values in a row, below which they may be a spike
_FREEZE = 6.0  # standard deviations from which on a value is an anomaly and not learned


@compiled
def score_and_learn(
    sids: NDArray[np.int64],
    values: NDArray[np.float64],
    reported: NDArray[np.bool_],
    state: NDArray[np.float64],
    pace: Pace,
    score: NDArray[np.float64],
    newest_score: NDArray[np.float64],
) -> None:
    """Scores each value against the baseline as it was before, then learns it. NaN values are skipped.

    sids: int64[n], rows of ``state``, in event order; values: float64[n].
    reported: bool[n], whether there is a finding about the series: while there is, no level is the new one.
    state: float64[series, 5], all zero for a new series: level, scale (mean absolute deviation), values learned,
           anomalous values in a row, and their running mean.
    score: float64[n] out, standard deviations from the level; NaN while nothing is learned yet.
    newest_score: float64[series], the last one of each series.
    Source: exponentially weighted M-estimate of location with Huber's psi; see Gelper, Fried and Croux (2010),
    Robust forecasting with exponential and Holt-Winters smoothing.
    """
    alpha, warmup, follow = pace
    for i in range(sids.size):
        score[i] = np.nan
        x = values[i]
        if np.isnan(x):
            continue
        row = state[sids[i]]
        count = row[COUNT]
        if count == 0.0:
            row[LEVEL], row[COUNT] = x, 1.0
            continue
        error = x - row[LEVEL]
        floor = max(row[SCALE], _SCALE_SHARE_MIN * abs(row[LEVEL]))
        if count < warmup:
            weight = 1.0 / (count + 1.0)
            row[LEVEL] += weight * error
            row[SCALE] += (abs(error) - row[SCALE]) / count
            row[COUNT] = count + 1.0
            continue
        z = 0.0
        if error != 0.0:
            z = error / (_SIGMA_PER_SCALE * floor) if floor > 0.0 else np.sign(error) * _SCORE_MAX
            z = min(max(z, -_SCORE_MAX), _SCORE_MAX)
        score[i] = newest_score[sids[i]] = z
        if abs(z) > _FREEZE:
            outliers = row[OUTLIERS] + 1.0
            row[OUTLIER_LEVEL] = x if outliers == 1.0 else row[OUTLIER_LEVEL] + (x - row[OUTLIER_LEVEL]) / outliers
            row[OUTLIERS] = outliers
            if outliers >= follow and not reported[i]:
                row[LEVEL], row[COUNT], row[OUTLIERS] = row[OUTLIER_LEVEL], warmup // 2, 0.0
            continue
        row[OUTLIERS] = 0.0
        clip = _CLIP * floor
        row[LEVEL] += alpha * min(max(error, -clip), clip)
        row[SCALE] += alpha * (min(abs(error), clip) - row[SCALE])


def levels(state: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[n]: the level of each baseline, NaN while it is not known. state: float64[n, 5]."""
    return np.where(state[:, COUNT] >= WARMUP, state[:, LEVEL], np.nan)


def deviations(state: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[n]: the standard deviation of each baseline, NaN while its level is not known. state: float64[n, 5]."""
    scale = np.maximum(state[:, SCALE], _SCALE_SHARE_MIN * np.abs(state[:, LEVEL]))
    return np.where(state[:, COUNT] >= WARMUP, _SIGMA_PER_SCALE * scale, np.nan)


def left_levels(state: NDArray[np.float64], sids: NDArray[np.int64]) -> NDArray[np.float64]:
    """float64[k]: the mean of the anomalous values of series that have had several in a row by now, NaN of others."""
    found = np.full(sids.size, np.nan)
    left = np.flatnonzero(state[:, OUTLIERS][sids] >= _LEFT_MIN)
    found[left] = state[sids[left], OUTLIER_LEVEL]
    return found
