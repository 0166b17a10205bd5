"""How rare a statistic is, by its own history: a streaming quantile and a generalised Pareto tail beyond it.

Source: Siffer et al. (2017), Anomaly detection in streams with extreme value theory (SPOT); here the quantile follows
by stochastic approximation, and the tail by decayed moments (Hosking and Wallis 1987) instead of likelihood.
"""

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring.layout import EXCESS, LADDER, NEWEST, RUNGS, SEEN, SQUARE, THRESHOLD, TOP
from common.jit import compiled_unchecked as compiled

SHARE = 0.03  # of the values lie beyond the threshold
BASE = 3.5066  # -ln SHARE
PRIOR_SEEN = 10.0  # excesses that the prior counts for
_SEEN_MAX = 120.0
_SHAPE_MAX = 0.6
_STEP_SHARE = 0.1
_EXCESS_MAX = 12.0  # mean excesses that one value may teach


RUNG_FIRST, _RUNG_RATIO = 3.0, 1.6
_APART = 12.0  # values below the first rung that end an event
_EVENTS_KEPT = 5000.0  # values
_OFTEN = 2.5  # events as high as that make a height known


@compiled
def rung(value: float) -> int:
    """How many rungs the value reaches."""
    if value < RUNG_FIRST:
        return 0
    return min(int(np.log(value / RUNG_FIRST) / np.log(_RUNG_RATIO)) + 1, RUNGS)


@compiled
def known_height(tails: NDArray[np.float32], at: int, value: float, count: float, beyond: float) -> float:
    """Surprise at most, in nats, of a height that several events reached before.

    beyond: how many times higher than those it may be.
    """
    reached = rung(value / beyond)
    if reached == 0:
        return np.inf
    current = tails[TOP, at] if count - tails[NEWEST, at] <= _APART else 0.0
    events = tails[LADDER + reached - 1, at] - (1.0 if current >= reached else 0.0)
    if events < _OFTEN:
        return np.inf
    return float(np.log(min(count, _EVENTS_KEPT) / events))


@compiled
def learn_height(tails: NDArray[np.float32], at: int, value: float, count: float) -> None:
    """Counts the event that a high value belongs to, once for each rung."""
    reached = rung(value)
    if reached == 0:
        return
    if count - tails[NEWEST, at] > _APART:
        kept = np.float32(np.exp((tails[NEWEST, at] - count) / _EVENTS_KEPT))
        for step in range(RUNGS):
            tails[LADDER + step, at] *= kept
        tails[TOP, at] = 0.0
    for step in range(int(tails[TOP, at]), reached):
        tails[LADDER + step, at] += 1.0
    tails[TOP, at] = max(tails[TOP, at], reached)
    tails[NEWEST, at] = count


@compiled
def shape_of(tails: NDArray[np.float32], at: int) -> float:
    """The shape of the Pareto tail: 0 is exponential. Shrunk towards it while few excesses were seen."""
    mean = tails[EXCESS, at]
    variance = tails[SQUARE, at] - mean * mean
    if variance <= mean * mean or mean <= 0.0:
        return 0.0
    shape = 0.5 * (1.0 - mean * mean / variance) * tails[SEEN, at] / (tails[SEEN, at] + 10.0)
    return float(min(shape, _SHAPE_MAX))


@compiled
def surprise(tails: NDArray[np.float32], at: int, value: float) -> float:
    """-ln of the probability of a value at least as high; 0 below the threshold."""
    excess = value - tails[THRESHOLD, at]
    if excess <= 0.0:
        return 0.0
    shape = shape_of(tails, at)
    if shape < 0.01:
        return float(BASE + excess / max(tails[EXCESS, at], 1e-6))
    return float(BASE + np.log1p(shape * excess / (tails[EXCESS, at] * (1.0 - shape))) / shape)


@compiled
def limit(tails: NDArray[np.float32], at: int, nats: float) -> float:
    """The value whose surprise is ``nats``."""
    shape = shape_of(tails, at)
    beyond = nats - BASE
    if shape < 0.01:
        return float(tails[THRESHOLD, at] + tails[EXCESS, at] * beyond)
    return float(tails[THRESHOLD, at] + tails[EXCESS, at] * (1.0 - shape) * (np.exp(shape * beyond) - 1.0) / shape)


@compiled
def begin(tails: NDArray[np.float32], at: int, threshold: float, excess: float) -> None:
    """Of a statistic of which nothing is known yet."""
    tails[:, at] = 0.0
    tails[THRESHOLD, at], tails[EXCESS, at], tails[SQUARE, at] = threshold, excess, 2.0 * excess * excess


@compiled
def pace(count: float) -> float:
    """By how many mean excesses a threshold moves, after so many values."""
    return max(0.15, 2.0 / (1.0 + SHARE * count))


@compiled
def any_beyond(tails: NDArray[np.float32], statistics: NDArray[np.float64], experts: int) -> bool:
    """Whether one of the statistics is beyond its threshold."""
    beyond = 0
    for expert in range(experts):
        beyond += statistics[expert] > tails[THRESHOLD, expert]
    return beyond > 0


@compiled
def lower(tails: NDArray[np.float32], pace: float, experts: int) -> None:
    """Takes values below their thresholds into all tails at once: what ``learn`` does, in one stride."""
    for expert in range(experts):
        threshold = tails[THRESHOLD, expert]
        step = max(tails[EXCESS, expert], np.float32(_STEP_SHARE) * abs(threshold))
        tails[THRESHOLD, expert] = threshold - np.float32(SHARE * pace) * step


@compiled
def learn(tails: NDArray[np.float32], at: int, value: float, pace: float, weight: float, least: float) -> None:
    """Takes a value into the tail. weight: below 1 for what is not to be trusted.

    least: the mean excess does not fall below it.
    """
    excess = value - tails[THRESHOLD, at]
    step = max(tails[EXCESS, at], _STEP_SHARE * abs(tails[THRESHOLD, at])) * pace * weight
    if excess <= 0.0:
        tails[THRESHOLD, at] -= np.float32(SHARE * step)
        return
    excess = min(excess, _EXCESS_MAX * tails[EXCESS, at])
    rate = weight / (tails[SEEN, at] + PRIOR_SEEN)
    tails[EXCESS, at] = max(tails[EXCESS, at] + rate * (excess - tails[EXCESS, at]), least)
    tails[SQUARE, at] += np.float32(rate * (excess * excess - tails[SQUARE, at]))
    tails[SEEN, at] = min(tails[SEEN, at] + weight, _SEEN_MAX)
    tails[THRESHOLD, at] += np.float32((1.0 - SHARE) * step)
