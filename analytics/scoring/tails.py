"""How rare a statistic is, by its own history: a streaming quantile and a generalised Pareto tail beyond it.

Source: Siffer et al. (2017), Anomaly detection in streams with extreme value theory (SPOT); here the quantile follows
by stochastic approximation, and the tail by decayed moments (Hosking and Wallis 1987) instead of likelihood.
"""

import numpy as np
from numpy.typing import NDArray

from analytics.jit import compiled
from analytics.scoring.layout import EXCESS, LADDER, NEWEST, RUNGS, SEEN, SQUARE, THRESHOLD, TOP

SHARE = 0.03  # of the values lie beyond the threshold
BASE = 3.5066  # -ln SHARE
PRIOR_SEEN = 10.0  # excesses that the prior counts for
_SEEN_MAX = 120.0
_SHAPE_MAX = 0.6
_STEP_SHARE = 0.1
_EXCESS_MAX = 12.0  # mean excesses that one value may teach


_RUNG_FIRST, _RUNG_RATIO = 3.0, 1.6
_APART = 12.0  # values below the first rung that end an event
_EVENTS_KEPT = 5000.0  # values
_OFTEN = 2.5  # events as high as that make a height known


@compiled
def rung(value: float) -> int:
    """How many rungs the value reaches."""
    if value < _RUNG_FIRST:
        return 0
    return min(int(np.log(value / _RUNG_FIRST) / np.log(_RUNG_RATIO)) + 1, RUNGS)


@compiled
def known_height(tail: NDArray[np.float32], value: float, count: float, beyond: float) -> float:
    """Surprise at most, in nats, of a height that several events reached before.

    beyond: how many times higher than those it may be.
    """
    reached = rung(value / beyond)
    if reached == 0:
        return np.inf
    current = tail[TOP] if count - tail[NEWEST] <= _APART else 0.0
    events = tail[LADDER + reached - 1] - (1.0 if current >= reached else 0.0)
    if events < _OFTEN:
        return np.inf
    return float(np.log(min(count, _EVENTS_KEPT) / events))


@compiled
def learn_height(tail: NDArray[np.float32], value: float, count: float) -> None:
    """Counts the event that a high value belongs to, once for each rung."""
    reached = rung(value)
    if reached == 0:
        return
    if count - tail[NEWEST] > _APART:
        kept = np.float32(np.exp((tail[NEWEST] - count) / _EVENTS_KEPT))
        for step in range(RUNGS):
            tail[LADDER + step] *= kept
        tail[TOP] = 0.0
    for step in range(int(tail[TOP]), reached):
        tail[LADDER + step] += 1.0
    tail[TOP] = max(tail[TOP], reached)
    tail[NEWEST] = count


@compiled
def shape_of(tail: NDArray[np.float32]) -> float:
    """The shape of the Pareto tail: 0 is exponential. Shrunk towards it while few excesses were seen."""
    mean = tail[EXCESS]
    variance = tail[SQUARE] - mean * mean
    if variance <= mean * mean or mean <= 0.0:
        return 0.0
    shape = 0.5 * (1.0 - mean * mean / variance) * tail[SEEN] / (tail[SEEN] + 10.0)
    return float(min(shape, _SHAPE_MAX))


@compiled
def surprise(tail: NDArray[np.float32], value: float) -> float:
    """-ln of the probability of a value at least as high; 0 below the threshold."""
    excess = value - tail[THRESHOLD]
    if excess <= 0.0:
        return 0.0
    shape = shape_of(tail)
    if shape < 0.01:
        return float(BASE + excess / max(tail[EXCESS], 1e-6))
    return float(BASE + np.log1p(shape * excess / (tail[EXCESS] * (1.0 - shape))) / shape)


@compiled
def limit(tail: NDArray[np.float32], nats: float) -> float:
    """The value whose surprise is ``nats``."""
    shape = shape_of(tail)
    beyond = nats - BASE
    if shape < 0.01:
        return float(tail[THRESHOLD] + tail[EXCESS] * beyond)
    return float(tail[THRESHOLD] + tail[EXCESS] * (1.0 - shape) * (np.exp(shape * beyond) - 1.0) / shape)


@compiled
def begin(tail: NDArray[np.float32], threshold: float, excess: float) -> None:
    """Of a statistic of which nothing is known yet."""
    tail[:] = 0.0
    tail[THRESHOLD], tail[EXCESS], tail[SQUARE] = threshold, excess, 2.0 * excess * excess


@compiled
def learn(tail: NDArray[np.float32], value: float, count: float, weight: float, least: float) -> None:
    """Takes a value into the tail. count: values learned before. weight: below 1 for what is not to be trusted.

    least: the mean excess does not fall below it.
    """
    excess = value - tail[THRESHOLD]
    step = max(tail[EXCESS], _STEP_SHARE * abs(tail[THRESHOLD])) * max(0.15, 2.0 / (1.0 + SHARE * count)) * weight
    if excess <= 0.0:
        tail[THRESHOLD] -= np.float32(SHARE * step)
        return
    excess = min(excess, _EXCESS_MAX * tail[EXCESS])
    rate = weight / (tail[SEEN] + PRIOR_SEEN)
    tail[EXCESS] = max(tail[EXCESS] + rate * (excess - tail[EXCESS]), least)
    tail[SQUARE] += np.float32(rate * (excess * excess - tail[SQUARE]))
    tail[SEEN] = min(tail[SEEN] + weight, _SEEN_MAX)
    tail[THRESHOLD] += np.float32((1.0 - SHARE) * step)
