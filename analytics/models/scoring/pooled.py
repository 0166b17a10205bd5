"""What series of one kind have in common: how high their statistics usually are, for those that have little history.

A kind is a metric, as a rule. Old series teach it the tails that they have learned, each some of its values; a series
that ends its warm-up begins with the mean of those instead of with what holds for series in general.
"""

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring.layout import EXCESS, PHASE_UP, SEEN, SQUARE, THRESHOLD
from common.jit import compiled_unchecked as compiled

# float64, of a kind and expert: mean logarithms of threshold, of mean excess and of its square over that squared, and
# how many lessons there were.
LOG_THRESHOLD, LOG_EXCESS, LOG_BREADTH, LESSONS = range(4)
POOL_WIDTH = 4

OLD = 256.0  # values from which on a series teaches its kind
EVERY = 64.0  # values between two lessons of a series
_LESSONS_MIN = 8.0
_LESSONS_KEPT = 512.0
_SEEN = 20.0  # excesses that what the kind knows counts for
_LEAST = 1e-3


@compiled
def teach(pool: NDArray[np.float64], tails: NDArray[np.float32]) -> None:
    """Takes a series' tails into those of its kind. pool: float64[experts, POOL_WIDTH]."""
    for expert in range(PHASE_UP):
        lessons = min(pool[expert, LESSONS] + 1.0, _LESSONS_KEPT)
        threshold, excess = max(tails[THRESHOLD, expert], _LEAST), max(tails[EXCESS, expert], _LEAST)
        breadth = max(tails[SQUARE, expert] / (excess * excess), _LEAST)
        pool[expert, LOG_THRESHOLD] += (np.log(threshold) - pool[expert, LOG_THRESHOLD]) / lessons
        pool[expert, LOG_EXCESS] += (np.log(excess) - pool[expert, LOG_EXCESS]) / lessons
        pool[expert, LOG_BREADTH] += (np.log(breadth) - pool[expert, LOG_BREADTH]) / lessons
        pool[expert, LESSONS] = lessons


@compiled
def begin_tails(pool: NDArray[np.float64], tails: NDArray[np.float32]) -> None:
    """Begins a series' tails with those of its kind, once there are enough of them."""
    for expert in range(PHASE_UP):
        if pool[expert, LESSONS] < _LESSONS_MIN:
            return
        excess = np.exp(pool[expert, LOG_EXCESS])
        tails[THRESHOLD, expert], tails[EXCESS, expert] = np.exp(pool[expert, LOG_THRESHOLD]), excess
        tails[SQUARE, expert], tails[SEEN, expert] = np.exp(pool[expert, LOG_BREADTH]) * excess * excess, _SEEN
