"""What is expected of a moment, and how far the value at it is from that: eight statistics, one for each expert."""

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring import level as levels
from analytics.models.scoring import phase as phases
from analytics.models.scoring import season as seasons
from analytics.models.scoring.layout import (
    ANCHOR,
    BIN_S,
    BORN,
    BUSY,
    BUSY_DOWN,
    BUSY_UP,
    COUNT,
    DAY_ERROR,
    DAY_S,
    DRIFT,
    DRIFT_DOWN,
    DRIFT_SLOW,
    DRIFT_UP,
    FAST,
    FAST_SPREAD,
    GROSS,
    INTERVAL,
    JUMP_DOWN,
    JUMP_UP,
    LAST,
    LEVEL,
    LEVEL_DOWN,
    LEVEL_UP,
    PHASE_DOWN,
    PHASE_UP,
    PROVED,
    RUNS,
    SPREAD,
    STEP_SPREAD,
    WEEK_ERROR,
    Y,
)
from common.jit import compiled_unchecked as compiled

# What is worked out of one row, float64[NOW_WIDTH].
(
    FIRST,  # the two bins of the day and the weight of the second
    SECOND,
    PART,
    HOUR,  # of the week, of the day
    SPREAD_HOUR,
    DAYS,  # since the season began to be learned
    KNOWN,  # whether the season says something of this moment; what it says, as of the day and of the week
    OF_DAY,
    OF_WEEK,
    REST,  # what the season leaves of the value, and the spread of that at this hour
    REST_SPREAD,
    FLOOR,  # least spread
    IS_PROVED,
    Z_X,
    Z_Y,
    NEXT_DRIFT,
    NEXT_SLOW,
    NEXT_BUSY,
    LEAST,  # that a period predicts, and the greatest; how far off the value is
    MOST,
    Z_PHASE,
) = range(21)
NOW_WIDTH = 21

REST_FLOOR = 0.3  # of the floor: a proved season leaves little
BUSY_USUAL = 0.8  # mean of |z| of a normal distribution
_BUSY_RATE, _BUSY_SIGMA = 0.1, 0.18
# Means over some 6 and some 24 values, in standard deviations of such means of independent values.
_DRIFT_RATE, _DRIFT_SIGMA = 1.0 / 6.0, 0.30
_SLOW_RATE, _SLOW_SIGMA = 1.0 / 24.0, 0.146
_BORNE_OUT = 2.0
_STEP_BETTER = 0.95  # a walk is predicted by its last value, noise by the mean of a few
_STEP_WALK = 0.3
_STEP_MAX = 6.0
_FLOOR_SHARE, _FLOOR_LEAST = 1e-3, 1e-30
_GROSS_SHARE = 0.3  # a series of mostly one value is measured by its exceptions
_WEEK_FROM_DAYS, _WEEK_BETTER = 8.0, 0.85
_REST_MIN = 20.0  # values of which the season was taken


@compiled
def look(core: NDArray[np.float64], season: NDArray[np.int16], time_s: float, now: NDArray[np.float64]) -> None:
    """What the season says of a moment."""
    now[KNOWN] = now[OF_DAY] = now[OF_WEEK] = 0.0
    now[FLOOR] = max(_FLOOR_SHARE * abs(core[LEVEL]) + _FLOOR_LEAST, _GROSS_SHARE * core[GROSS])
    now[IS_PROVED] = 0.0
    if core[BIN_S] <= 0.0:
        return
    now[DAYS] = (time_s - core[BORN]) / DAY_S
    of_day_s = seasons.within(time_s, DAY_S)
    first, second, part = seasons.place(of_day_s, core[BIN_S], core[INTERVAL])
    now[FIRST], now[SECOND], now[PART] = first, second, part
    now[HOUR], now[SPREAD_HOUR] = seasons.hours(time_s, of_day_s)
    day = (1.0 - part) * seasons.read(core, season, first) + part * seasons.read(core, season, second)
    if now[DAYS] < 1.0 or np.isnan(day):
        return
    now[KNOWN], now[OF_DAY], now[IS_PROVED] = 1.0, day, core[PROVED]
    if now[DAYS] >= _WEEK_FROM_DAYS and core[WEEK_ERROR] < _WEEK_BETTER * core[DAY_ERROR]:
        now[OF_WEEK] = seasons.read(core, season, int(now[HOUR]))
    now[REST_SPREAD] = seasons.spread_of_hour(core, season, int(now[SPREAD_HOUR]), core[Y + SPREAD])


