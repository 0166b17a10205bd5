"""Periods that nobody named: of a job's checkpoints, of a batch, of the week in daily data.

The last values are kept in slots of equal time. A period is searched for among them by the mean absolute difference of
values a lag apart, over the mean of that for all lags up to there (YIN, de Cheveigné and Kawahara 2002), one lag with
each new slot. A period that was found must then predict new values clearly better than a wrong lag does.
"""

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring.layout import SLOTS, Core, Phase
from analytics.models.scoring.level import distance
from common.jit import compiled_unchecked as compiled

_QUANTA = 512.0  # of a scale
_QUANTUM_MAX = 32000.0
_LAG_MIN, _FILLED_MIN, _LAG_SHARE = 3, 48, 0.7
_PER_SLOT_MAX = 8.0  # values
_BETTER, _CANDIDATE = 0.6, 0.6
_TRIAL_PERIODS = 3.0
_TRIAL_MIN = 64.0  # values
# Largest share of a wrong lag's error that the right one may have, until it is proved and from then on.
_PROVED_BELOW, _PROVED_UNTIL = 0.15, 0.25
_SHORT_LAG_FACTOR = 3.0  # for short lags: a wrong one is seldom wrong by much
_WRONG_LAG = 0.382
_LAG_WIDE = 8.0
_OFF = 2.0  # standard deviations from which on a value is off
_TURN = 0.06  # of a period
_WINDOW = 0.015  # of a period, by which it may come early or late
FLOOR_SHARE = 0.3
_JUDGED_MAX, _RUN_MAX = 65535.0, 32767.0  # far beyond what any of the limits needs
_HELD = 6.0  # standard deviations; a value further off is an event, and not what is expected next time

Slots = NDArray[np.int16]


@compiled
def span(phase: Phase, slots: Slots, slot: int, lag: int) -> tuple[float, float]:
    """Smallest and largest value about one lag before a slot, and about two when that is still known.

    Infinities in the wrong order when neither is.
    """
    wide = max(int(_WINDOW * lag + 0.5), 1) if lag >= _LAG_WIDE else 0
    low, high, oldest = np.inf, -np.inf, phase.newest - phase.earlier
    for times in range(1, 3):
        for i in range(slot - times * lag - wide, slot - times * lag + wide + 1):
            if slot - i < SLOTS and i >= oldest:
                value = phase.anchor + phase.quantum * slots[i % SLOTS]
                low, high = min(low, value), max(high, value)
    return low, high


@compiled
def error_of(phase: Phase, slots: Slots, slot: int, lag: int, x: float) -> float:
    """How far a value is outside of that span, negative when below; 0 where nothing is known."""
    low, high = span(phase, slots, slot, lag)
    return max(x - high, 0.0) - max(low - x, 0.0)


@compiled
def restart(core: Core, x: float, time_s: float, values_per_slot: float, floor: float) -> None:
    """Empties the slots and searches again."""
    phase = core.phase
    phase.values_per_slot, phase.slot_s, phase.anchor = values_per_slot, values_per_slot * core.interval_s, x
    phase.quantum = max(core.values.scale, floor) / _QUANTA
    phase.newest, phase.earlier = np.floor(time_s / phase.slot_s), 0.0
    search_again(phase)


@compiled
def search_again(phase: Phase) -> None:
    """Searches from the shortest lag on."""
    phase.lag = phase.proved = phase.lags_tried = phase.difference_sum = phase.best_lag = 0.0
    phase.best_share = 1.0


@compiled
def search_wider(core: Core, x: float, time_s: float, floor: float) -> None:
    """Searches for longer periods in wider slots, once the slots are full; after the widest with narrow ones again."""
    phase = core.phase
    if phase.earlier < SLOTS - 1.0:
        search_again(phase)
    else:
        wider = phase.values_per_slot * 2.0 if phase.values_per_slot < _PER_SLOT_MAX else 1.0
        restart(core, x, time_s, wider, floor)


@compiled
def compare(phase: Phase, slots: Slots, x: float, time_s: float, floor: float) -> tuple[float, float, float]:
    """Smallest and largest value that the period predicts, and by how many standard deviations ``x`` is outside.

    NaN, NaN and 0 where it predicts none.
    """
    if phase.lag == 0.0 or phase.judged < _TRIAL_MIN / 2.0:
        return np.nan, np.nan, 0.0
    low, high = span(phase, slots, int(time_s / phase.slot_s), int(phase.lag))
    if low > high:
        return np.nan, np.nan, 0.0
    error = max(x - high, 0.0) - max(low - x, 0.0)
    return low, high, distance(error, phase.error, FLOOR_SHARE * floor)


@compiled
def lasting(phase: Phase, z: float) -> float:
    """The smallest distance of a run of values that are off for longer than an early or a late turn takes, else 0."""
    if phase.lag < _LAG_WIDE:
        return z
    run, run_distance = next_run(phase, z)
    enough = 1.0 + max(1.0, _TURN * phase.lag * phase.values_per_slot)
    return run_distance if abs(run) >= enough else 0.0


