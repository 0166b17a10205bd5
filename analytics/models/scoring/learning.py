"""What a series learns of a value once it has been scored."""

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring import level as levels
from analytics.models.scoring import phase as phases
from analytics.models.scoring import season as seasons
from analytics.models.scoring import tails as tail
from analytics.models.scoring.layout import (
    ANCHOR,
    BIN_S,
    BORN,
    BUSY,
    COUNT,
    DAY_ERROR,
    DRIFT,
    DRIFT_DOWN,
    DRIFT_SLOW,
    DRIFT_UP,
    EXPERTS,
    FAST,
    GROSS,
    HOUR_S,
    INTERVAL,
    LAST,
    LEVEL,
    LEVEL_DOWN,
    LEVEL_UP,
    PHASE_DOWN,
    PHASE_LAG,
    PHASE_SEEN,
    PHASE_UP,
    PROVED,
    QUANTUM,
    RUN,
    RUN_MAX,
    RUN_MEAN,
    RUNS,
    SPREAD,
    STREAK,
    TIME,
    UNKNOWN,
    WEEK_ERROR,
    WEEK_FROM,
    LearningPace,
    X,
    Y,
)
from analytics.models.scoring.moment import (
    BUSY_USUAL,
    DAYS,
    FIRST,
    FLOOR,
    HOUR,
    KNOWN,
    LEAST,
    MOST,
    NEXT_BUSY,
    NEXT_DRIFT,
    NEXT_SLOW,
    OF_DAY,
    OF_WEEK,
    PART,
    REST,
    REST_FLOOR,
    REST_SPREAD,
    SECOND,
    SPREAD_HOUR,
    Z_PHASE,
    Z_X,
    Z_Y,
)
from common.jit import compiled_unchecked as compiled

# Values in a row that teach the tails, and the weight of those after them, which are the same event: alerts, others.
_LESSONS, _DOUBT = 3.0, 0.1
_MORE_LESSONS, _LESS_DOUBT = 6.0, 0.25
_UNUSUAL = 0.85  # score from which on values are taken for an event
_EXCESS_LEAST = 0.15
_GROSS_CLIP = 40.0
_SEASON_CLIP, _SEASON_CLIP_MIN = 4.0, 40.0
_REST_MIN = 20.0
_PROVED_DAYS = 2.0
# Share of the spread about the plain level that a season must leave at most, until it is proved and from then on.
_PROVED_BELOW, _PROVED_UNTIL = 0.7, 0.85
_QUANTA = 2048.0  # of a spread, to begin with
_WEEK_TRIAL_DAYS = 8.0


@compiled
def begin_tail(tails: NDArray[np.float32], expert: int) -> None:
    """What is expected of series in general; conservative."""
    if expert < DRIFT_UP:
        tail.begin(tails, expert, 2.3, 0.55)
    else:
        tail.begin(tails, expert, 3.0, 0.9)


@compiled
def begin(core: NDArray[np.float64], tails: NDArray[np.float32], season: NDArray[np.int16], x: float) -> None:
    """A new series."""
    core[LEVEL] = core[FAST] = core[ANCHOR] = core[LAST] = x
    core[COUNT], core[BUSY], core[RUN] = 1.0, BUSY_USUAL, 1.0
    for expert in range(EXPERTS):
        begin_tail(tails, expert)
    season[:] = UNKNOWN
    season[WEEK_FROM:] = 0


@compiled
def learn_tails(
    core: NDArray[np.float64],
    tails: NDArray[np.float32],
    statistics: NDArray[np.float64],
    learning: LearningPace,
    score: float,
) -> None:
    """An event teaches its first values; more of the same would only make it normal, until it lasts for ``follow``."""
    core[STREAK] = core[STREAK] + 1.0 if score >= _UNUSUAL else 0.0
    lessons, doubt = (_LESSONS, _DOUBT) if score >= 1.0 else (_MORE_LESSONS, _LESS_DOUBT)
    weight = doubt if lessons < core[STREAK] < learning.follow else 1.0
    if core[PHASE_SEEN] == 1.0:
        begin_tail(tails, PHASE_UP)
        begin_tail(tails, PHASE_DOWN)
    experts = EXPERTS if core[PHASE_LAG] > 0.0 else PHASE_UP
    pace = tail.pace(core[COUNT] - learning.warmup)
    if not tail.any_beyond(tails, statistics, experts):
        tail.lower(tails, pace * weight, experts)
    else:
        for expert in range(experts):
            tail.learn(tails, expert, statistics[expert], pace, weight, _EXCESS_LEAST)
    for expert in range(experts):
        if statistics[expert] >= tail.RUNG_FIRST:
            tail.learn_height(tails, expert, statistics[expert], core[COUNT])


@compiled
def learn_run(core: NDArray[np.float64], x: float) -> None:
    """Lengths of runs of equal values: their mean, and the slowly forgotten longest."""
    if x == core[LAST]:
        core[RUN] += 1.0
        return
    core[RUNS] += 1.0
    core[RUN_MEAN] += (core[RUN] - core[RUN_MEAN]) / min(core[RUNS], 50.0)
    core[RUN_MAX] = max(0.999 * core[RUN_MAX], core[RUN])
    core[RUN], core[LAST] = 1.0, x


