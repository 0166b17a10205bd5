"""The profile of a day and of a week, learned in passing and interpolated between its bins."""

import numpy as np
from numpy.typing import NDArray

from analytics.jit import compiled_unchecked as compiled
from analytics.scoring.layout import DAY_S, HOUR_S, SPREAD_FROM, WEEK_FROM, WEEK_S

_DAYS_KEPT = 6.0
_WEEKS_KEPT = 4.0
_EPOCH_WEEKDAY_S = 4 * DAY_S  # so that weeks begin on Sunday; any day would do
_TENT_GAIN = 1.5  # interpolation spreads an error over two bins


@compiled
def bin_seconds(interval_s: float) -> float:
    """Width of a bin of the day: ten minutes, or what suits slower sampling; 0 where a day has too few samples."""
    if interval_s <= 0.0 or interval_s > 1.1 * HOUR_S:
        return 0.0
    if interval_s <= 660.0:
        return 600.0
    return 1800.0 if interval_s <= 1980.0 else HOUR_S


@compiled
def place(time_s: float, bin_s: float, interval_s: float) -> tuple[int, int, float]:
    """The two bins between which a moment lies, and the weight of the second one."""
    bins = int(DAY_S / bin_s)
    at = (time_s % DAY_S) / bin_s
    if interval_s > 0.4 * bin_s:
        first = int(at)
        return min(first, bins - 1), min(first, bins - 1), 0.0
    at -= 0.5
    first = int(np.floor(at))
    return first % bins, (first + 1) % bins, at - first


@compiled
def hour_of_week(time_s: float) -> int:
    """Column of the season of a moment."""
    return WEEK_FROM + int(((time_s + _EPOCH_WEEKDAY_S) % WEEK_S) / HOUR_S)


@compiled
def learn_day(
    season: NDArray[np.float32], first: int, second: int, part: float, x: float, error: float, days: float, share: float
) -> None:
    """days: since learning began. share: of a bin's width that one sample covers."""
    nearest = first if part < 0.5 else second
    if np.isnan(season[nearest]):
        season[nearest] = x
        return
    rate = max(1.0 / (days + 1.0), 1.0 / _DAYS_KEPT) * min(1.0, _TENT_GAIN * share)
    season[first] += np.float32(rate * (1.0 - part) * error)
    if second != first:
        season[second] += np.float32(rate * part * error)


@compiled
def learn_week(season: NDArray[np.float32], hour: int, error: float, weeks: float, share: float) -> None:
    """error: what the day alone leaves. share: of an hour that one sample covers."""
    rate = max(1.0 / (weeks + 1.0), 1.0 / _WEEKS_KEPT) * min(1.0, share)
    season[hour] += np.float32(rate * (error - season[hour]))


@compiled
def hour_of_day(time_s: float) -> int:
    """Column of the season with the spread of that hour."""
    return SPREAD_FROM + int((time_s % DAY_S) / HOUR_S)


@compiled
def spread_of_hour(season: NDArray[np.float32], hour: int, spread: float) -> float:
    """The spread at that hour, held to that of all hours."""
    own = season[hour]
    return np.sqrt(0.85 * own * own + 0.15 * spread * spread) if own > 0.0 else spread


@compiled
def learn_spread(
    season: NDArray[np.float32], hour: int, error: float, spread: float, days: float, share: float
) -> None:
    """error: what the season leaves, bounded. share: of an hour that one sample covers."""
    if season[hour] <= 0.0:
        season[hour] = spread
    rate = max(1.0 / (days + 1.0), 1.0 / _DAYS_KEPT) * min(1.0, share)
    season[hour] += np.float32(rate * (error - season[hour]))
