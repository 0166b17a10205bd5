"""The value after a single unusual one, which is mostly where the series was before: no second event."""

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring import level as levels
from analytics.models.scoring.layout import JUMP_DOWN, JUMP_UP, Core, Moment
from common.jit import compiled_unchecked as compiled


@compiled
def measure(core: Core, x: float, now: Moment, statistics: NDArray[np.float64]) -> None:
    """Right after a single unusual value a jump counts from the fast level too, which that value has hardly moved, and
    the smaller distance holds: a series that is forecast by its last value jumps twice otherwise, there and back.
    """
    if core.streak != 1.0:
        return
    jump = levels.distance(x - core.values.fast, core.values.fast_scale, now.floor)
    if abs(jump) < abs(statistics[JUMP_UP]):
        statistics[JUMP_UP], statistics[JUMP_DOWN] = jump, -jump