@compiled
def next_run(phase: Phase, z: float) -> tuple[float, float]:
    """Values in a row that are off to one side, with this one, and the smallest of their distances."""
    if abs(z) < _OFF:
        return 0.0, 0.0
    side = 1.0 if z > 0.0 else -1.0
    if phase.run * side <= 0.0:
        return side, z
    return min(max(phase.run + side, -_RUN_MAX), _RUN_MAX), side * min(abs(z), abs(phase.run_distance))


@compiled
def learn(core: Core, slots: Slots, x: float, time_s: float, forecast: float, z: float, floor: float) -> None:
    """Puts a value into its slot and goes on with the search or the trial. forecast, z: as of ``compare``."""
    phase = core.phase
    slot = np.floor(time_s / phase.slot_s) if phase.slot_s > 0.0 else 0.0
    if phase.slot_s <= 0.0 or slot - phase.newest >= SLOTS:
        restart(core, x, time_s, 1.0, floor)
        slot = phase.newest
    phase.run, phase.run_distance = next_run(phase, z)
    if phase.lag > 0.0 and not is_promising(core, slots, int(slot), x):
        search_wider(core, x, time_s, floor)
        slot = np.floor(time_s / phase.slot_s)
    kept = x
    if phase.proved > 0.5 and abs(z) > _HELD and core.streak < phase.lag * phase.values_per_slot:
        kept = forecast
    quanta = (kept - phase.anchor) / phase.quantum
    if abs(quanta) > _QUANTUM_MAX:
        restart(core, x, time_s, phase.values_per_slot, floor)
        return
    is_new = slot > phase.newest
    for i in range(int(phase.newest) + 1, int(slot)):
        slots[i % SLOTS] = slots[int(phase.newest) % SLOTS]
    slots[int(slot) % SLOTS] = int(np.rint(quanta))
    phase.earlier = min(phase.earlier + slot - phase.newest, SLOTS - 1.0)
    phase.newest = slot
    if is_new and phase.lag == 0.0:
        search(core, slots, x, time_s, floor)


@compiled
def is_promising(core: Core, slots: Slots, slot: int, x: float) -> bool:
    """Measures the lag and a wrong one on a new value: whether it predicts clearly better, or may yet do so."""
    phase = core.phase
    lag = int(phase.lag)
    rate = max(1.0 / (phase.judged + 1.0), 1.0 / (3.0 * lag * phase.values_per_slot + _TRIAL_MIN))
    phase.judged = min(phase.judged + 1.0, _JUDGED_MAX)
    phase.error += rate * (abs(error_of(phase, slots, slot, lag, x)) - phase.error)
    wrong = int(max(_WRONG_LAG * lag + 0.5, 1.0))
    phase.wrong_error += rate * (abs(error_of(phase, slots, slot, wrong, x)) - phase.wrong_error)
    periods = phase.judged / max(lag * phase.values_per_slot, _TRIAL_MIN / _TRIAL_PERIODS)
    share = _PROVED_UNTIL if phase.proved > 0.5 else _PROVED_BELOW
    if lag < _LAG_WIDE:
        share *= _SHORT_LAG_FACTOR
    if phase.error < min(share * phase.wrong_error, core.values.fast_scale):
        if periods >= _TRIAL_PERIODS:
            phase.proved = 1.0
        return True
    hopeless = phase.error > phase.wrong_error and periods >= 1.0
    return not hopeless and periods < _TRIAL_PERIODS


@compiled
def search(core: Core, slots: Slots, x: float, time_s: float, floor: float) -> None:
    """Tries one more lag; after the last one the best is taken on trial, or slots are made wider."""
    phase = core.phase
    filled = int(phase.earlier) + 1
    if filled < _FILLED_MIN:
        return
    lag = int(phase.lags_tried) + _LAG_MIN
    if lag <= _LAG_SHARE * filled:
        apart = difference(slots, filled, int(phase.newest) % SLOTS, lag)
        phase.lags_tried += 1.0
        phase.difference_sum += apart
        share = apart * phase.lags_tried / max(phase.difference_sum, 1e-9)
        descending = lag == phase.best_lag + 1.0 and share < phase.best_share
        if descending or share < _BETTER * phase.best_share:
            phase.best_share, phase.best_lag = share, lag
        return
    at_the_end = phase.best_lag == phase.lags_tried + _LAG_MIN - 1.0
    found = phase.best_lag if phase.best_share < _CANDIDATE and not at_the_end else 0.0
    if found == 0.0 and filled == SLOTS:
        search_wider(core, x, time_s, floor)
        return
    search_again(phase)
    phase.lag, phase.judged = found, 0.0


@compiled
def difference(slots: Slots, filled: int, newest: int, lag: int) -> float:
    """Mean absolute difference, in quanta, of slots ``lag`` apart. newest: index of the newest one."""
    total, a, b, left = 0, newest, (newest - lag) % SLOTS, filled - lag
    while left > 0:
        run = min(left, a + 1, b + 1)  # until one of them reaches the start of the ring
        of_a, of_b = slots[a + 1 - run :], slots[b + 1 - run :]
        for i in range(run):
            total += int(abs(np.int32(of_a[i]) - np.int32(of_b[i])))
        a, b, left = (a - run) % SLOTS, (b - run) % SLOTS, left - run
    return total / max(filled - lag, 1)
