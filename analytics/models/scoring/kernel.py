"""The one pass over rows: score each against the state as it was before, then learn it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.models.pace import Pace
from analytics.models.scoring import frequency, learning, moment, pooled, way_back
from analytics.models.scoring import season as seasons
from analytics.models.scoring import tails as tail
from analytics.models.scoring.layout import (
    CORE,
    DAY_S,
    DRIFT_UP,
    EXCESS,
    EXPERTS,
    JUMP_UP,
    LEVEL_DOWN,
    LEVEL_UP,
    MINUTE_S,
    PHASE_DOWN,
    PHASE_UP,
    SEARCHING,
    USED,
    Core,
    Moment,
    Season,
    Tails,
    place_of,
)
from analytics.models.scoring.level import SIGMA_PER_SCALE
from analytics.models.scoring.phase import FLOOR_SHARE
from analytics.models.scoring.prefetch import prefetch
from analytics.models.scoring.rest import RESTING, is_near
from common.jit import compiled_unchecked as compiled

REASONS = ("", "level", "season", "shape", "drift", "silence", "phase", "not enough history", "frequency")
_NOTHING, _LEVEL, _SEASON, _SHAPE, _DRIFT, _SILENCE, _PHASE, _TOO_SHORT, _FREQUENCY = range(9)

# What ``make eval`` leaves out to see what it is good for, and the bit of each expert.
MUTE_LEVEL, MUTE_SHAPE, MUTE_DRIFT, MUTE_PHASE, MUTE_SILENCE, MUTE_SEASON, MUTE_FREQUENCY = (1 << i for i in range(7))
_MUTED_BY = (0, 0, 1, 1, 2, 2, 3, 3)

# Surprise at the alert level, the same for all series, chosen on the tuning seeds of ``make eval``.
ALERT_NATS = 9.6
# What each expert's surprise counts for: distances from the level alone are more often wrong than the others.
WEIGHTS = (0.8, 0.8, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
# More samples a day may not mean as many more alerts a day: nats for each e-fold of pace beyond the usual one, and less
# where there are fewer, down to those of an hour.
_PACE_NATS, _USUAL_STEP_S, _LONG_STEP_S = 0.4, 300.0, 3600.0
_COLD_START = 30.0  # values: at so many, twice the surprise is needed
_BEYOND = 1.5  # times what several events reached before: up to there a level or jump is not new
_HEIGHT_FROM_NATS = 5.0  # from which on the heights of earlier events are compared
_RUNS_MIN = 20.0
_LONG_SHARE = 0.35
_VALUE_MAX = 1e30  # what single precision can hold
_FAR, _NEAR = 8, 4  # rows ahead
_ANYWHERE = 63  # bytes more, as a record may begin anywhere in a line of memory
_DAY_AT, _WEEK_AT, _TRIAL_AT = place_of(USED, "day"), place_of(USED, "week"), place_of(SEARCHING, "trial")
# Of the tails without heights, which few values need.
_CORE_BYTES, _TAILS_BYTES = CORE.itemsize + _ANYWHERE, (3 * 4 + 2) * EXPERTS + _ANYWHERE


@compiled
def weight(core: Core, expert: int) -> float:
    """What the surprise of an expert counts for; of a series that rests, a departure's distance is its jump."""
    return 1.0 if core.rest > RESTING else WEIGHTS[expert]


@compiled
def most_surprised(
    core: Core, tails: Tails, statistics: NDArray[np.float64], at_rest: bool, muted: int
) -> tuple[int, float]:
    """The expert whose statistic is least likely, and its surprise in nats.

    at_rest: only that the value is at rest in a phase in which the series is not, is unusual.
    """
    best, most = 0, 0.0
    for expert in range(PHASE_UP if at_rest else 0, EXPERTS if core.phase.proved > 0.5 else PHASE_UP):
        if statistics[expert] <= tails.threshold[expert] or muted & 1 << _MUTED_BY[expert]:
            continue
        nats = weight(core, expert) * tail.surprise(tails, expert, statistics[expert])
        if nats > most and nats > _HEIGHT_FROM_NATS:
            beyond = _BEYOND if expert < DRIFT_UP else 1.0
            nats = min(nats, tail.known_height(tails, expert, statistics[expert], core.values.count, beyond))
        if nats > most:
            best, most = expert, nats
    return best, most


