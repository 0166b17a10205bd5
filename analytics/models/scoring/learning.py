"""What a series learns from a value once it has been scored."""

import numpy as np
from numpy.typing import NDArray

from analytics.models.pace import Pace
from analytics.models.scoring import frequency as frequencies
from analytics.models.scoring import level as levels
from analytics.models.scoring import phase as phases
from analytics.models.scoring import rest as rests
from analytics.models.scoring import season as seasons
from analytics.models.scoring import tails as tail
from analytics.models.scoring.layout import (
    DAY_S,
    DRIFT_DOWN,
    DRIFT_UP,
    EXPERTS,
    HOUR_S,
    LEVEL_DOWN,
    LEVEL_UP,
    MINUTE_S,
    PHASE_DOWN,
    PHASE_UP,
    TRIAL_UNKNOWN,
    Core,
    Moment,
    Season,
    Tails,
)
from analytics.models.scoring.moment import RESIDUAL_FLOOR, RESIDUALS_MIN
from common.jit import compiled_unchecked as compiled

# Values of one event that the tails learn in full, and the weight of those after them: of alerts, of others.
_ALERT_VALUES, _ALERT_WEIGHT = 3.0, 0.1
_UNUSUAL_VALUES, _UNUSUAL_WEIGHT = 6.0, 0.25
_UNUSUAL = 0.8  # score from which on values are taken for an event
# What is reported is not history: the weight of values of events in the tails, once a series is known, as long as such
# values fill less than a share of those of late.
_REPORTED_WEIGHT, _REPORTED_SHARE, _REPORTED_KEPT = 0.02, 0.02, 5000.0
_KNOWN_VALUES, _KNOWN_S = 600.0, 5 * DAY_S  # whichever is over first
_EXCESS_MIN = 0.15
_GROSS_CLIP = 40.0
_SEASON_CLIP, _SEASON_CLIP_FROM = 4.0, 40.0
_BEGIN_DAYS, _PROVED_DAYS = 0.5, 2.0
# Largest share of the scale about the plain level that a season may leave, until it is proved and from then on.
_PROVED_BELOW, _PROVED_UNTIL = 0.7, 0.85
_QUANTA = 4096.0  # of a scale, to begin with
_RUNS_MAX = 255.0
_WEEK_LEARNED_DAYS = 6.0  # until its errors count: a week is learned from the third day on at the earliest


@compiled
def begin(core: Core, tails: Tails, season: Season, x: float, time_s: float) -> None:
    """The first value of a series, whose state is all zero."""
    core.values.level = core.values.fast = core.anchor = core.last = x
    core.values.count, core.run, core.time_s = 1.0, 1.0, time_s
    for expert in range(EXPERTS):
        tail.begin(tails, expert)
    season.searching.trial[:] = TRIAL_UNKNOWN


@compiled
def is_reported(core: Core, unusual: bool) -> bool:
    """Whether a value belongs to an event that is reported, and not to what is usual; counts it."""
    count = core.values.count
    known = count >= min(_KNOWN_VALUES, _KNOWN_S / max(core.interval_s, 1.0))
    rare = core.reported < _REPORTED_SHARE * min(count, _REPORTED_KEPT)
    core.reported += (1.0 if unusual else 0.0) - core.reported / _REPORTED_KEPT
    return unusual and known and rare


@compiled
def learn_tails(core: Core, tails: Tails, statistics: NDArray[np.float64], learning: Pace, score: float) -> None:
    """The tails learn little of an event: else it were normal before ``follow`` values, and the next one at once.

    While a series is not known, and where events are frequent, they learn the first values of each in full.
    """
    core.streak = core.streak + 1.0 if score >= _UNUSUAL else 0.0
    reported = is_reported(core, score >= _UNUSUAL)
    in_full, rest = (_ALERT_VALUES, _ALERT_WEIGHT) if score >= 1.0 else (_UNUSUAL_VALUES, _UNUSUAL_WEIGHT)
    weight = rest if in_full < core.streak < learning.follow else 1.0
    if reported and core.streak < learning.follow:
        weight = _REPORTED_WEIGHT
    if core.phase.judged == 1.0:
        tail.begin(tails, PHASE_UP)
        tail.begin(tails, PHASE_DOWN)
    experts = EXPERTS if core.phase.lag > 0.0 else PHASE_UP
    count = core.values.count
    pace = tail.pace(count - learning.warmup)
    if not tail.any_beyond(tails, statistics, experts):
        tail.lower(tails, pace * weight, experts)
    else:
        for expert in range(experts):
            tail.learn(tails, expert, statistics[expert], pace, weight, _EXCESS_MIN)
    if core.rest > rests.RESTING:
        rests.keep_thresholds(tails)
    for expert in range(experts):
        if statistics[expert] >= tail.RUNG_FIRST:
            tail.learn_height(tails, expert, statistics[expert], count)


@compiled
def learn_run(core: Core, x: float) -> None:
    """Lengths of runs of equal values: their mean, and the slowly forgotten longest."""
    if x == core.last:
        core.run += 1.0
        return
    core.runs = min(core.runs + 1.0, _RUNS_MAX)
    core.run_mean += (core.run - core.run_mean) / min(core.runs, 50.0)
    core.run_max = max(0.999 * core.run_max, core.run)
    core.run, core.last = 1.0, x


