"""How much more a value adds to the recent variability than any did at this time in the days before.

A day's own jumps, as of a batch that begins at two, are no surprise then, and are one at three.
Source: Li et al. (2021), FluxEV: a fast and effective unsupervised framework for time-series anomaly detection; here
its two smoothings are running means, and the days before a slowly forgotten maximum for each ten minutes.
"""

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring.layout import DAY_S, FLUCTUATION, Core, Moment, Tails
from analytics.models.scoring.level import SIGMA_PER_SCALE, distance
from common.jit import compiled_unchecked as compiled

_RATE = 0.1  # of the recent variability
_JUMP_MAX = 20.0  # standard deviations that one value counts for
_KEPT_A_DAY = 0.85
_QUANTA_MAX = 32000.0

Slots = NDArray[np.int16]


@compiled
def measure(core: Core, tails: Tails, slots: Slots, now: Moment, statistics: NDArray[np.float64]) -> None:
    """Fills in the statistic, in standard deviations of the forecast; at its threshold where no season is proved."""
    if now.season_proved < 0.5:
        statistics[FLUCTUATION] = tails.threshold[FLUCTUATION]
        return
    sigma, bins, at, most = SIGMA_PER_SCALE * now.error_scale, int(DAY_S / core.bin_s), int(now.first_bin), 0
    for near in range(at - 1, at + 2):
        most = max(most, int(slots[near % bins]))
    before = np.sqrt(core.variance) * sigma
    after = np.sqrt((1.0 - _RATE) * before * before + _RATE * now.error * now.error)
    now.fluctuation = after - before
    statistics[FLUCTUATION] = distance(now.fluctuation - most * core.quantum, now.error_scale, now.error_floor)


@compiled
def learn_variance(core: Core, jump: float) -> None:
    """The recent variability, of some ten values."""
    core.variance += _RATE * (min(jump * jump, _JUMP_MAX * _JUMP_MAX) - core.variance)


@compiled
def learn(core: Core, slots: Slots, now: Moment) -> None:
    """Keeps the largest of this time of the day."""
    at = int(now.first_bin)
    kept = slots[at] * _KEPT_A_DAY ** (core.interval_s / core.bin_s)
    slots[at] = int(max(kept, min(now.fluctuation / core.quantum, _QUANTA_MAX)))