@compiled
def expectation(core: NDArray[np.float64], now: NDArray[np.float64]) -> tuple[float, float]:
    """The expected value, and the standard deviation from it."""
    if now[IS_PROVED] > 0.5:
        usual = core[ANCHOR] + now[OF_DAY] + now[OF_WEEK]
        spread = max(now[REST_SPREAD], REST_FLOOR * now[FLOOR])
        return usual + core[Y + LEVEL], levels.SIGMA_PER_SPREAD * spread
    return core[LEVEL], levels.SIGMA_PER_SPREAD * max(core[SPREAD], now[FLOOR])


@compiled
def look_back(
    core: NDArray[np.float64], season: NDArray[np.int16], x: float, time_s: float, now: NDArray[np.float64]
) -> None:
    """What a period says of a value, unless the day says more."""
    now[LEAST], now[MOST], now[Z_PHASE] = np.nan, np.nan, 0.0
    if now[IS_PROVED] < 0.5:
        now[LEAST], now[MOST], now[Z_PHASE] = phases.compare(core, season, x, time_s, now[FLOOR])


@compiled
def drift_statistic(quick: float, slow: float) -> float:
    """The slow mean counts while the quick one bears it out: it outlasts what it tells of by far."""
    return max(quick, min(slow, _BORNE_OUT * quick))


@compiled
def measure(core: NDArray[np.float64], x: float, now: NDArray[np.float64], statistics: NDArray[np.float64]) -> None:
    """The statistic of each expert, from the state before it learns this value."""
    floor = now[FLOOR]
    now[Z_X] = levels.distance(x - core[LEVEL], core[SPREAD], floor)
    now[Z_Y] = 0.0
    error, quick, least = x - core[FAST], core[FAST_SPREAD], floor
    if core[STEP_SPREAD] < _STEP_BETTER * quick < _STEP_WALK * core[SPREAD]:
        error, quick = x - core[LAST], core[STEP_SPREAD]
    if now[KNOWN] > 0.5:
        rest = now[REST] = x - core[ANCHOR] - now[OF_DAY] - now[OF_WEEK]
        now[Z_Y] = levels.distance(rest - core[Y + LEVEL], now[REST_SPREAD], REST_FLOOR * floor)
        if core[Y + COUNT] > _REST_MIN and core[Y + FAST_SPREAD] < quick:
            error, quick, least = rest - core[Y + FAST], core[Y + FAST_SPREAD], REST_FLOOR * floor
        if core[Y + COUNT] > _REST_MIN:
            quick *= now[REST_SPREAD] / max(core[Y + SPREAD], _FLOOR_LEAST)
    jump = levels.distance(error, quick, least)
    z = now[Z_Y] if now[IS_PROVED] > 0.5 else now[Z_X]
    step = min(max(z, -_STEP_MAX), _STEP_MAX)
    drift = now[NEXT_DRIFT] = core[DRIFT] + _DRIFT_RATE * (step - core[DRIFT])
    slow = now[NEXT_SLOW] = core[DRIFT_SLOW] + _SLOW_RATE * (step - core[DRIFT_SLOW])
    busy = core[BUSY]
    if core[RUNS] > 0.0:
        busy += _BUSY_RATE * (min(abs(jump), 4.0) - busy)
    now[NEXT_BUSY] = busy
    statistics[LEVEL_UP], statistics[LEVEL_DOWN] = z, -z
    statistics[JUMP_UP], statistics[JUMP_DOWN] = jump, -jump
    statistics[DRIFT_UP] = drift_statistic(drift / _DRIFT_SIGMA, slow / _SLOW_SIGMA)
    statistics[DRIFT_DOWN] = drift_statistic(-drift / _DRIFT_SIGMA, -slow / _SLOW_SIGMA)
    statistics[BUSY_UP] = busier = (busy - BUSY_USUAL) / ((busy + BUSY_USUAL) * 0.5 * _BUSY_SIGMA)
    statistics[BUSY_DOWN] = -busier
    lasting = phases.lasting(core, now[Z_PHASE])
    statistics[PHASE_UP], statistics[PHASE_DOWN] = lasting, -lasting
