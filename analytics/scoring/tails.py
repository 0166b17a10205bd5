"""How rare a statistic is, by its own history: a streaming quantile and a generalised Pareto tail beyond it.

Source: Siffer et al. (2017), Anomaly detection in streams with extreme value theory (SPOT); here the quantile follows
by stochastic approximation, and the tail by decayed moments (Hosking and Wallis 1987) instead of likelihood.
"""

import numpy as np
from numpy.typing import NDArray

from analytics.jit import compiled
from analytics.scoring.layout import EXCESS, SEEN, SQUARE, THRESHOLD

SHARE = 0.03  # of the values lie beyond the threshold
BASE = 3.5066  # -ln SHARE
PRIOR_SEEN = 10.0  # excesses that the prior counts for
_SEEN_MAX = 120.0
_SHAPE_MAX = 0.25
_EXCESS_MAX = 6.0  # mean excesses that one value may teach


@compiled
def shape_of(tail: NDArray[np.float32]) -> float:
    """The shape of the Pareto tail: 0 is exponential. Shrunk towards it while few excesses were seen."""
    mean = tail[EXCESS]
    variance = tail[SQUARE] - mean * mean
    if variance <= mean * mean or mean <= 0.0:
        return 0.0
    shape = 0.5 * (1.0 - mean * mean / variance) * tail[SEEN] / (tail[SEEN] + 20.0)
    return min(shape, _SHAPE_MAX)


@compiled
def surprise(tail: NDArray[np.float32], value: float) -> float:
    """-ln of the probability of a value at least as high; 0 below the threshold."""
    excess = value - tail[THRESHOLD]
    if excess <= 0.0:
        return 0.0
    shape = shape_of(tail)
    if shape < 0.01:
        return BASE + excess / max(tail[EXCESS], 1e-6)
    return BASE + np.log1p(shape * excess / (tail[EXCESS] * (1.0 - shape))) / shape


@compiled
def limit(tail: NDArray[np.float32], nats: float) -> float:
    """The value whose surprise is ``nats``."""
    shape = shape_of(tail)
    beyond = nats - BASE
    if shape < 0.01:
        return tail[THRESHOLD] + tail[EXCESS] * beyond
    return tail[THRESHOLD] + tail[EXCESS] * (1.0 - shape) * (np.exp(shape * beyond) - 1.0) / shape


@compiled
def learn(tail: NDArray[np.float32], value: float, count: float, weight: float, least: float) -> None:
    """Takes a value into the tail. count: values learned before. weight: below 1 for what is not to be trusted.

    least: the mean excess does not fall below it.
    """
    excess = value - tail[THRESHOLD]
    step = tail[EXCESS] * max(0.15, 2.0 / (1.0 + SHARE * count)) * weight
    if excess <= 0.0:
        tail[THRESHOLD] -= np.float32(SHARE * step)
        return
    excess = min(excess, _EXCESS_MAX * tail[EXCESS])
    rate = weight / (tail[SEEN] + PRIOR_SEEN)
    tail[EXCESS] = max(tail[EXCESS] + rate * (excess - tail[EXCESS]), least)
    tail[SQUARE] += np.float32(rate * (excess * excess - tail[SQUARE]))
    tail[SEEN] = min(tail[SEEN] + weight, _SEEN_MAX)
    tail[THRESHOLD] += np.float32((1.0 - SHARE) * step)
