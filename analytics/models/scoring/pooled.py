"""What series of one kind have in common: how high their statistics usually are, for series with a cold start.

A kind is a metric, as a rule. Old series add their tails to those of the kind from time to time; a series that ends its
warm-up begins with the mean of those instead of with what holds for series in general.
"""

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring.layout import EXCESS, PHASE_UP, Tails
from common.jit import compiled_unchecked as compiled

OLD = 256.0  # values from which on a series adds its tails
EVERY = 64.0  # values between two samples of a series' tails
_SAMPLES_MIN = 8.0
_SAMPLES_KEPT = 512.0
_EXCESSES = 20.0  # that the tail of a kind counts for
_VALUE_MIN = 1e-3


@compiled
def learn(pool: NDArray[np.void], tails: Tails) -> None:
    """Adds a series' tails to those of its kind. pool: ``Pool``[EXPERTS]."""
    for expert in range(PHASE_UP):
        kind = pool[expert]
        samples = min(kind.samples + 1.0, _SAMPLES_KEPT)
        threshold, excess = max(tails.threshold[expert], _VALUE_MIN), max(tails.excess[expert], _VALUE_MIN)
        breadth = max(tails.square[expert] / (excess * excess), _VALUE_MIN)
        kind.log_threshold += (np.log(threshold) - kind.log_threshold) / samples
        kind.log_excess += (np.log(excess) - kind.log_excess) / samples
        kind.log_breadth += (np.log(breadth) - kind.log_breadth) / samples
        kind.samples = samples


@compiled
def begin_tails(pool: NDArray[np.void], tails: Tails) -> None:
    """Begins a series' tails with those of its kind, once there are enough of them."""
    for expert in range(PHASE_UP):
        kind = pool[expert]
        if kind.samples < _SAMPLES_MIN:
            return
        excess = np.exp(kind.log_excess)
        tails.threshold[expert], tails.excess[expert] = np.exp(kind.log_threshold), excess
        tails.square[expert] = np.exp(kind.log_breadth) * excess * excess
        tails.excesses[expert] = int(EXCESS * _EXCESSES)
