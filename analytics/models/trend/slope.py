"""Robust lines through few points, with intervals that hold for autocorrelated noise.

Slope: Theil-Sen, the median of the slopes of all pairs (Sen 1968). Its interval: Kendall's S has a known variance
without a trend, so ranks around the median slope bound it (Gilbert 1987, ch. 16). With autocorrelation n values are
worth less: the variance grows by (1 + r)/(1 - r), r the lag-one correlation of the residuals (Bayley and Hammersley
1946), corrected for its bias of -(1 + 4 r)/n in short series (Kendall 1954).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled

Z = 2.576  # standard deviations of a two-sided interval of 99 %
_CORRELATION_MAX = 0.95
_MEDIAN_LOSS = 1.2533  # standard deviation of a median over that of a mean, normal values
_MAD_SIGMA = 1.4826

Floats = NDArray[np.float64]


class Line(NamedTuple):
    """slope, with its lower and upper bound; level at ``centre``, the median time, with its error (half an interval);
    inflation: of the variance, by autocorrelation. Bounds are infinite where there are too few points.
    """

    slope: float
    low: float
    high: float
    level: float
    error: float
    centre: float
    inflation: float


@compiled
def robust_line(times: Floats, values: Floats) -> Line:
    """times, values: float64[n], n >= 3, in order of time, no NaN."""
    n = times.size
    slopes = np.empty(n * (n - 1) // 2)
    k = 0
    for i in range(n):
        for j in range(i + 1, n):
            slopes[k] = (values[j] - values[i]) / (times[j] - times[i])
            k += 1
    slopes.sort()
    slope = 0.5 * (slopes[(k - 1) // 2] + slopes[k // 2])
    centre = np.median(times)
    residuals = values - slope * (times - centre)
    level = np.median(residuals)
    residuals -= level
    inflation = variance_inflation(residuals)
    half = 0.5 * Z * math.sqrt(n * (n - 1) * (2 * n + 5) / 18.0 * inflation)
    first, last = math.floor(0.5 * k - half) - 1, math.ceil(0.5 * k + half)
    low = slopes[first] if first >= 0 else -np.inf
    high = slopes[last] if last < k else np.inf
    sigma = _MAD_SIGMA * np.median(np.abs(residuals))
    error = Z * _MEDIAN_LOSS * sigma * math.sqrt(inflation / n)
    return Line(slope, low, high, level, error, centre, inflation)


@compiled
def variance_inflation(residuals: Floats) -> float:
    """How many autocorrelated values are worth one independent value."""
    n = residuals.size
    lagged, square = 0.0, 0.0
    for i in range(n):
        square += residuals[i] * residuals[i]
        if i:
            lagged += residuals[i] * residuals[i - 1]
    if square <= 0.0:
        return 1.0
    r = lagged / square
    r = min(_CORRELATION_MAX, max(0.0, r + (1.0 + 4.0 * r) / n))
    return (1.0 + r) / (1.0 - r)
