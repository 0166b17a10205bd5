"""The profile of a day and of a week, learned in passing and interpolated between its bins."""

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring.layout import COUNT, DAY_S, HOUR_S, PHASE_FROM, QUANTUM, SPREAD_FROM, UNKNOWN, WEEK_FROM
from common.jit import compiled_unchecked as compiled

_DAYS_KEPT = 6.0
_WEEKS_KEPT = 4.0
_EPOCH_WEEKDAY = 4  # so that weeks begin on Sunday; any day would do
_QUANTA_MAX = 32000.0
_GOLDEN = 0.6180339887498949
_TENT_GAIN = 1.5  # interpolation spreads an error over two bins


@compiled
def within(time_s: float, period_s: float) -> float:
    """Seconds since the period began; several times quicker than ``%`` of floats, and exact for whole seconds."""
    return float(time_s - np.floor(time_s / period_s) * period_s)


@compiled
def bin_seconds(interval_s: float) -> float:
    """Width of a bin of the day: ten minutes, or what suits slower sampling; 0 where a day has too few samples."""
    if interval_s <= 0.0 or interval_s > 1.1 * HOUR_S:
        return 0.0
    if interval_s <= 660.0:
        return 600.0
    return 1800.0 if interval_s <= 1980.0 else HOUR_S


@compiled
def place(of_day_s: float, bin_s: float, interval_s: float) -> tuple[int, int, float]:
    """The two bins between which a moment of the day lies, and the weight of the second one."""
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
    """Columns of the season for the hour of the week, and for the spread at that hour of the day."""
    hour = int(of_day_s / HOUR_S)
    weekday = (int(np.floor(time_s / DAY_S)) + _EPOCH_WEEKDAY) % 7
    return WEEK_FROM + 24 * weekday + hour, SPREAD_FROM + hour


@compiled
def read(core: NDArray[np.float64], season: NDArray[np.int16], at: int) -> float:
    """What stands there; NaN while nothing does."""
    return core[QUANTUM] * season[at] if season[at] != UNKNOWN else np.nan


@compiled
def write(core: NDArray[np.float64], season: NDArray[np.int16], at: int, value: float) -> None:
    """Rounds up or down in turn, so that steps of less than a quantum add up."""
    while abs(value) > _QUANTA_MAX * core[QUANTUM]:
        core[QUANTUM] *= 2.0
        for i in range(PHASE_FROM):
            if season[i] != UNKNOWN:
                season[i] = season[i] // 2
    turn = _GOLDEN * core[COUNT]
    season[at] = int(np.floor(value / core[QUANTUM] + turn - np.floor(turn)))


@compiled
def learn_day(
    core: NDArray[np.float64],
    season: NDArray[np.int16],
    places: tuple[int, int, float],
    x: float,
    error: float,
    days: float,
    share: float,
) -> None:
    """places: as of ``place``. days: since learning began. share: of a bin's width that one sample covers."""
    first, second, part = places
    nearest = first if part < 0.5 else second
    if season[nearest] == UNKNOWN:
        write(core, season, nearest, x)
        return
    rate = max(1.0 / (days + 1.0), 1.0 / _DAYS_KEPT) * min(1.0, _TENT_GAIN * share)
    if season[first] != UNKNOWN:
        write(core, season, first, read(core, season, first) + rate * (1.0 - part) * error)
    if second != first and season[second] != UNKNOWN:
        write(core, season, second, read(core, season, second) + rate * part * error)


@compiled
def learn_week(
    core: NDArray[np.float64], season: NDArray[np.int16], hour: int, error: float, weeks: float, share: float
) -> None:
    """error: what the day alone leaves. share: of an hour that one sample covers."""
    rate = max(1.0 / (weeks + 1.0), 1.0 / _WEEKS_KEPT) * min(1.0, share)
    known = read(core, season, hour)
    write(core, season, hour, known + rate * (error - known))


@compiled
def spread_of_hour(core: NDArray[np.float64], season: NDArray[np.int16], hour: int, spread: float) -> float:
    """The spread at that hour, held to that of all hours."""
    own = read(core, season, hour)
    return np.sqrt(0.85 * own * own + 0.15 * spread * spread) if own > 0.0 else spread


@compiled
def learn_spread(
    core: NDArray[np.float64],
    season: NDArray[np.int16],
    hour: int,
    error: float,
    spread: float,
    days: float,
    share: float,
) -> None:
    """error: what the season leaves, bounded. share: of an hour that one sample covers."""
    known = read(core, season, hour)
    if known <= 0.0:
        known = spread
    rate = max(1.0 / (days + 1.0), 1.0 / _DAYS_KEPT) * min(1.0, share)
    write(core, season, hour, known + rate * (error - known))
