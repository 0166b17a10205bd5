"""What is expected at a moment, and how far a value is from it: one statistic for each expert."""

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring import level as levels
from analytics.models.scoring import phase as phases
from analytics.models.scoring import rest as rests
from analytics.models.scoring import season as seasons
from analytics.models.scoring.layout import (
    DAY_S,
    DRIFT_DOWN,
    DRIFT_UP,
    JUMP_DOWN,
    JUMP_UP,
    LEVEL_DOWN,
    LEVEL_UP,
    MINUTE_S,
    PHASE_DOWN,
    PHASE_UP,
    Core,
    Moment,
    Season,
)
from common.jit import compiled_unchecked as compiled

RESIDUAL_FLOOR = 0.3  # of the floor: a proved season leaves little
RESIDUALS_MIN = 20.0  # until their statistics count
# Means over some 6 and some 24 values, in standard deviations of such means of independent values.
_DRIFT_RATE, _DRIFT_SIGMA = 1.0 / 6.0, 0.30
_SLOW_RATE, _SLOW_SIGMA = 1.0 / 24.0, 0.146
_SLOW_OVER_FAST = 2.0
_STEP_BETTER = 0.95  # a random walk is predicted by its last value, noise by the mean of a few
_STEP_WALK = 0.3
_Z_MAX = 6.0  # in drift means
_FLOOR_SHARE, _FLOOR_MIN = 1e-3, 1e-30
_GROSS_SHARE = 0.3  # a series of mostly one value is measured by its exceptions
_WEEK_SEEN_DAYS, _WEEK_BETTER = 8.0, 0.85


@compiled
def look(core: Core, season: Season, time_s: float, now: Moment) -> None:
    """Fills in what the season predicts for a moment."""
    now.has_season = now.of_day = now.of_week = 0.0
    plain = _GROSS_SHARE * core.gross_scale
    now.floor = max(_FLOOR_SHARE * abs(core.values.level) + _FLOOR_MIN, rests.scale_of(core, plain))
    now.season_proved = 0.0
    if core.bin_minutes <= 0.0:
        return
    now.season_days = (time_s - core.season_from_s) / DAY_S
    of_day_s = seasons.within(time_s, DAY_S)
    first, second, weight = seasons.neighbours(of_day_s, MINUTE_S * core.bin_minutes, core.interval_s)
    now.first_bin, now.second_bin, now.second_weight = first, second, weight
    now.hour_of_week, now.hour_of_day = seasons.hours(time_s, of_day_s)
    day = (1.0 - weight) * seasons.read(core, season, first) + weight * seasons.read(core, season, second)
    if now.season_days < 1.0 or np.isnan(day):
        return
    now.has_season, now.of_day, now.season_proved = 1.0, day, core.season_proved
    if core.season_proved > 0.5 and season.week.week_error < _WEEK_BETTER * season.week.day_error:
        now.of_week = season.week.quantum * season.used.week[int(now.hour_of_week)]
    now.residual_scale = seasons.scale_of_hour(core, season, int(now.hour_of_day))


@compiled
def expectation(core: Core, now: Moment) -> tuple[float, float]:
    """The expected value, and the standard deviation from it."""
    if now.season_proved > 0.5:
        usual = core.anchor + now.of_day + now.of_week
        scale = max(now.residual_scale, RESIDUAL_FLOOR * now.floor)
        return usual + core.residuals.level, levels.SIGMA_PER_SCALE * scale
    return core.values.level, levels.SIGMA_PER_SCALE * max(core.values.scale, now.floor)


@compiled
def look_back(core: Core, slots: NDArray[np.int16], x: float, time_s: float, now: Moment) -> None:
    """Fills in what a period predicts; nothing where the season is used."""
    now.period_low, now.period_high, now.z_period = np.nan, np.nan, 0.0
    if now.season_proved < 0.5:
        now.period_low, now.period_high, now.z_period = phases.compare(core.phase, slots, x, time_s, now.floor)


@compiled
def drift_statistic(fast: float, slow: float) -> float:
    """The larger of two running means. The slow one lasts far longer than a drift, so it counts only up to twice the
    fast one.
    """
    return max(fast, min(slow, _SLOW_OVER_FAST * fast))


@compiled
def nearer(now: Moment) -> float:
    """The distance that is judged. A season of working days says nothing of the first weekend: until a week was seen, a
    value has to be unlike both the season and the plain level.
    """
    if now.season_days < _WEEK_SEEN_DAYS and abs(now.z_value) < abs(now.z):
        return now.z_value
    return now.z


@compiled
def measure(core: Core, x: float, now: Moment, statistics: NDArray[np.float64]) -> None:
    """The statistic of each expert, from the state before it learns this value."""
    floor, residuals = now.floor, core.residuals
    now.z_value = levels.distance(x - core.values.level, core.values.scale, floor)
    now.z_residual = 0.0
    error, scale, scale_min = x - core.values.fast, core.values.fast_scale, floor
    if core.step_scale < _STEP_BETTER * scale < _STEP_WALK * core.values.scale:
        error, scale = x - core.last, core.step_scale
    if now.has_season > 0.5:
        residual = now.residual = x - core.anchor - now.of_day - now.of_week
        now.z_residual = levels.distance(residual - residuals.level, now.residual_scale, RESIDUAL_FLOOR * floor)
        if residuals.count > RESIDUALS_MIN and residuals.fast_scale < scale:
            error, scale, scale_min = residual - residuals.fast, residuals.fast_scale, RESIDUAL_FLOOR * floor
        if residuals.count > RESIDUALS_MIN:
            scale *= now.residual_scale / max(residuals.scale, _FLOOR_MIN)
    jump = levels.distance(error, scale, scale_min)
    z = now.z = now.z_residual if now.season_proved > 0.5 else now.z_value
    bounded = min(max(nearer(now), -_Z_MAX), _Z_MAX)
    drift = now.next_drift = core.drift + _DRIFT_RATE * (bounded - core.drift)
    slow = now.next_drift_slow = core.drift_slow + _SLOW_RATE * (bounded - core.drift_slow)
    lasting = phases.lasting(core.phase, now.z_period)
    statistics[LEVEL_UP], statistics[LEVEL_DOWN] = z, -z
    statistics[JUMP_UP], statistics[JUMP_DOWN] = jump, -jump
    statistics[DRIFT_UP] = drift_statistic(drift / _DRIFT_SIGMA, slow / _SLOW_SIGMA)
    statistics[DRIFT_DOWN] = drift_statistic(-drift / _DRIFT_SIGMA, -slow / _SLOW_SIGMA)
    statistics[PHASE_UP], statistics[PHASE_DOWN] = lasting, -lasting
