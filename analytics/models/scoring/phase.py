"""Periods that nobody named: of a job's checkpoints, of a batch, of the week in daily data; and what stood one ago.

The last values are kept in slots of equal time. A period is sought among them by the mean absolute difference of
values that lie a lag apart, against the mean of that over all lags up to there (YIN, de Cheveigné and Kawahara 2002),
one lag with each new slot. What is found must then predict clearly better than a wrong lag does, on new values.
"""

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring.layout import (
    FAST_SPREAD,
    INTERVAL,
    PHASE_ANCHOR,
    PHASE_BEST,
    PHASE_BEST_LAG,
    PHASE_EVERY,
    PHASE_FIRST,
    PHASE_FROM,
    PHASE_LAG,
    PHASE_LEAST,
    PHASE_PROVED,
    PHASE_RIGHT,
    PHASE_RUN,
    PHASE_SEEN,
    PHASE_SLOT,
    PHASE_SUM,
    PHASE_TRIED,
    PHASE_UNIT,
    PHASE_WIDTH,
    PHASE_WRONG,
    SLOTS,
    SPREAD,
    STREAK,
)
from analytics.models.scoring.level import distance
from common.jit import compiled_unchecked as compiled

_QUANTA = 512.0  # of a spread
_QUANTUM_MAX = 32000.0
_LAG_MIN, _FILLED_MIN, _LAG_SHARE = 3, 48, 0.7
_EVERY_MAX = 8.0  # values a slot
_BETTER, _CANDIDATE = 0.6, 0.6
_TRIAL_PERIODS = 3.0
_TRIAL_MIN = 64.0  # values
# Share of a wrong lag's error that the right one must leave at most, until it is proved and from then on.
_PROVED_BELOW, _PROVED_UNTIL = 0.15, 0.25
_FEW = 3.0
_WRONG_LAG = 0.382
_LAG_WIDE = 8.0
_OFF = 2.0  # standard deviations from which on a value is off
_TURN = 0.06  # of a period
_WINDOW = 0.015  # of a period, by which it may come early or late
FLOOR_SHARE = 0.3
_HELD = 6.0  # standard deviations; what is further off is an event, and not what is expected next time


@compiled
def span(core: NDArray[np.float64], season: NDArray[np.int16], slot: int, lag: int) -> tuple[float, float]:
    """Least and greatest value about a lag ago, and about two when that is still known."""
    wide = max(int(_WINDOW * lag + 0.5), 1) if lag >= _LAG_WIDE else 0
    least, most = np.inf, -np.inf
    for times in range(1, 3):
        for i in range(slot - times * lag - wide, slot - times * lag + wide + 1):
            if slot - i < SLOTS and i >= core[PHASE_FIRST]:
                value = core[PHASE_ANCHOR] + core[PHASE_UNIT] * season[PHASE_FROM + i % SLOTS]
                least, most = min(least, value), max(most, value)
    return least, most


@compiled
def off(core: NDArray[np.float64], season: NDArray[np.int16], slot: int, lag: int, x: float) -> float:
    """Distance from that span; 0 where nothing is known."""
    least, most = span(core, season, slot, lag)
    return max(x - most, 0.0) - max(least - x, 0.0)


@compiled
def restart(core: NDArray[np.float64], x: float, time_s: float, every: float, floor: float) -> None:
    """Empties the slots. every: values a slot."""
    core[PHASE_EVERY], core[PHASE_WIDTH], core[PHASE_ANCHOR] = every, every * core[INTERVAL], x
    core[PHASE_UNIT] = max(core[SPREAD], floor) / _QUANTA
    core[PHASE_SLOT] = core[PHASE_FIRST] = np.floor(time_s / core[PHASE_WIDTH])
    seek_again(core)


@compiled
def seek_again(core: NDArray[np.float64]) -> None:
    """From the shortest lag on."""
    core[PHASE_LAG] = core[PHASE_PROVED] = core[PHASE_TRIED] = core[PHASE_SUM] = core[PHASE_BEST_LAG] = 0.0
    core[PHASE_BEST] = 1.0


