"""How coherent the members of a group work: what shows that they wait for each other, or that nobody does.

GPUs in lockstep compute and wait together, so what one of them does at a moment says what the others do. The intraclass
correlation of their activity, each against its own level, is the part of its variance that all of them share: 1 in
lockstep, 0 where everyone works for itself. One member of four and more is left out in each round, the one that is
farthest from the others: a single faulty GPU does not change the class of its job.

Sources: Shrout and Fleiss (1979), Intraclass correlations (of rounds as subjects, members as raters, consistency);
bounds by Fisher's z (Fisher 1925, section 39; McGraw and Wong 1996); limits by Koo and Li (2016), A guideline of
selecting and reporting intraclass correlation coefficients: below 0.5 is poor, above 0.75 good, above 0.9 excellent.
Work that waits for each other in some of its phases alone, as a rollout does that trains on what it has generated, is
good (0.7 to 0.8); what is in lockstep has 0.99.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from analytics.models.group_medians import group_medians


class WorkClass(IntEnum):
    """What was shown about the members of a group; nothing is shown about a group that is idle or always the same."""

    UNKNOWN = 0
    LOCKSTEP = 1
    INDEPENDENT = 2
    MIXED = 3


# Columns of the state: rounds learned, own level, variance of the common movement times the members, variance of the
# members around it, members in the newest round, ``WorkClass``.
ROUNDS, LEVEL, BETWEEN, WITHIN, SIZE, CLASS = range(6)
WIDTH = 6

EXCELLENT, GOOD, POOR = 0.9, 0.75, 0.5
_ALPHA = 1.0 / 60.0  # weight of a round: ten minutes at ten seconds, so a fault of minutes does not decide
_ROUNDS_MIN = 3  # from where the bounds exist; they are wide then
_Z = 1.96  # bounds of 95 %
# The tensor activity of a recorded H100 in steady training varies by 0.4 % (tests/data/h100, phase ``train``): a common
# movement has to be clearly more than that.
_NOISE, _MOVES = 0.005, 0.01
_DIFFERS = 0.1  # of the level: members that differ by less are equal, and have not shown that nobody waits
_LEVEL_MIN = 0.02  # of the time, below which there is no activity to compare
_TRIMMED_MIN = 4
_TRIMMED_BIAS = 8.0  # by the members that are left: by so much does leaving one out raise F where all are independent
# (normal; simulated for 4 to 16: 3.7, 2.1, 1.6 for 4, 8, 16 members, within 6 %)

Floats = NDArray[np.float64]


def learn(state: Floats, groups: NDArray[np.int64], values: Floats) -> None:
    """One round of k members, in place: k rows of ``state`` [k, WIDTH], zero for a new member.

    groups: int64[k], any numbers; the members of one group were read at the same moment. values: float64[k].
    """
    rounds, level = state[:, ROUNDS], state[:, LEVEL]
    apart = np.where(rounds > 0, values - level, 0.0)
    names, at, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    kept = _kept(at, sizes, np.abs(apart - group_medians(groups, apart)))
    count = np.bincount(at, kept, names.size)
    mean = np.bincount(at, apart * kept, names.size) / count
    within = np.bincount(at, kept * (apart - mean[at]) ** 2, names.size) / np.maximum(1.0, count - 1.0)
    learned = (rounds > 0) & (count[at] >= 2)
    weight = np.where(learned, np.maximum(_ALPHA, 1.0 / np.maximum(1.0, rounds)), 0.0)
    state[:, BETWEEN] += weight * ((count * mean * mean)[at] - state[:, BETWEEN])
    state[:, WITHIN] += weight * (within[at] - state[:, WITHIN])
    state[:, SIZE] = sizes[at]
    follow(state, values)
    state[:, ROUNDS] = np.minimum(rounds + 1.0, 1e6)
    state[:, CLASS] = _classes(state)


def follow(state: Floats, values: Floats) -> None:
    """The levels alone, in place: of a round that does not show how coherent the members are."""
    state[:, LEVEL] += np.maximum(_ALPHA, 1.0 / (state[:, ROUNDS] + 1.0)) * (values - state[:, LEVEL])


def coherence(state: Floats) -> Floats:
    """float64[k]: the intraclass correlation, NaN while too little is known."""
    known = (state[:, ROUNDS] > _ROUNDS_MIN) & (state[:, SIZE] >= 2)
    return np.where(known, _correlation(_ratio(state), _counted(state)), np.nan)


def differs(state: Floats) -> Floats:
    """float64[k]: how far the members of a row's group are apart, as a part of its level, NaN while unknown."""
    known = (state[:, ROUNDS] > _ROUNDS_MIN) & (state[:, SIZE] >= 2)
    return np.where(known, np.sqrt(state[:, WITHIN]) / np.maximum(_LEVEL_MIN, state[:, LEVEL]), np.nan)


def _kept(at: NDArray[np.int64], sizes: NDArray[np.int64], far: Floats) -> Floats:
    """1.0 for the members that count, 0.0 for the one of each large group that is farthest from its median."""
    kept = np.ones(far.size)
    last = np.cumsum(sizes) - 1  # of each group, in the order of groups and distance
    kept[np.lexsort((far, at))[last[sizes >= _TRIMMED_MIN]]] = 0.0
    return kept


def _ratio(state: Floats) -> Floats:
    """Variance between rounds by that within rounds, F of the analysis of variance."""
    noise = _NOISE * np.maximum(_LEVEL_MIN, state[:, LEVEL])
    bias = np.where(state[:, SIZE] >= _TRIMMED_MIN, 1.0 + _TRIMMED_BIAS / _counted(state), 1.0)
    return np.asarray(state[:, BETWEEN] / np.maximum(state[:, WITHIN], noise * noise) / bias)


def _counted(state: Floats) -> Floats:
    """Members of each row's group that count in a round, at least two."""
    return np.asarray(np.maximum(2.0, state[:, SIZE] - (state[:, SIZE] >= _TRIMMED_MIN)))


def _correlation(ratio: Floats, size: Floats) -> Floats:
    return np.asarray((ratio - 1.0) / (ratio + size - 1.0))


def _classes(state: Floats) -> Floats:
    """The class of each row; the one before where the bounds decide for none."""
    size = _counted(state)
    rounds = np.minimum(state[:, ROUNDS] - 1.0, 2.0 / _ALPHA - 1.0)
    known = (rounds >= _ROUNDS_MIN) & (state[:, SIZE] >= 2)
    error = np.sqrt(size / (2.0 * (size - 1.0) * np.maximum(1.0, rounds - 2.0)))
    ratio, factor = _ratio(state), np.exp(2.0 * _Z * error)
    least, most = _correlation(ratio / factor, size), _correlation(ratio * factor, size)
    level = np.maximum(_LEVEL_MIN, state[:, LEVEL])
    moves = np.sqrt(state[:, BETWEEN] / size) >= _MOVES * level
    differs = np.sqrt(state[:, WITHIN]) >= _DIFFERS * level
    shown = [moves & (least >= EXCELLENT), differs & (most < POOR), differs & (most < GOOD)]
    found = np.select(shown, [WorkClass.LOCKSTEP, WorkClass.INDEPENDENT, WorkClass.MIXED], state[:, CLASS])
    return np.where(known, found, state[:, CLASS])
