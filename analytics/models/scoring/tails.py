"""How rare a statistic is, by its own history: a streaming quantile and a generalised Pareto tail beyond it.

Source: Siffer et al. (2017), Anomaly detection in streams with extreme value theory (SPOT); here the quantile follows
by stochastic approximation, and the tail by decayed moments (Hosking and Wallis 1987) instead of likelihood.
"""

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring.layout import DRIFT_UP, EXCESS, RUNGS, STRETCH, Tails
from common.jit import compiled_unchecked as compiled

SHARE = 0.03  # of the values lie beyond the threshold
BASE = 3.5066  # -ln SHARE
PRIOR_EXCESSES = 10.0  # that the prior counts for
_EXCESSES_MAX = 120.0
_SHAPE_MAX = 0.6
_SHAPE_MIN = 0.01  # a shape below it is exponential
_STEP_SHARE = 0.1
_EXCESS_MAX = 12.0  # mean excesses that one value may count for

RUNG_FIRST, _RUNG_RATIO = 3.0, 1.6
# Values in which a height counts once, however often it is reached: what is ordinary comes now and then, and not only
# in a cluster. A fifth of the values so far, within these limits.
_STRETCH_SHARE, _STRETCH_MIN, _STRETCH_MAX = 0.2, 12.0, 600.0
_EVENTS_KEPT = 5000.0  # values
_OFTEN = 2.5  # stretches with events as high as that make a height known
_KNOWN_NATS = 2.0  # by which a known height is more surprising than one event a stretch is


@compiled
def rung(value: float) -> int:
    """How many rungs the value reaches: heights 3, 3 * 1.6, 3 * 1.6**2 …"""
    if value < RUNG_FIRST:
        return 0
    return min(int(np.log(value / RUNG_FIRST) / np.log(_RUNG_RATIO)) + 1, RUNGS)


@compiled
def stretch(count: float) -> float:
    """Values whose events count as one, after so many values."""
    return min(max(_STRETCH_SHARE * count, _STRETCH_MIN), _STRETCH_MAX)


@compiled
def known_height(tails: Tails, expert: int, value: float, count: float, beyond: float) -> float:
    """Upper limit, in nats, of the surprise of a height that events of several stretches reached before, else infinite.

    beyond: how many times higher than those it may be.
    """
    reached = rung(value / beyond)
    if reached == 0:
        return np.inf
    current = tails.top[expert] if count - tails.newest[expert] <= stretch(count) else 0.0
    events = tails.ladder[reached - 1, expert] / STRETCH - (1.0 if current >= reached else 0.0)
    if events < _OFTEN:
        return np.inf
    return float(np.log(min(count, _EVENTS_KEPT) / events)) + _KNOWN_NATS


@compiled
def learn_height(tails: Tails, expert: int, value: float, count: float) -> None:
    """Counts the stretch that a high value belongs to, once for each rung."""
    reached = rung(value)
    if reached == 0:
        return
    if count - tails.newest[expert] > stretch(count):
        kept = np.exp((tails.newest[expert] - count) / _EVENTS_KEPT)
        for step in range(RUNGS):
            tails.ladder[step, expert] = int(kept * tails.ladder[step, expert] + 0.5)
        tails.top[expert] = 0
        tails.newest[expert] = count
    for step in range(int(tails.top[expert]), reached):
        tails.ladder[step, expert] = min(int(tails.ladder[step, expert]) + int(STRETCH), 255)
    tails.top[expert] = max(int(tails.top[expert]), reached)


@compiled
def shape_of(tails: Tails, expert: int) -> float:
    """The shape of the Pareto tail by its moments: 0 is exponential. Shrunk towards it while few excesses were seen."""
    mean = tails.excess[expert]
    variance = tails.square[expert] - mean * mean
    if variance <= mean * mean or mean <= 0.0:
        return 0.0
    excesses = tails.excesses[expert] / EXCESS
    shape = 0.5 * (1.0 - mean * mean / variance) * excesses / (excesses + 10.0)
    return float(min(shape, _SHAPE_MAX))


