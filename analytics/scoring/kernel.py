"""The one pass over rows: score each against the state as it was before, then learn it."""

import numpy as np
from numpy.typing import NDArray

from analytics.jit import compiled
from analytics.scoring import level as levels
from analytics.scoring import season as seasons
from analytics.scoring import tails as tail
from analytics.scoring.layout import (
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
    EXPERTS,
    FAST,
    FAST_SPREAD,
    GROSS,
    HOUR_S,
    INTERVAL,
    JUMP_DOWN,
    JUMP_UP,
    LAST,
    LEVEL,
    LEVEL_DOWN,
    LEVEL_UP,
    PROVED,
    RUN,
    RUN_MAX,
    RUN_MEAN,
    RUNS,
    SPREAD,
    STREAK,
    THRESHOLD,
    TIME,
    WEEK_ERROR,
    WEEK_FROM,
    Y,
)
from analytics.scoring.prefetch import prefetch

NOTHING, BY_LEVEL, BY_SEASON, BY_SHAPE, BY_DRIFT, BY_SPREAD, BY_SILENCE, TOO_SHORT = range(8)
ALERT_NATS = 8.8
_YOUNG = 30.0  # values: at so many, twice the surprise is needed
_DRIFT_RATE, _DRIFT_SIGMA = 1.0 / 6.0, 0.30
_SLOW_RATE, _SLOW_SIGMA = 1.0 / 24.0, 0.146
_BUSY_RATE, _BUSY_USUAL, _BUSY_SIGMA = 0.1, 0.8, 0.18
_FLOOR_SHARE = 1e-3
_AHEAD = 6
_BEYOND = 1.5  # times what several events reached before: so high is still nothing new
_WORTH_A_LOOK = 5.0
_GROSS_SHARE = 0.3
_LESSONS = 2.0
_RUNS_MIN = 20.0
_DOUBT = 0.1  # weight with which alerting values are learned


@compiled
def most_surprised(
    core: NDArray[np.float64], tails: NDArray[np.float32], statistics: NDArray[np.float64]
) -> tuple[int, float]:
    """The expert that finds its statistic least likely, and how much so in nats."""
    best, most = 0, 0.0
    for expert in range(EXPERTS):
        if statistics[expert] <= tails[expert, THRESHOLD]:
            continue
        nats = tail.surprise(tails[expert], statistics[expert])
        if nats > most and nats > _WORTH_A_LOOK:
            beyond = _BEYOND if expert < DRIFT_UP else 1.0
            nats = min(nats, tail.known_height(tails[expert], statistics[expert], core[COUNT], beyond))
        if nats > most:
            best, most = expert, nats
    return best, most


@compiled
def stillness(core: NDArray[np.float64], x: float) -> float:
    """Surprise about a value that stands still for longer than it ever did."""
    if x != core[LAST] or core[RUNS] < _RUNS_MIN:
        return 0.0
    beyond = core[RUN] + 1.0 - 1.5 * core[RUN_MAX]
    return tail.BASE + beyond / max(core[RUN_MEAN], 1.5) if beyond > 0.0 else 0.0


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
def begin_tail(tails: NDArray[np.float32], expert: int) -> None:
    """What is expected of series in general; conservative."""
    if expert < DRIFT_UP:
        tail.begin(tails[expert], 2.3, 0.55)
    else:
        tail.begin(tails[expert], 3.0, 0.9)


@compiled
def begin(core: NDArray[np.float64], tails: NDArray[np.float32], season: NDArray[np.float32], x: float) -> None:
    """A new series."""
    core[LEVEL] = core[FAST] = core[ANCHOR] = core[LAST] = x
    core[COUNT], core[BUSY], core[RUN], core[RUN_MEAN] = 1.0, _BUSY_USUAL, 1.0, 1.0
    for expert in range(EXPERTS):
        begin_tail(tails, expert)
    season[:] = np.nan
    season[WEEK_FROM:] = 0.0