@compiled
def surprise_of_run(core: Core, x: float) -> float:
    """Surprise, in nats, about a value that is unchanged for longer than ever before."""
    if x != core.last or core.runs < _RUNS_MIN:
        return 0.0
    beyond = core.run + 1.0 - 1.5 * core.run_max
    # Among many short runs a long one predicts the next long one better than their mean does.
    usual = max(core.run_mean, _LONG_SHARE * core.run_max, 1.5)
    return tail.BASE + beyond / usual if beyond > 0.0 else 0.0


@compiled
def judge(
    core: Core, tails: Tails, statistics: NDArray[np.float64], x: float, proved: bool, muted: int
) -> tuple[float, int]:
    """Score and reason of one value."""
    at_rest = core.rest > RESTING and is_near(core, x)  # what a departure leaves behind is no event
    best, most = most_surprised(core, tails, statistics, at_rest, muted)
    reason = _SEASON if proved else _LEVEL
    if best >= PHASE_UP:
        reason = _PHASE
    elif best >= DRIFT_UP:
        reason = _DRIFT
    elif best >= JUMP_UP:
        reason = _SHAPE
    unchanged = 0.0 if muted & MUTE_SILENCE or at_rest else surprise_of_run(core, x)
    if unchanged > most:
        most, reason = unchanged, _SILENCE
    often = 0.0 if muted & MUTE_FREQUENCY or at_rest else frequency.surprise(core, x)
    if often > most:
        most, reason = often, _FREQUENCY
    if most == 0.0:
        return 0.0, _NOTHING
    pace = _USUAL_STEP_S / min(max(core.interval_s, 1.0), _LONG_STEP_S)
    # The tails of a kind stand for values of the series' own.
    history = max(core.values.count, tails.excesses[LEVEL_UP] / (EXCESS * tail.SHARE))
    level = (ALERT_NATS + _PACE_NATS * np.log(pace)) * (1.0 + _COLD_START / history)
    return most / level, reason


@compiled
def alert_limit(core: Core, tails: Tails, expert: int) -> float:
    """The statistic that would alert."""
    return tail.limit(tails, expert, ALERT_NATS / weight(core, expert))


@compiled
def band(core: Core, tails: Tails, now: Moment) -> tuple[float, float, float]:
    """The expected value, and the limits beyond which the distance from it would alert (of a period: if it lasted)."""
    if core.phase.proved > 0.5 and not np.isnan(now.period_low):
        sigma = SIGMA_PER_SCALE * max(core.phase.error, FLOOR_SHARE * now.floor)
        low = now.period_low - sigma * alert_limit(core, tails, PHASE_DOWN)
        high = now.period_high + sigma * alert_limit(core, tails, PHASE_UP)
        return 0.5 * (now.period_low + now.period_high), low, high
    expected, sigma = moment.expectation(core, now)
    low = expected - sigma * alert_limit(core, tails, LEVEL_DOWN)
    return expected, low, expected + sigma * alert_limit(core, tails, LEVEL_UP)


class Rows(NamedTuple):
    """What is scored, n rows. kinds: int64[n], rows of ``pools``, or empty when series have nothing in common."""

    sids: NDArray[np.int64]
    times_ns: NDArray[np.int64]
    values: NDArray[np.float64]
    kinds: NDArray[np.int64]


class SeriesArrays(NamedTuple):
    """The state of all series as records of ``layout``, zero for a new one: ``Core``[n], ``Tails``[n], and of one
    memory ``Used``[n] and ``Searching``[n]. weeks: ``Week``[n], part of the cores.

    pools: of all kinds, ``Pool``[kinds, EXPERTS]. moments: ``Moment``[1] to work in.
    """

    cores: NDArray[np.void]
    weeks: NDArray[np.void]
    tails: NDArray[np.void]
    used: NDArray[np.void]
    searching: NDArray[np.void]
    pools: NDArray[np.void]
    moments: NDArray[np.void]