@compiled
def surprise(tails: Tails, expert: int, value: float) -> float:
    """-ln of the probability of a value at least as high; 0 below the threshold."""
    excess = value - tails.threshold[expert]
    if excess <= 0.0:
        return 0.0
    shape = shape_of(tails, expert)
    if shape < _SHAPE_MIN:
        return float(BASE + excess / max(tails.excess[expert], 1e-6))
    return float(BASE + np.log1p(shape * excess / (tails.excess[expert] * (1.0 - shape))) / shape)


@compiled
def limit(tails: Tails, expert: int, nats: float) -> float:
    """The value whose surprise is ``nats``."""
    shape = shape_of(tails, expert)
    beyond = nats - BASE
    if shape < _SHAPE_MIN:
        return float(tails.threshold[expert] + tails.excess[expert] * beyond)
    scale = tails.excess[expert] * (1.0 - shape)
    return float(tails.threshold[expert] + scale * (np.exp(shape * beyond) - 1.0) / shape)


@compiled
def begin(tails: Tails, expert: int) -> None:
    """The tail that holds for series in general, on the conservative side."""
    threshold, excess = (2.3, 0.55) if expert < DRIFT_UP else (3.0, 0.9)
    begin_at(tails, expert, threshold, excess, 0.0)


@compiled
def begin_at(tails: Tails, expert: int, threshold: float, excess: float, excesses: float) -> None:
    """An exponential tail of that mean excess, which counts for so many."""
    tails.threshold[expert], tails.excess[expert], tails.square[expert] = threshold, excess, 2.0 * excess * excess
    tails.excesses[expert] = int(EXCESS * excesses)
    tails.newest[expert] = tails.top[expert] = 0
    tails.ladder[:, expert] = 0


@compiled
def pace(count: float) -> float:
    """By how many mean excesses a threshold moves, after so many values."""
    return max(0.15, 2.0 / (1.0 + SHARE * count))


@compiled
def any_beyond(tails: Tails, statistics: NDArray[np.float64], experts: int) -> bool:
    """Whether one of the statistics is beyond its threshold."""
    beyond = 0
    for expert in range(experts):
        beyond += statistics[expert] > tails.threshold[expert]
    return beyond > 0


@compiled
def lower(tails: Tails, pace: float, experts: int) -> None:
    """Lowers all thresholds at once by what ``learn`` lowers each by for a value below it."""
    for expert in range(experts):
        threshold = tails.threshold[expert]
        step = max(tails.excess[expert], np.float32(_STEP_SHARE) * abs(threshold))
        tails.threshold[expert] = threshold - np.float32(SHARE * pace) * step


@compiled
def learn(tails: Tails, expert: int, value: float, pace: float, weight: float, excess_min: float) -> None:
    """Learns one value of a statistic.

    weight: below 1 for values of an event that was learned already. excess_min: lower limit of the mean excess.
    """
    excess = value - tails.threshold[expert]
    step = max(tails.excess[expert], _STEP_SHARE * abs(tails.threshold[expert])) * pace * weight
    if excess <= 0.0:
        tails.threshold[expert] -= np.float32(SHARE * step)
        return
    excess = min(excess, _EXCESS_MAX * tails.excess[expert])
    excesses = tails.excesses[expert] / EXCESS
    rate = weight / (excesses + PRIOR_EXCESSES)
    tails.excess[expert] = max(tails.excess[expert] + rate * (excess - tails.excess[expert]), excess_min)
    tails.square[expert] += np.float32(rate * (excess * excess - tails.square[expert]))
    tails.excesses[expert] = int(np.rint(EXCESS * min(excesses + weight, _EXCESSES_MAX)))
    tails.threshold[expert] += np.float32((1.0 - SHARE) * step)
