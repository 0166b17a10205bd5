"""The profile of a day and of a week, learned as values come and interpolated between its bins.

Until it is proved, a day is on trial: its bins have a byte each, and the week is not learned.
"""

import numpy as np

from analytics.models.scoring.layout import (
    DAY_BINS,
    DAY_S,
    HOUR_S,
    SCALE_BINS,
    TRIAL_QUANTA,
    TRIAL_UNKNOWN,
    UNKNOWN,
    WEEK_BINS,
    Core,
    Season,
)
from common.jit import compiled_unchecked as compiled

_DAYS_KEPT = 6.0
_WEEKS_KEPT = 4.0
_EPOCH_WEEKDAY = 4  # so that weeks begin on Sunday; any day would do
_QUANTA_MAX, BYTE_MAX = 32000.0, 126.0
_USUAL_RANGE = 16.0  # of the scale with all outliers
_WEEK_QUANTA = 16.0  # of the scale of the residuals, to begin with
_GOLDEN = 0.6180339887498949
_TENT_GAIN = 1.5  # interpolation divides an error between two bins
_OWN, _ALL = 0.85, 0.15  # weights of the hour's own variance and of that of all hours


@compiled
def within(time_s: float, period_s: float) -> float:
    """Seconds since the period began; several times quicker than ``%`` of floats, and exact for whole seconds."""
    return float(time_s - np.floor(time_s / period_s) * period_s)


@compiled
def bin_minutes(interval_s: float) -> float:
    """Width of a bin of the day: ten minutes, or what suits slower sampling; 0 where a day has too few samples."""
    if interval_s <= 0.0 or interval_s > 1.1 * HOUR_S:
        return 0.0
    if interval_s <= 660.0:
        return 10.0
    return 30.0 if interval_s <= 1980.0 else 60.0


@compiled
def neighbours(of_day_s: float, bin_s: float, interval_s: float) -> tuple[int, int, float]:
    """The two bins between whose centres a moment of the day lies, and the weight of the second one.

    One bin, and 0, where a bin has hardly more than one sample.
    """
    bins = int(DAY_S / bin_s)
    at = of_day_s / bin_s
    if interval_s > 0.4 * bin_s:
        first = int(at)
        return min(first, bins - 1), min(first, bins - 1), 0.0
    at -= 0.5
    first = int(np.floor(at))
    return first if first >= 0 else bins - 1, first + 1 if first + 1 < bins else 0, at - first


@compiled
def hours(time_s: float, of_day_s: float) -> tuple[int, int]:
    """The hour of the week, and that of the day."""
    hour = int(of_day_s / HOUR_S)
    weekday = (int(np.floor(time_s / DAY_S)) + _EPOCH_WEEKDAY) % 7
    return 24 * weekday + hour, hour


@compiled
def read(core: Core, season: Season, at: int) -> float:
    """What a bin of the day holds; NaN while it is unknown."""
    if core.season_proved > 0.5:
        return core.quantum * season.used.day[at] if season.used.day[at] != UNKNOWN else np.nan
    return (
        TRIAL_QUANTA * core.quantum * season.searching.trial[at]
        if season.searching.trial[at] != TRIAL_UNKNOWN
        else np.nan
    )


@compiled
def of_day(core: Core, season: Season, between: tuple[int, int, float]) -> float:
    """What the day predicts: the nearer bin alone while the other one is unknown, NaN while that is.

    between: as of ``neighbours``.
    """
    first, second, weight = between
    of_first, of_second = read(core, season, first), read(core, season, second)
    if np.isnan(of_first) or np.isnan(of_second):
        return of_first if weight < 0.5 else of_second
    return (1.0 - weight) * of_first + weight * of_second


@compiled
def rounded(core: Core, quanta: float) -> int:
    """Up or down in turn, so that steps of less than a quantum add up."""
    turn = _GOLDEN * core.values.count
    return int(np.floor(quanta + turn - np.floor(turn)))


@compiled
def write(core: Core, season: Season, at: int, value: float) -> None:
    """Sets a bin of the day; what is beyond the range of a season on trial by far, only as far as that goes."""
    if core.season_proved > 0.5:
        while abs(value) > _QUANTA_MAX * core.quantum:
            coarsen(core, season)
        season.used.day[at] = rounded(core, value / core.quantum)
        return
    if abs(value) > BYTE_MAX * TRIAL_QUANTA * core.quantum:
        value -= make_room(core, season, value)
    quanta = min(max(value / (TRIAL_QUANTA * core.quantum), -BYTE_MAX), BYTE_MAX)
    season.searching.trial[at] = rounded(core, quanta)


@compiled
def coarsen(core: Core, season: Season) -> None:
    """Doubles the quantum of the day and of the scales."""
    core.quantum *= 2.0
    for i in range(SCALE_BINS):
        season.used.scale[i] = season.used.scale[i] // 2
    if core.season_proved > 0.5:
        for i in range(DAY_BINS):
            if season.used.day[i] != UNKNOWN:
                season.used.day[i] = season.used.day[i] // 2
    else:
        for i in range(DAY_BINS):
            if season.searching.trial[i] != TRIAL_UNKNOWN:
                season.searching.trial[i] = half(season.searching.trial[i])


@compiled
def half(byte: float) -> int:
    """Rounded to the nearest even number in doubt, as a bias would be a large part of it."""
    return int(np.rint(0.5 * byte))