@compiled
def score_rows(
    sids: NDArray[np.int64],
    times_ns: NDArray[np.int64],
    values: NDArray[np.float64],
    cores: NDArray[np.float64],
    tail_rows: NDArray[np.float32],
    season_rows: NDArray[np.float32],
    alpha: float,
    warmup: float,
    follow: float,
    score: NDArray[np.float64],
    expected: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    reason: NDArray[np.uint8],
) -> None:
    """sids: int64[n], rows of the state. Outputs are as in ``Scores``."""
    stats = np.zeros(EXPERTS)
    for i in range(sids.size):
        if i + _AHEAD < sids.size:
            prefetch(cores, sids[i + _AHEAD])
            prefetch(tail_rows, sids[i + _AHEAD])
        score[i], reason[i] = 0.0, NOTHING
        expected[i] = lower[i] = upper[i] = np.nan
        x = values[i]
        if not np.isfinite(x):
            continue
        x = min(max(x, -1e100), 1e100)
        core, tails, season = cores[sids[i]], tail_rows[sids[i]], season_rows[sids[i]]
        time_s = times_ns[i] * 1e-9
        count = core[COUNT]
        if count == 0.0:
            begin(core, tails, season, x)
            core[TIME] = core[BORN] = time_s
            reason[i] = TOO_SHORT
            continue
        span_s = time_s - core[TIME]
        fresh = span_s > 0.0

        # What the season says of this moment.
        first, second, part, hour, known = 0, 0, 0.0, 0, False
        day = week = 0.0
        days = (time_s - core[BORN]) / DAY_S
        if core[BIN_S] > 0.0:
            first, second, part = seasons.place(time_s, core[BIN_S], core[INTERVAL])
            hour = seasons.hour_of_week(time_s)
            day = (1.0 - part) * season[first] + part * season[second]
            known = days >= 1.0 and not np.isnan(day)
            if days >= 8.0 and core[WEEK_ERROR] < 0.85 * core[DAY_ERROR]:
                week = season[hour]
        usual = core[ANCHOR] + day + week
        y = x - usual if known else 0.0

        x_floor = max(_FLOOR_SHARE * abs(core[LEVEL]) + 1e-12, _GROSS_SHARE * core[GROSS])
        of_y = core[Y:]
        proved = known and core[PROVED] > 0.5
        z_x = levels.distance(x - core[LEVEL], core[SPREAD], x_floor)
        z_y, y_spread = 0.0, of_y[SPREAD]
        of_hour = 0
        if known:
            of_hour = seasons.hour_of_day(time_s)
            y_spread = seasons.spread_of_hour(season, of_hour, of_y[SPREAD])
            z_y = levels.distance(y - of_y[LEVEL], y_spread, 0.3 * x_floor)
        jump_y = known and of_y[COUNT] > 20.0 and of_y[FAST_SPREAD] < core[FAST_SPREAD]
        if jump_y:
            jump = levels.distance(
                y - of_y[FAST], of_y[FAST_SPREAD] * y_spread / max(of_y[SPREAD], 1e-12), 0.3 * x_floor
            )
        else:
            jump = levels.distance(x - core[FAST], core[FAST_SPREAD], x_floor)
        z = z_y if proved else z_x
        step = min(max(z, -6.0), 6.0)
        drift = core[DRIFT] + _DRIFT_RATE * (step - core[DRIFT])
        slow = core[DRIFT_SLOW] + _SLOW_RATE * (step - core[DRIFT_SLOW])
        busy = core[BUSY]
        if core[RUNS] > 0.0:
            busy += _BUSY_RATE * (min(abs(jump), 4.0) - busy)
        stats[LEVEL_UP], stats[LEVEL_DOWN] = z, -z
        stats[JUMP_UP], stats[JUMP_DOWN] = jump, -jump
        stats[DRIFT_UP] = max(drift / _DRIFT_SIGMA, slow / _SLOW_SIGMA)
        stats[DRIFT_DOWN] = max(-drift / _DRIFT_SIGMA, -slow / _SLOW_SIGMA)
        stats[BUSY_UP] = np.log(max(busy, 1e-3) / _BUSY_USUAL) / _BUSY_SIGMA
        stats[BUSY_DOWN] = -stats[BUSY_UP]

        alerting = False
        if count < warmup:
            reason[i] = TOO_SHORT
        else:
            best, most = most_surprised(core, tails, stats)
            still = stillness(core, x)
            kind = BY_SEASON if proved else BY_LEVEL
            if best >= BUSY_UP:
                kind = BY_SPREAD
            elif best >= DRIFT_UP:
                kind = BY_DRIFT
            elif best >= JUMP_UP:
                kind = BY_SHAPE
            if still > most:
                most, kind = still, BY_SILENCE
            s = most / (ALERT_NATS * (1.0 + _YOUNG / count))
            score[i] = s
            alerting = s >= 1.0
            if most > 0.0:
                reason[i] = kind
            base, sigma = core[LEVEL], levels.SIGMA_PER_SPREAD * max(core[SPREAD], x_floor)
            if proved:
                base, sigma = usual + of_y[LEVEL], levels.SIGMA_PER_SPREAD * max(y_spread, 0.3 * x_floor)
            expected[i] = base
            lower[i] = base - sigma * tail.limit(tails[LEVEL_DOWN], ALERT_NATS)
            upper[i] = base + sigma * tail.limit(tails[LEVEL_UP], ALERT_NATS)
        if not fresh:
            continue

        core[STREAK] = core[STREAK] + 1.0 if alerting else 0.0
        weight = _DOUBT if core[STREAK] > _LESSONS else 1.0
        if count >= warmup:
            for expert in range(EXPERTS):
                tail.learn(tails[expert], stats[expert], count - warmup, weight, 0.15)
                tail.learn_height(tails[expert], stats[expert], count)
        if count < 2.0:
            core[INTERVAL] = span_s
        else:
            core[INTERVAL] += min(max(span_s / core[INTERVAL] - 1.0, -0.5), 0.5) * core[INTERVAL] / min(count, 50.0)
        core[TIME] = time_s
        wide = abs(x - core[LEVEL])
        rate = max(0.5 * alpha, 1.0 / (count + 1.0))
        core[GROSS] += rate * (min(wide, 40.0 * core[GROSS]) - core[GROSS]) if core[GROSS] > 0.0 else rate * wide
        core[DRIFT], core[DRIFT_SLOW], core[BUSY] = drift, slow, busy
        learn_run(core, x)
        if count == warmup:
            core[BIN_S] = seasons.bin_seconds(core[INTERVAL])
            core[BORN] = time_s
        elif core[BIN_S] > 0.0:
            share = core[INTERVAL] / core[BIN_S]
            error = x - usual
            if known:
                clip = 4.0 * max(of_y[SPREAD], x_floor) if of_y[COUNT] > 40.0 else abs(error)
                plain = min(abs(x - core[ANCHOR] - day), 5.0 * clip)
                weekly = min(abs(x - core[ANCHOR] - day - season[hour]), 5.0 * clip)
                rate = max(1.0 / (of_y[COUNT] + 1.0), 1e-3)
                if days > 8.0:
                    core[DAY_ERROR] += rate * (plain - core[DAY_ERROR])
                    core[WEEK_ERROR] += rate * (weekly - core[WEEK_ERROR])
                error = min(max(error, -clip), clip)
                seasons.learn_week(season, hour, x - core[ANCHOR] - day, (days - 1.0) / 7.0, core[INTERVAL] / HOUR_S)
                if of_y[COUNT] == 0.0:
                    of_y[LEVEL], of_y[FAST], of_y[COUNT] = 0.0, 0.0, 1.0
                if of_y[COUNT] > 20.0:
                    bounded = min(abs(y - of_y[LEVEL]), 3.0 * max(y_spread, 0.3 * x_floor))
                    seasons.learn_spread(season, of_hour, bounded, of_y[SPREAD], days - 1.0, core[INTERVAL] / HOUR_S)
                levels.learn_fast(of_y, y, x_floor, alpha)
                levels.learn_level(of_y, y, z_y, x_floor, alpha, warmup, follow)
                if days >= 2.0:
                    limit = 0.7 if core[PROVED] < 0.5 else 0.85
                    now_proved = 1.0 if of_y[SPREAD] < limit * core[SPREAD] else 0.0
                    if now_proved != core[PROVED]:
                        core[PROVED] = now_proved
                        core[DRIFT] = core[DRIFT_SLOW] = 0.0
                        for expert in (LEVEL_UP, LEVEL_DOWN, DRIFT_UP, DRIFT_DOWN):
                            begin_tail(tails, expert)
            seasons.learn_day(season, first, second, part, x - core[ANCHOR] - week, error, days, share)
        levels.learn_fast(core, x, x_floor, alpha)
        levels.learn_level(core, x, z_x, x_floor, alpha, warmup, follow)