@compiled
def seek_wider(core: NDArray[np.float64], x: float, time_s: float, floor: float) -> None:
    """Longer periods, in wider slots; once those are full."""
    if core[PHASE_SLOT] - core[PHASE_FIRST] < SLOTS - 1.0:
        seek_again(core)
    else:
        restart(core, x, time_s, core[PHASE_EVERY] * 2.0 if core[PHASE_EVERY] < _EVERY_MAX else 1.0, floor)


@compiled
def compare(
    core: NDArray[np.float64], season: NDArray[np.int16], x: float, time_s: float, floor: float
) -> tuple[float, float, float]:
    """Least and greatest value that a period predicts, and how many standard deviations this one is off.

    NaN and 0 where it predicts none.
    """
    if core[PHASE_LAG] == 0.0 or core[PHASE_SEEN] < _TRIAL_MIN / 2.0:
        return np.nan, np.nan, 0.0
    slot = int(time_s / core[PHASE_WIDTH])
    least, most = span(core, season, slot, int(core[PHASE_LAG]))
    if least > most:
        return np.nan, np.nan, 0.0
    error = max(x - most, 0.0) - max(least - x, 0.0)
    return least, most, distance(error, core[PHASE_RIGHT], FLOOR_SHARE * floor)


@compiled
def lasting(core: NDArray[np.float64], z: float) -> float:
    """By how much values have been off at least, for longer than an early or a late turn takes."""
    if core[PHASE_LAG] < _LAG_WIDE:
        return z
    run, least = next_run(core, z)
    enough = 1.0 + max(1.0, _TURN * core[PHASE_LAG] * core[PHASE_EVERY])
    return least if abs(run) >= enough else 0.0


@compiled
def next_run(core: NDArray[np.float64], z: float) -> tuple[float, float]:
    """Values in a row that are off to one side, and the least of their distances."""
    if abs(z) < _OFF:
        return 0.0, 0.0
    side = 1.0 if z > 0.0 else -1.0
    if core[PHASE_RUN] * side <= 0.0:
        return side, z
    return core[PHASE_RUN] + side, side * min(abs(z), abs(core[PHASE_LEAST]))


@compiled
def learn(
    core: NDArray[np.float64],
    season: NDArray[np.int16],
    x: float,
    time_s: float,
    forecast: float,
    z: float,
    floor: float,
) -> None:
    """forecast, z: as of ``compare``."""
    slot = np.floor(time_s / core[PHASE_WIDTH]) if core[PHASE_WIDTH] > 0.0 else 0.0
    if core[PHASE_WIDTH] <= 0.0 or slot - core[PHASE_SLOT] >= SLOTS:
        restart(core, x, time_s, 1.0, floor)
        slot = core[PHASE_SLOT]
    core[PHASE_RUN], core[PHASE_LEAST] = next_run(core, z)
    if core[PHASE_LAG] > 0.0 and not judge(core, season, int(slot), x):
        seek_wider(core, x, time_s, floor)
        slot = np.floor(time_s / core[PHASE_WIDTH])
    kept = x
    if core[PHASE_PROVED] > 0.5 and abs(z) > _HELD and core[STREAK] < core[PHASE_LAG] * core[PHASE_EVERY]:
        kept = forecast
    quanta = (kept - core[PHASE_ANCHOR]) / core[PHASE_UNIT]
    if abs(quanta) > _QUANTUM_MAX:
        restart(core, x, time_s, core[PHASE_EVERY], floor)
        return
    fresh = slot > core[PHASE_SLOT]
    for i in range(int(core[PHASE_SLOT]) + 1, int(slot)):
        season[PHASE_FROM + i % SLOTS] = season[PHASE_FROM + int(core[PHASE_SLOT]) % SLOTS]
    season[PHASE_FROM + int(slot) % SLOTS] = int(np.rint(quanta))
    core[PHASE_SLOT] = slot
    core[PHASE_FIRST] = max(core[PHASE_FIRST], slot - SLOTS + 1.0)
    if fresh and core[PHASE_LAG] == 0.0:
        seek(core, season, x, time_s, floor)


