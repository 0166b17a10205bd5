"""The one pass over rows: score each against the state as it was before, then learn it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring import learning, moment, pooled
from analytics.models.scoring import tails as tail
from analytics.models.scoring.layout import (
    BUSY_UP,
    COUNT,
    DRIFT_UP,
    EXPERTS,
    INTERVAL,
    JUMP_UP,
    LAST,
    LEVEL_DOWN,
    LEVEL_UP,
    PHASE_DOWN,
    PHASE_PROVED,
    PHASE_RIGHT,
    PHASE_UP,
    RUN,
    RUN_MAX,
    RUN_MEAN,
    RUNS,
    SEEN,
    THRESHOLD,
    TIME,
    LearningPace,
)
from analytics.models.scoring.level import SIGMA_PER_SPREAD
from analytics.models.scoring.phase import FLOOR_SHARE
from analytics.models.scoring.prefetch import prefetch
from common.jit import compiled_unchecked as compiled

REASONS = ("", "level", "season", "shape", "drift", "spread", "silence", "phase", "not enough history")
_NOTHING, _LEVEL, _SEASON, _SHAPE, _DRIFT, _SPREAD, _SILENCE, _PHASE, _TOO_SHORT = range(9)

# What ``make eval`` leaves out to see what it is good for; the bits of experts are those of their pairs in ``layout``.
MUTE_LEVEL, MUTE_SHAPE, MUTE_DRIFT, MUTE_SPREAD, MUTE_PHASE, MUTE_SILENCE, MUTE_SEASON = (1 << i for i in range(7))

# Surprise at the alert level, the same for all series, chosen on the tuning seeds of ``make eval``.
ALERT_NATS = 8.8
# More samples a day may not mean as many more alerts a day: nats for each e-fold of pace beyond the usual one.
_PACE_NATS, _USUAL_STEP_S = 0.4, 300.0
_YOUNG = 30.0  # values: at so many, twice the surprise is needed
_BEYOND = 1.5  # times what several events reached before: up to there a level or jump is nothing new
_WORTH_A_LOOK = 5.0  # nats from which on earlier events are asked
_RUNS_MIN = 20.0
_LONG_SHARE = 0.35
_VALUE_MAX = 1e30  # what single precision can hold
_AHEAD = 6  # rows


@compiled
def most_surprised(
    core: NDArray[np.float64], tails: NDArray[np.float32], statistics: NDArray[np.float64], muted: int
) -> tuple[int, float]:
    """The expert that finds its statistic least likely, and how much so in nats."""
    best, most = 0, 0.0
    for expert in range(EXPERTS if core[PHASE_PROVED] > 0.5 else PHASE_UP):
        if statistics[expert] <= tails[THRESHOLD, expert] or muted & 1 << (expert >> 1):
            continue
        nats = tail.surprise(tails, expert, statistics[expert])
        if nats > most and nats > _WORTH_A_LOOK:
            beyond = _BEYOND if expert < DRIFT_UP else 1.0
            nats = min(nats, tail.known_height(tails, expert, statistics[expert], core[COUNT], beyond))
        if nats > most:
            best, most = expert, nats
    return best, most


@compiled
def stillness(core: NDArray[np.float64], x: float) -> float:
    """Surprise about a value that stands still for longer than it ever did."""
    if x != core[LAST] or core[RUNS] < _RUNS_MIN:
        return 0.0
    beyond = core[RUN] + 1.0 - 1.5 * core[RUN_MAX]
    # Among many short runs a long one says more of the next long one than their mean does.
    usual = max(core[RUN_MEAN], _LONG_SHARE * core[RUN_MAX], 1.5)
    return tail.BASE + beyond / usual if beyond > 0.0 else 0.0


@compiled
def judge(
    core: NDArray[np.float64],
    tails: NDArray[np.float32],
    statistics: NDArray[np.float64],
    x: float,
    proved: bool,
    muted: int,
) -> tuple[float, int]:
    """Score and reason of one value."""
    best, most = most_surprised(core, tails, statistics, muted)
    reason = _SEASON if proved else _LEVEL
    if best >= PHASE_UP:
        reason = _PHASE
    elif best >= BUSY_UP:
        reason = _SPREAD
    elif best >= DRIFT_UP:
        reason = _DRIFT
    elif best >= JUMP_UP:
        reason = _SHAPE
    still = 0.0 if muted & MUTE_SILENCE else stillness(core, x)
    if still > most:
        most, reason = still, _SILENCE
    if most == 0.0:
        return 0.0, _NOTHING
    pace = _USUAL_STEP_S / min(max(core[INTERVAL], 1.0), _USUAL_STEP_S)
    history = max(core[COUNT], tails[SEEN, LEVEL_UP] / tail.SHARE)  # a kind's tails stand for values of its own
    level = (ALERT_NATS + _PACE_NATS * np.log(pace)) * (1.0 + _YOUNG / history)
    return most / level, reason


@compiled
def band(core: NDArray[np.float64], tails: NDArray[np.float32], now: NDArray[np.float64]) -> tuple[float, float, float]:
    """The expected value, and the limits beyond which the distance from it would alert (of a period: would it last)."""
    if core[PHASE_PROVED] > 0.5 and not np.isnan(now[moment.LEAST]):
        sigma = SIGMA_PER_SPREAD * max(core[PHASE_RIGHT], FLOOR_SHARE * now[moment.FLOOR])
        least = now[moment.LEAST] - sigma * tail.limit(tails, PHASE_DOWN, ALERT_NATS)
        most = now[moment.MOST] + sigma * tail.limit(tails, PHASE_UP, ALERT_NATS)
        return 0.5 * (now[moment.LEAST] + now[moment.MOST]), least, most
    middle, sigma = moment.expectation(core, now)
    least = middle - sigma * tail.limit(tails, LEVEL_DOWN, ALERT_NATS)
    return middle, least, middle + sigma * tail.limit(tails, LEVEL_UP, ALERT_NATS)


class Rows(NamedTuple):
    """What is scored, n rows. kinds: int64[n], rows of ``pools``, or empty when series have nothing in common."""

    sids: NDArray[np.int64]
    times_ns: NDArray[np.int64]
    values: NDArray[np.float64]
    kinds: NDArray[np.int64]


class SeriesArrays(NamedTuple):
    """The state of all series as in ``layout``, zero for a new one; pools: of all kinds, see ``pooled``."""

    cores: NDArray[np.float64]
    tails: NDArray[np.float32]
    seasons: NDArray[np.int16]
    pools: NDArray[np.float64]


class ScoreColumns(NamedTuple):
    """Outputs as in ``Scores``."""

    score: NDArray[np.float64]
    expected: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    reason: NDArray[np.uint8]


@compiled
def score_rows(rows: Rows, state: SeriesArrays, pace: LearningPace, muted: int, bands: bool, out: ScoreColumns) -> None:
    """muted: sum of ``MUTE_`` bits. bands: whether expected, lower and upper are wanted."""
    sids, times_ns, values, kinds = rows
    cores, tail_rows, season_rows, pools = state
    score, expected, lower, upper, reason = out
    statistics, now = np.zeros(EXPERTS), np.zeros(moment.NOW_WIDTH)
    for i in range(sids.size):
        if i + _AHEAD < sids.size:
            prefetch(cores, sids[i + _AHEAD])
            prefetch(tail_rows, sids[i + _AHEAD])
        score[i], reason[i] = 0.0, _NOTHING
        expected[i] = lower[i] = upper[i] = np.nan
        if not np.isfinite(values[i]):
            continue
        x, time_s = min(max(values[i], -_VALUE_MAX), _VALUE_MAX), times_ns[i] * 1e-9
        core, tails, season = cores[sids[i]], tail_rows[sids[i]], season_rows[sids[i]]
        if core[COUNT] == 0.0:
            learning.begin(core, tails, season, x)
            core[TIME], reason[i] = time_s, _TOO_SHORT
            continue
        moment.look(core, season, time_s, now)
        if muted & MUTE_SEASON:
            now[moment.KNOWN] = now[moment.IS_PROVED] = 0.0
        moment.look_back(core, season, x, time_s, now)
        moment.measure(core, x, now, statistics)
        ready = core[COUNT] >= pace.warmup
        if core[COUNT] == pace.warmup and kinds.size:
            pooled.begin_tails(pools[kinds[i]], tails)
        if ready:
            score[i], reason[i] = judge(core, tails, statistics, x, now[moment.IS_PROVED] > 0.5, muted)
            if bands:
                expected[i], lower[i], upper[i] = band(core, tails, now)
        else:
            reason[i] = _TOO_SHORT
        if time_s <= core[TIME]:
            continue
        if ready:
            learning.learn_tails(core, tails, statistics, pace, score[i])
            if kinds.size and core[COUNT] >= pooled.OLD and core[COUNT] % pooled.EVERY == 0.0:
                pooled.teach(pools[kinds[i]], tails)
        learning.learn(core, tails, season, x, time_s, now, pace)