@compiled
def learn_moment(core: NDArray[np.float64], x: float, time_s: float, now: NDArray[np.float64], alpha: float) -> None:
    """The usual interval, how much there is of everything, and the running means of the experts."""
    count, span_s = core[COUNT], time_s - core[TIME]
    if count < 2.0:
        core[INTERVAL] = span_s
    else:
        core[INTERVAL] += min(max(span_s - core[INTERVAL], -0.5 * core[INTERVAL]), 0.5 * core[INTERVAL]) / min(
            count, 50.0
        )
    core[TIME] = time_s
    gross, wide = core[GROSS], abs(x - core[LEVEL])
    rate = max(0.5 * alpha, 1.0 / (count + 1.0))
    core[GROSS] += rate * ((min(wide, _GROSS_CLIP * gross) if gross > 0.0 else wide) - gross)
    core[DRIFT], core[DRIFT_SLOW], core[BUSY] = now[NEXT_DRIFT], now[NEXT_SLOW], now[NEXT_BUSY]
    learn_run(core, x)


@compiled
def learn_season(
    core: NDArray[np.float64],
    tails: NDArray[np.float32],
    season: NDArray[np.int16],
    x: float,
    now: NDArray[np.float64],
    pace: LearningPace,
) -> None:
    """The profiles of day and week, and what they leave; whether that is little enough for them to be believed."""
    share, days, off = core[INTERVAL] / core[BIN_S], now[DAYS], x - core[ANCHOR]
    error = off - now[OF_DAY] - now[OF_WEEK]
    if now[KNOWN] > 0.5:
        floor, hours = now[FLOOR], core[INTERVAL] / HOUR_S
        clip = _SEASON_CLIP * max(core[Y + SPREAD], floor) if core[Y + COUNT] > _SEASON_CLIP_MIN else abs(error)
        if days > _WEEK_TRIAL_DAYS:
            learn_whether_weekly(core, season, off - now[OF_DAY], int(now[HOUR]), 5.0 * clip)
        error = min(max(error, -clip), clip)
        seasons.learn_week(core, season, int(now[HOUR]), off - now[OF_DAY], (days - 1.0) / 7.0, hours)
        core[Y + COUNT] = max(core[Y + COUNT], 1.0)
        if core[Y + COUNT] > _REST_MIN:
            bounded = min(abs(now[REST] - core[Y + LEVEL]), 3.0 * max(now[REST_SPREAD], REST_FLOOR * floor))
            seasons.learn_spread(core, season, int(now[SPREAD_HOUR]), bounded, core[Y + SPREAD], days - 1.0, hours)
        levels.learn_fast(core, Y, now[REST], floor, pace.alpha)
        levels.learn_level(core, Y, now[REST], now[Z_Y], floor, pace)
        if days >= _PROVED_DAYS:
            prove(core, tails)
    places = (int(now[FIRST]), int(now[SECOND]), now[PART])
    seasons.learn_day(core, season, places, off - now[OF_WEEK], error, days, share)


@compiled
def learn_whether_weekly(
    core: NDArray[np.float64], season: NDArray[np.int16], rest: float, hour: int, most: float
) -> None:
    """Errors of the day alone and with the hour of the week."""
    rate = max(1.0 / (core[Y + COUNT] + 1.0), 1e-3)
    core[DAY_ERROR] += rate * (min(abs(rest), most) - core[DAY_ERROR])
    core[WEEK_ERROR] += rate * (min(abs(rest - seasons.read(core, season, hour)), most) - core[WEEK_ERROR])


@compiled
def prove(core: NDArray[np.float64], tails: NDArray[np.float32]) -> None:
    """A season is believed while it leaves clearly less than the plain level does."""
    share = _PROVED_UNTIL if core[PROVED] > 0.5 else _PROVED_BELOW
    proved = 1.0 if core[Y + SPREAD] < share * core[SPREAD] else 0.0
    if proved == core[PROVED]:
        return
    core[PROVED] = proved
    core[DRIFT] = core[DRIFT_SLOW] = 0.0
    for expert in (LEVEL_UP, LEVEL_DOWN, DRIFT_UP, DRIFT_DOWN):
        begin_tail(tails, expert)


@compiled
def learn(
    core: NDArray[np.float64],
    tails: NDArray[np.float32],
    season: NDArray[np.int16],
    x: float,
    time_s: float,
    now: NDArray[np.float64],
    pace: LearningPace,
) -> None:
    """Everything but the tails."""
    count = core[COUNT]
    levels.learn_step(core, x, now[FLOOR], pace.alpha)
    learn_moment(core, x, time_s, now, pace.alpha)
    if count == pace.warmup:
        core[BIN_S], core[BORN] = seasons.bin_seconds(core[INTERVAL]), time_s
        core[QUANTUM] = max(core[SPREAD], now[FLOOR]) / _QUANTA
    elif core[BIN_S] > 0.0:
        learn_season(core, tails, season, x, now, pace)
    if count >= pace.warmup and core[PROVED] < 0.5:
        phases.learn(core, season, x, time_s, 0.5 * (now[LEAST] + now[MOST]), now[Z_PHASE], now[FLOOR])
    levels.learn_fast(core, X, x, now[FLOOR], pace.alpha)
    levels.learn_level(core, X, x, now[Z_X], now[FLOOR], pace)