@compiled
def judge(core: NDArray[np.float64], season: NDArray[np.int16], slot: int, x: float) -> bool:
    """Whether the lag predicts better than a wrong one, or may yet do so."""
    lag = int(core[PHASE_LAG])
    rate = max(1.0 / (core[PHASE_SEEN] + 1.0), 1.0 / (3.0 * lag * core[PHASE_EVERY] + _TRIAL_MIN))
    core[PHASE_SEEN] += 1.0
    core[PHASE_RIGHT] += rate * (abs(off(core, season, slot, lag, x)) - core[PHASE_RIGHT])
    wrong = int(max(_WRONG_LAG * lag + 0.5, 1.0))
    core[PHASE_WRONG] += rate * (abs(off(core, season, slot, wrong, x)) - core[PHASE_WRONG])
    periods = core[PHASE_SEEN] / max(lag * core[PHASE_EVERY], _TRIAL_MIN / _TRIAL_PERIODS)
    share = _PROVED_UNTIL if core[PHASE_PROVED] > 0.5 else _PROVED_BELOW
    if lag < _LAG_WIDE:
        share *= _FEW  # a wrong lag is seldom wrong by much
    if core[PHASE_RIGHT] < min(share * core[PHASE_WRONG], core[FAST_SPREAD]):
        if periods >= _TRIAL_PERIODS:
            core[PHASE_PROVED] = 1.0
        return True
    hopeless = core[PHASE_RIGHT] > core[PHASE_WRONG] and periods >= 1.0
    return not hopeless and periods < _TRIAL_PERIODS


@compiled
def seek(core: NDArray[np.float64], season: NDArray[np.int16], x: float, time_s: float, floor: float) -> None:
    """One more lag; after the last one the best is taken on trial, or slots are made wider."""
    filled = int(core[PHASE_SLOT] - core[PHASE_FIRST]) + 1
    if filled < _FILLED_MIN:
        return
    lag = int(core[PHASE_TRIED]) + _LAG_MIN
    if lag <= _LAG_SHARE * filled:
        apart = difference(season, filled, int(core[PHASE_SLOT]) % SLOTS, lag)
        core[PHASE_TRIED] += 1.0
        core[PHASE_SUM] += apart
        share = apart * core[PHASE_TRIED] / max(core[PHASE_SUM], 1e-9)
        descending = lag == core[PHASE_BEST_LAG] + 1.0 and share < core[PHASE_BEST]
        if descending or share < _BETTER * core[PHASE_BEST]:
            core[PHASE_BEST], core[PHASE_BEST_LAG] = share, lag
        return
    at_the_end = core[PHASE_BEST_LAG] == core[PHASE_TRIED] + _LAG_MIN - 1.0
    found = core[PHASE_BEST_LAG] if core[PHASE_BEST] < _CANDIDATE and not at_the_end else 0.0
    if found == 0.0 and filled == SLOTS:
        seek_wider(core, x, time_s, floor)
        return
    seek_again(core)
    core[PHASE_LAG], core[PHASE_SEEN] = found, 0.0


@compiled
def difference(season: NDArray[np.int16], filled: int, newest: int, lag: int) -> float:
    """Mean absolute difference, in quanta, of slots ``lag`` apart. newest: place of the newest one."""
    total, a, b, left = 0, newest, (newest - lag) % SLOTS, filled - lag
    while left > 0:
        run = min(left, a + 1, b + 1)  # until one of them comes to the edge of the room
        of_a, of_b = season[PHASE_FROM + a + 1 - run :], season[PHASE_FROM + b + 1 - run :]
        for i in range(run):
            total += int(abs(np.int32(of_a[i]) - np.int32(of_b[i])))
        a, b, left = (a - run) % SLOTS, (b - run) % SLOTS, left - run
    return total / max(filled - lag, 1)
