"""The profile of a day and of a week, learned as values come and interpolated between its bins."""

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring.layout import DAY_S, HOUR_S, SCALE_FROM, UNKNOWN, WEEK_FROM, Core
from common.jit import compiled_unchecked as compiled

_DAYS_KEPT = 6.0
_WEEKS_KEPT = 4.0
_EPOCH_WEEKDAY = 4  # so that weeks begin on Sunday; any day would do
_QUANTA_MAX = 32000.0
_GOLDEN = 0.6180339887498949
_TENT_GAIN = 1.5  # interpolation divides an error between two bins
_OWN, _ALL = 0.85, 0.15  # weights of the hour's own variance and of that of all hours

Bins = NDArray[np.int16]


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
    """Bins of the hour of the week, and of the scale at that hour of the day."""
    hour = int(of_day_s / HOUR_S)
    weekday = (int(np.floor(time_s / DAY_S)) + _EPOCH_WEEKDAY) % 7
    return WEEK_FROM + 24 * weekday + hour, SCALE_FROM + hour


@compiled
def read(core: Core, bins: Bins, at: int) -> float:
    """The value of a bin; NaN while it is unknown."""
    return core.quantum * bins[at] if bins[at] != UNKNOWN else np.nan


@compiled
def of_day(core: Core, bins: Bins, between: tuple[int, int, float]) -> float:
    """What the day predicts: the nearer bin alone while the other one is unknown, NaN while that is.

    between: as of ``neighbours``.
    """
    first, second, weight = between
    of_first, of_second = read(core, bins, first), read(core, bins, second)
    if np.isnan(of_first) or np.isnan(of_second):
        return of_first if weight < 0.5 else of_second
    return (1.0 - weight) * of_first + weight * of_second


@compiled
def write(core: Core, bins: Bins, at: int, value: float) -> None:
    """Sets a bin; rounds up or down in turn, so that steps of less than a quantum add up."""
    while abs(value) > _QUANTA_MAX * core.quantum:
        core.quantum *= 2.0
        for i in range(bins.size):
            if bins[i] != UNKNOWN:
                bins[i] = bins[i] // 2
    turn = _GOLDEN * core.values.count
    bins[at] = int(np.floor(value / core.quantum + turn - np.floor(turn)))


@compiled
def learn_day(
    core: Core, bins: Bins, between: tuple[int, int, float], x: float, error: float, days: float, share: float
) -> None:
    """between: as of ``neighbours``. days: since learning began. share: of a bin's width that one sample covers."""
    first, second, weight = between
    nearest = first if weight < 0.5 else second
    if bins[nearest] == UNKNOWN:
        write(core, bins, nearest, x)
        return
    rate = max(1.0 / (days + 1.0), 1.0 / _DAYS_KEPT) * min(1.0, _TENT_GAIN * share)
    if bins[first] != UNKNOWN:
        write(core, bins, first, read(core, bins, first) + rate * (1.0 - weight) * error)
    if second != first and bins[second] != UNKNOWN:
        write(core, bins, second, read(core, bins, second) + rate * weight * error)


@compiled
def learn_week(core: Core, bins: Bins, hour: int, error: float, weeks: float, share: float) -> None:
    """error: of the day alone. share: of an hour that one sample covers."""
    rate = max(1.0 / (weeks + 1.0), 1.0 / _WEEKS_KEPT) * min(1.0, share)
    known = read(core, bins, hour)
    write(core, bins, hour, known + rate * (error - known))


@compiled
def scale_of_hour(core: Core, bins: Bins, hour: int) -> float:
    """The scale of the residuals at that hour, shrunk towards that of all hours."""
    own, scale = read(core, bins, hour), core.residuals.scale
    return np.sqrt(_OWN * own * own + _ALL * scale * scale) if own > 0.0 else scale


@compiled
def learn_scale(core: Core, bins: Bins, hour: int, error: float, days: float, share: float) -> None:
    """error: absolute residual, bounded. share: of an hour that one sample covers."""
    known = read(core, bins, hour)
    if known <= 0.0:
        known = core.residuals.scale
    rate = max(1.0 / (days + 1.0), 1.0 / _DAYS_KEPT) * min(1.0, share)
    write(core, bins, hour, known + rate * (error - known))