class ScoreColumns(NamedTuple):
    """Outputs as in ``Scores``."""

    score: NDArray[np.float64]
    expected: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    reason: NDArray[np.uint8]


@compiled
def load_ahead(rows: Rows, state: SeriesArrays, i: int) -> None:
    """Loads what the rows after row ``i`` need. The bins of a season follow from a row's time and the width of its
    bins, so they are loaded when the rest of its state is there.
    """
    if i + _FAR < rows.sids.size:
        sid = rows.sids[i + _FAR]
        prefetch(state.cores, sid, 0, _CORE_BYTES)
        prefetch(state.tails, sid, 0, _TAILS_BYTES)
    if i + _NEAR < rows.sids.size:
        sid, time_s = rows.sids[i + _NEAR], rows.times_ns[i + _NEAR] * 1e-9
        core = state.cores[sid]
        if core.bin_minutes > 0.0:
            of_day_s = seasons.within(time_s, DAY_S)
            hour_of_week, hour_of_day = seasons.hours(time_s, of_day_s)
            at = int(of_day_s / (MINUTE_S * core.bin_minutes))
            prefetch(state.used, sid, 2 * hour_of_day, 1)
            if core.season_proved > 0.5:
                prefetch(state.used, sid, _DAY_AT + 2 * at, 1)
                prefetch(state.used, sid, _WEEK_AT + hour_of_week, 1)
            else:
                prefetch(state.used, sid, _TRIAL_AT + at, 1)


@compiled
def score_rows(rows: Rows, state: SeriesArrays, pace: Pace, muted: int, bands: bool, out: ScoreColumns) -> None:
    """muted: sum of ``MUTE_`` bits. bands: whether expected, lower and upper are wanted."""
    sids, times_ns, values, kinds = rows
    cores, weeks, tail_rows, used, searching, pools, moments = state
    score, expected, lower, upper, reason = out
    statistics, now = np.zeros(EXPERTS), moments[0]
    for i in range(sids.size):
        load_ahead(rows, state, i)
        score[i], reason[i] = 0.0, _NOTHING
        expected[i] = lower[i] = upper[i] = np.nan
        if not np.isfinite(values[i]):
            continue
        x, time_s = min(max(values[i], -_VALUE_MAX), _VALUE_MAX), times_ns[i] * 1e-9
        core, tails = cores[sids[i]], tail_rows[sids[i]]
        season = Season(used[sids[i]], searching[sids[i]], weeks[sids[i]])
        count = core.values.count
        if count == 0.0:
            learning.begin(core, tails, season, x, time_s)
            reason[i] = _TOO_SHORT
            continue
        moment.look(core, season, time_s, now)
        if muted & MUTE_SEASON:
            now.has_season = now.season_proved = 0.0
        moment.look_back(core, season.searching.slots, x, time_s, now)
        moment.measure(core, x, now, statistics)
        way_back.measure(core, x, now, statistics)
        ready = count >= pace.warmup
        if count == pace.warmup and kinds.size:
            pooled.begin_tails(pools[kinds[i]], tails)
        if ready:
            z = moment.nearer(now)
            statistics[LEVEL_UP], statistics[LEVEL_DOWN] = z, -z
            score[i], reason[i] = judge(core, tails, statistics, x, now.season_proved > 0.5, muted)
            if bands:
                expected[i], lower[i], upper[i] = band(core, tails, now)
        else:
            reason[i] = _TOO_SHORT
        if time_s <= core.time_s:
            continue
        if ready:
            statistics[LEVEL_UP], statistics[LEVEL_DOWN] = now.z, -now.z
            learning.learn_tails(core, tails, statistics, pace, score[i])
            if kinds.size and count >= pooled.OLD and count % pooled.EVERY == 0.0:
                pooled.learn(pools[kinds[i]], tails)
        learning.learn(core, tails, season, x, time_s, now, pace)