@compiled
def learn_moment(core: Core, tails: Tails, x: float, time_s: float, now: Moment, alpha: float) -> None:
    """The usual interval, the scale with all outliers, and the running means of the experts."""
    count, span_s = core.values.count, time_s - core.time_s
    if count < 2.0:
        core.interval_s = span_s
    else:
        half = 0.5 * core.interval_s
        core.interval_s += min(max(span_s - core.interval_s, -half), half) / min(count, 50.0)
    core.time_s = time_s
    gross, error = core.gross_scale, abs(x - core.values.level)
    rate = max(0.5 * alpha, 1.0 / (count + 1.0))
    core.gross_scale += rate * ((min(error, _GROSS_CLIP * gross) if gross > 0.0 else error) - gross)
    core.drift, core.drift_slow = now.next_drift, now.next_drift_slow
    frequencies.learn(core, x, count >= _KNOWN_VALUES)
    learn_run(core, x)
    rests.learn(core, tails, x, rate, core.streak == 0.0 or count < _KNOWN_VALUES)


@compiled
def learn_season(core: Core, tails: Tails, season: Season, x: float, now: Moment, pace: Pace) -> None:
    """The profiles of day and week, their residuals, and whether these are small enough for the season to be used."""
    days, off, proved = now.season_days, x - core.anchor, core.season_proved > 0.5
    between = (int(now.first_bin), int(now.second_bin), now.second_weight)
    error = off - now.of_day - now.of_week
    if now.has_season > 0.5:
        floor, residuals, of_hour = now.floor, core.residuals, core.interval_s / HOUR_S
        if residuals.count == 0.0:
            begin_residuals(core)
        clip = _SEASON_CLIP * max(residuals.scale, floor) if residuals.count > _SEASON_CLIP_FROM else abs(error)
        if proved:
            hour_of_week, of_day = int(now.hour_of_week), off - now.of_day
            if days > season.week.from_days + _WEEK_LEARNED_DAYS:
                learn_whether_weekly(core, season, of_day, hour_of_week, 5.0 * clip)
            seasons.learn_week(core, season, hour_of_week, of_day, (days - season.week.from_days) / 7.0, of_hour)
        error = min(max(error, -clip), clip)
        if residuals.count > RESIDUALS_MIN:
            error_max = 3.0 * max(now.residual_scale, RESIDUAL_FLOOR * floor)
            bounded = min(abs(now.residual - residuals.level), error_max)
            seasons.learn_scale(core, season, int(now.hour_of_day), bounded, days - 1.0, of_hour)
        levels.learn_fast(residuals, now.residual, floor, pace.alpha)
        levels.learn_level(residuals, now.residual, now.z_residual, floor, pace)
        if days >= _PROVED_DAYS and not period_is_better(core):
            prove(core, tails, season, days)
    else:
        error = off - seasons.of_day(core, season, between)
    share = core.interval_s / (MINUTE_S * core.bin_minutes)
    seasons.learn_day(core, season, between, x - core.anchor - now.of_week, error, days, share)


@compiled
def begin_residuals(core: Core) -> None:
    """What one day has taught is not known to be better than the plain level, so its residuals begin with those scales,
    which count for half a day: without, busy hours after quiet ones have heavy tails. A series that rests has no such
    hours, and its plain scale is that of departures.
    """
    residuals, count = core.residuals, 1.0
    if core.rest <= rests.RESTING:
        count = max(_BEGIN_DAYS * DAY_S / max(core.interval_s, 1.0), 1.0)
        residuals.scale, residuals.fast_scale = core.values.scale, core.values.fast_scale
    residuals.count = count


@compiled
def learn_whether_weekly(core: Core, season: Season, residual: float, hour: int, error_max: float) -> None:
    """Errors of the day alone and with the hour of the week."""
    rate = max(1.0 / (core.residuals.count + 1.0), 1e-3)
    week = season.week
    week.day_error += rate * (min(abs(residual), error_max) - week.day_error)
    with_week = abs(residual - week.quantum * season.used.week[hour])
    week.week_error += rate * (min(with_week, error_max) - week.week_error)


@compiled
def period_is_better(core: Core) -> bool:
    """Whether a period is used, and leaves less than the season."""
    return core.phase.proved > 0.5 and core.residuals.scale >= core.phase.error


@compiled
def prove(core: Core, tails: Tails, season: Season, days: float) -> None:
    """A season is used while its residuals are clearly smaller than the distances from the plain level, and not of a
    series that mostly rests: its departures come at any time.
    """
    share = _PROVED_UNTIL if core.season_proved > 0.5 else _PROVED_BELOW
    proved = 1.0 if core.residuals.scale < share * core.values.scale and core.rest <= rests.RESTING else 0.0
    if proved == core.season_proved:
        return
    if proved > 0.5:
        seasons.settle(core, season, days)
    else:
        seasons.unsettle(core, season)
    core.season_proved = proved
    core.drift = core.drift_slow = core.phase.slot_s = core.phase.lag = core.phase.proved = 0.0
    for expert in (LEVEL_UP, LEVEL_DOWN, DRIFT_UP, DRIFT_DOWN):
        tail.begin(tails, expert)


@compiled
def learn(core: Core, tails: Tails, season: Season, x: float, time_s: float, now: Moment, pace: Pace) -> None:
    """Everything but the tails."""
    count = core.values.count
    levels.learn_step(core, x, now.floor, pace.alpha)
    learn_moment(core, tails, x, time_s, now, pace.alpha)
    if count == pace.warmup:
        core.bin_minutes, core.season_from_s = seasons.bin_minutes(core.interval_s), time_s
        core.quantum = max(core.values.scale, now.floor) / _QUANTA
    elif core.bin_minutes > 0.0:
        learn_season(core, tails, season, x, now, pace)
    if count >= pace.warmup and core.season_proved < 0.5:
        forecast = 0.5 * (now.period_low + now.period_high)
        phases.learn(core, season.searching.slots, x, time_s, forecast, now.z_period, now.floor)
    levels.learn_fast(core.values, x, now.floor, pace.alpha)
    levels.learn_values(core, x, now.z_value, now.floor, rests.departs(core, x), pace)
