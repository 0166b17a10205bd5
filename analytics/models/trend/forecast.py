"""From a history of medians to the days until a limit is reached, for many series in one compiled pass."""

import math

import numpy as np
from numpy.typing import NDArray

from analytics.models.trend.slope import Line, Z, robust_line
from common.jit import compiled

PER_DAY = 12  # medians in the history
POINTS_MAX = 36  # of a line; in longer histories each is the median of several
POINTS_MIN = 12
_DAILY_MIN = 4 * PER_DAY  # to know the swing by the time of day; before that it only makes intervals wider
_SAME_TIME_MIN = 2
_BENT, _STRAIGHT = 6.0, 2.5  # inflation of a line whose points are off to one side for long, and of one that fits
_RECENT_MIN = PER_DAY
DAYS_MAX = 365.0  # a limit further away has no forecast
_EVENTS_MIN = 4
VALUE, SLOPE_A_DAY, DAYS, DAYS_LOW, DAYS_HIGH, RECENT_DAYS, SPAN_DAYS = range(7)
COLUMNS = 7
FUTURE = (DAYS, DAYS_LOW, DAYS_HIGH, RECENT_DAYS)  # as of the end of the newest median

Floats = NDArray[np.float64]


@compiled
def forecasts(
    history: NDArray[np.float32], limits: Floats, daily: NDArray[np.bool_], stepwise: NDArray[np.bool_], span_min: int
) -> Floats:
    """float64[n, COLUMNS] of each series; DAYS is NaN where no trend towards the limit is proved.

    history: float32[n, m], ``PER_DAY`` medians a day, newest last, NaN where nothing is known.
    limits: float64[n], NaN for none. daily: bool[n], has a swing by the time of day. stepwise: bool[n], counts events.
    span_min: medians from the first known one to the last that a forecast needs.
    """
    found = np.full((history.shape[0], COLUMNS), np.nan)
    for row in range(history.shape[0]):
        if math.isnan(limits[row]):
            continue
        known = np.flatnonzero(~np.isnan(history[row]))
        if known.size < 2 or known[-1] - known[0] + 1 < span_min:
            continue
        values = history[row].astype(np.float64)
        if stepwise[row]:
            forecast_by_rate(values, known, limits[row], found[row])
        else:
            forecast_by_line(values, known, limits[row], daily[row], found[row])
    return found


@compiled
def forecast_by_line(values: Floats, known: NDArray[np.int64], limit: float, daily: bool, out: Floats) -> None:
    """By a line through the newest part of the history that has a slope of its own."""
    span = known[-1] - known[0] + 1
    if daily and span >= _DAILY_MIN:
        remove_daily_swing(values, known)
    times, points = part_medians(values, known[0], known[-1])
    if times.size < POINTS_MIN:
        return
    line = robust_line(times, points)
    recent, first, newest = line, True, span
    while newest >= 2 * _RECENT_MIN:
        newest //= 2
        times, points = part_medians(values, known[-1] - newest + 1, known[-1])
        if times.size < POINTS_MIN:
            break
        newer = robust_line(times, points)
        if has_changed(line, newer):
            line = newer
            recent = newer
        elif first:
            recent = newer
        first = False
    out[SPAN_DAYS] = span / PER_DAY
    out[VALUE] = line.level - line.slope * line.centre
    out[SLOPE_A_DAY] = line.slope
    sign = 1.0 if limit > out[VALUE] else -1.0
    low, high = (line.low, line.high) if sign > 0 else (-line.high, -line.low)
    distance = sign * (limit - line.level)
    days = distance / (sign * line.slope) + line.centre if line.slope * sign > 0 else np.inf
    if low <= 0.0 or not 0.0 <= days <= DAYS_MAX:
        return
    out[DAYS] = days
    out[DAYS_LOW] = max(0.0, (distance - line.error) / high + line.centre)
    out[DAYS_HIGH] = (distance + line.error) / low + line.centre
    pace = sign * recent.slope
    out[RECENT_DAYS] = sign * (limit - recent.level) / pace + recent.centre if pace > 0 else np.inf


@compiled
def has_changed(line: Line, newer: Line) -> bool:
    """Whether the newer part has a slope of its own: then the forecast follows it alone."""
    if newer.low > line.high or newer.high < line.low:
        return True
    # A history that flattens may never reach the limit, so only a steeper part counts.
    steeper = abs(newer.slope) > abs(line.slope)
    return bool(steeper and line.inflation >= _BENT and newer.inflation <= _STRAIGHT)


@compiled
def part_medians(values: Floats, first: int, last: int) -> tuple[Floats, Floats]:
    """Times in days before now (negative) and medians of equal parts of the history."""
    part = max(1, math.ceil((last - first + 1) / POINTS_MAX))
    times, points = np.empty(POINTS_MAX + 1), np.empty(POINTS_MAX + 1)
    n = 0
    for start in range(first, last + 1, part):
        inside = values[start : min(start + part, last + 1)]
        inside = inside[~np.isnan(inside)]
        if inside.size:
            times[n] = (start + 0.5 * part - values.size) / PER_DAY
            points[n] = np.median(inside)
            n += 1
    return times[:n], points[:n]


@compiled
def remove_daily_swing(values: Floats, known: NDArray[np.int64]) -> None:
    """Subtracts the median of each time of day, after the seasonal slope (Gilbert 1987)."""
    slopes = np.empty(known.size * (values.size // PER_DAY + 1))
    k = 0
    for i in known:
        for j in range(i + PER_DAY, values.size, PER_DAY):
            if not math.isnan(values[j]):
                slopes[k] = (values[j] - values[i]) / (j - i)
                k += 1
    slope = np.median(slopes[:k]) if k else 0.0
    flat = values - slope * np.arange(values.size)
    profile = np.zeros(PER_DAY)
    for time in range(PER_DAY):
        same = flat[time::PER_DAY]
        same = same[~np.isnan(same)]
        profile[time] = np.median(same) if same.size >= _SAME_TIME_MIN else np.nan
    profile -= np.nanmean(profile) if not np.isnan(profile).all() else 0.0
    for i in known:
        if not math.isnan(profile[i % PER_DAY]):
            values[i] -= profile[i % PER_DAY]


@compiled
def forecast_by_rate(values: Floats, known: NDArray[np.int64], limit: float, out: Floats) -> None:
    """Events as a Poisson process: rate with Byar's interval (Breslow and Day 1987, p. 69)."""
    days = (known[-1] - known[0] + 1) / PER_DAY
    events = values[known[-1]] - values[known[0]]
    out[SPAN_DAYS], out[VALUE], out[SLOPE_A_DAY] = days, values[known[-1]], events / days
    if events < _EVENTS_MIN:
        return
    low = events * (1.0 - 1.0 / (9.0 * events) - Z / (3.0 * math.sqrt(events))) ** 3
    more = events + 1.0
    high = more * (1.0 - 1.0 / (9.0 * more) + Z / (3.0 * math.sqrt(more))) ** 3
    distance = limit - out[VALUE]
    left = distance / out[SLOPE_A_DAY]
    if not 0.0 <= left <= DAYS_MAX:
        return
    out[DAYS] = left
    out[RECENT_DAYS] = left
    out[DAYS_LOW] = distance * days / high
    out[DAYS_HIGH] = distance * days / low if low > 0 else np.inf
