"""Series that rest at one value most of the time, as counters of errors do: how high they usually are when they do not.

Their scale would be that of the rest, and whatever leaves it hundreds of standard deviations away.
"""

import numpy as np

from analytics.models.scoring import tails as tail
from analytics.models.scoring.layout import JUMP_DOWN, JUMP_UP, LEVEL_DOWN, LEVEL_UP, Core, Tails
from common.jit import compiled_unchecked as compiled

# Share of values at rest from which on a series is measured by its departures, at first a little.
RESTING, _FULLY = float(np.float32(0.6)), 0.9  # the first as ``Core`` holds it
_NEAR_HEIGHT, _NEAR_SCALE = 0.25, 0.15  # of the usual height, and of the scale with all outliers: near enough for rest
_HEIGHT_SHARE = 0.3  # of the usual height, as a scale
_KEPT, _ENOUGH = 50.0, 20.0  # departures
_BEGIN_THRESHOLD, _BEGIN_EXCESS = 2.0, 2.0  # of tails: the usual height is 2.7 of these standard deviations
_THRESHOLD_MIN = 1.0


@compiled
def scale_of(core: Core, plain: float) -> float:
    """The smallest scale. plain: that of a series which does not rest."""
    if core.rest <= RESTING:
        return plain
    of_height = _HEIGHT_SHARE * core.height * min(core.departures / _ENOUGH, 1.0)
    return plain + min((core.rest - RESTING) / (_FULLY - RESTING), 1.0) * max(of_height - plain, 0.0)


@compiled
def is_near(core: Core, x: float) -> bool:
    """Whether a value is at rest, and no departure."""
    return abs(x - core.values.level) <= max(_NEAR_SCALE * core.gross_scale, _NEAR_HEIGHT * core.height)


@compiled
def departs(core: Core, x: float) -> bool:
    """Whether the series rests as a rule, and not at this value."""
    return core.rest > RESTING and not is_near(core, x)


@compiled
def keep_thresholds(tails: Tails) -> None:
    """Where departures are rarer than what lies beyond a threshold, that would fall to the rest, and what is beyond it
    be mostly rest: the tails of departures are those of departures alone.
    """
    for expert in (LEVEL_UP, LEVEL_DOWN, JUMP_UP, JUMP_DOWN):
        tails.threshold[expert] = max(tails.threshold[expert], _THRESHOLD_MIN)


@compiled
def learn(core: Core, tails: Tails, x: float, rate: float, usual: bool) -> None:
    """usual: whether the value belongs to no event; heights of events are not those of usual departures, unless hardly
    any are known.

    Once enough departures are known, tails begin again: until then each was hundreds of standard deviations away.
    """
    near = is_near(core, x)
    core.rest += rate * ((1.0 if near else 0.0) - core.rest)
    if near or (not usual and core.departures >= _ENOUGH):
        return
    core.departures = min(core.departures + 1.0, _KEPT)
    core.height += (abs(x - core.values.level) - core.height) / core.departures
    if core.departures == _ENOUGH and core.rest > RESTING:
        for expert in (LEVEL_UP, LEVEL_DOWN, JUMP_UP, JUMP_DOWN):
            tail.begin_at(tails, expert, _BEGIN_THRESHOLD, _BEGIN_EXCESS, tail.PRIOR_EXCESSES)