@compiled
def make_room(core: Core, season: Season, value: float) -> float:
    """Moves the range of a day on trial towards a value beyond it, and widens it if need be: beyond what is usual only
    twice as wide, as a spike may not cost all bins their precision. By how much the anchor moved.
    """
    low, high = trial_range(season)
    at = value / (TRIAL_QUANTA * core.quantum)
    usual, wider = _USUAL_RANGE * core.gross_scale, True
    while wider and low <= high and max(high, at) - min(low, at) > 2.0 * BYTE_MAX:
        coarsen(core, season)
        low, high, at = half(low), half(high), 0.5 * at
        wider = 2.0 * BYTE_MAX * TRIAL_QUANTA * core.quantum < usual
    if low <= high:
        low, high = min(low, max(at, high - 2.0 * BYTE_MAX)), max(high, min(at, low + 2.0 * BYTE_MAX))
    else:
        low = high = at
    shift = np.rint(0.5 * (low + high))
    for i in range(DAY_BINS):
        if season.searching.trial[i] != TRIAL_UNKNOWN:
            season.searching.trial[i] -= int(shift)
    moved = float(shift * TRIAL_QUANTA * core.quantum)
    core.anchor += moved
    return moved


@compiled
def trial_range(season: Season) -> tuple[float, float]:
    """The smallest and the largest of the bins that are known; the other way round where none is."""
    low, high = 127.0, -127.0
    for i in range(DAY_BINS):
        if season.searching.trial[i] != TRIAL_UNKNOWN:
            low, high = min(low, season.searching.trial[i]), max(high, season.searching.trial[i])
    return low, high


@compiled
def settle(core: Core, season: Season, days: float) -> None:
    """A day on trial becomes one that is used, and its week begins to be learned. days: since the season began."""
    for i in range(DAY_BINS):
        known = season.searching.trial[i] != TRIAL_UNKNOWN
        season.used.day[i] = TRIAL_QUANTA * int(season.searching.trial[i]) if known else UNKNOWN
    season.used.week[:] = 0
    week = season.week
    week.quantum = max(core.residuals.scale / _WEEK_QUANTA, core.quantum)
    week.from_days, week.day_error, week.week_error = days, 0.0, 0.0


@compiled
def unsettle(core: Core, season: Season) -> None:
    """A day that was used is on trial again, within the range of a byte; its week is forgotten."""
    low, high = _QUANTA_MAX, -_QUANTA_MAX
    for i in range(DAY_BINS):
        if season.used.day[i] != UNKNOWN:
            low, high = min(low, season.used.day[i]), max(high, season.used.day[i])
    middle = 0.5 * (low + high) if low <= high else 0.0
    while high - middle > BYTE_MAX * TRIAL_QUANTA:
        coarsen(core, season)
        low, high, middle = 0.5 * low, 0.5 * high, 0.5 * middle
    for i in range(DAY_BINS):
        known = season.used.day[i] != UNKNOWN
        season.searching.trial[i] = (
            int(np.rint((season.used.day[i] - middle) / TRIAL_QUANTA)) if known else TRIAL_UNKNOWN
        )
    core.anchor += middle * core.quantum


@compiled
def learn_day(
    core: Core, season: Season, between: tuple[int, int, float], x: float, error: float, days: float, share: float
) -> None:
    """between: as of ``neighbours``. days: since learning began. share: of a bin's width that one sample covers."""
    first, second, weight = between
    nearest = first if weight < 0.5 else second
    if np.isnan(read(core, season, nearest)):
        write(core, season, nearest, x)
        return
    rate = max(1.0 / (days + 1.0), 1.0 / _DAYS_KEPT) * min(1.0, _TENT_GAIN * share)
    known = read(core, season, first)
    if not np.isnan(known):
        write(core, season, first, known + rate * (1.0 - weight) * error)
    known = read(core, season, second)
    if second != first and not np.isnan(known):
        write(core, season, second, known + rate * weight * error)


@compiled
def learn_week(core: Core, season: Season, hour: int, error: float, weeks: float, share: float) -> None:
    """error: of the day alone. weeks: since learning began. share: of an hour that one sample covers."""
    rate = max(1.0 / (weeks + 1.0), 1.0 / _WEEKS_KEPT) * min(1.0, share)
    week = season.week
    known = week.quantum * season.used.week[hour]
    value = known + rate * (error - known)
    if abs(value) > BYTE_MAX * week.quantum:
        week.quantum *= 2.0
        for i in range(WEEK_BINS):
            season.used.week[i] = half(season.used.week[i])
    quanta = min(max(value / week.quantum, -BYTE_MAX), BYTE_MAX)
    season.used.week[hour] = rounded(core, quanta)


@compiled
def scale_of_hour(core: Core, season: Season, hour: int) -> float:
    """The scale of the residuals at that hour, shrunk towards that of all hours."""
    own, scale = core.quantum * season.used.scale[hour], core.residuals.scale
    return np.sqrt(_OWN * own * own + _ALL * scale * scale) if own > 0.0 else scale


@compiled
def learn_scale(core: Core, season: Season, hour: int, error: float, days: float, share: float) -> None:
    """error: absolute residual, bounded. share: of an hour that one sample covers."""
    known = core.quantum * season.used.scale[hour]
    if known <= 0.0:
        known = core.residuals.scale
    rate = max(1.0 / (days + 1.0), 1.0 / _DAYS_KEPT) * min(1.0, share)
    value = known + rate * (error - known)
    while value > _QUANTA_MAX * core.quantum:
        coarsen(core, season)
    season.used.scale[hour] = rounded(core, value / core.quantum)
