"""From a history of medians to the days that are left, for many series in one compiled pass."""

import math

import numpy as np
from numpy.typing import NDArray

from analytics.models.trend.slope import CENTRE, ERROR, HIGH, INFLATION, LEVEL, LOW, SLOPE, Z, robust_line
from common.jit import compiled

PER_DAY = 12  # medians in the history
POINTS_MAX = 36  # that a line goes through; in longer histories each is the median of several
POINTS_MIN = 12
_DAILY_MIN = 4 * PER_DAY  # to know what belongs to the time of day; before that it only makes intervals wider
_SAME_TIME_MIN = 2
_BENT, _STRAIGHT = 6.0, 2.5  # inflation of a line that its points leave for long, and of one that they do not
_RECENT_MIN = PER_DAY
DAYS_MAX = 365.0  # further away nothing is said
_STEPS_MIN = 4
VALUE, SLOPE_A_DAY, DAYS, DAYS_LOW, DAYS_HIGH, RECENT_DAYS, SPAN_DAYS = range(7)
COLUMNS = 7
FUTURE = (DAYS, DAYS_LOW, DAYS_HIGH, RECENT_DAYS)  # as of the end of the newest median

Floats = NDArray[np.float64]


@compiled
def forecasts(
    history: NDArray[np.float32], limits: Floats, daily: NDArray[np.bool_], stepwise: NDArray[np.bool_], least: int
) -> Floats:
    """float64[n, COLUMNS]: what is known of each series; DAYS is NaN without a proved way to the limit.

    history: float32[n, m], ``PER_DAY`` medians a day, newest last, NaN where nothing is known.
    limits: float64[n], NaN for none. daily: bool[n], has a swing by the time of day. stepwise: bool[n], counts events.
    least: medians from the first to the last that it takes.
    """
    found = np.full((history.shape[0], COLUMNS), np.nan)
    for row in range(history.shape[0]):
        if math.isnan(limits[row]):
            continue
        known = np.flatnonzero(~np.isnan(history[row]))
        if known.size < 2 or known[-1] - known[0] + 1 < least:
            continue
        values = history[row].astype(np.float64)
        if stepwise[row]:
            _by_rate(values, known, limits[row], found[row])
        else:
            _by_line(values, known, limits[row], daily[row], found[row])
    return found


@compiled
def _by_line(values: Floats, known: NDArray[np.int64], limit: float, daily: bool, out: Floats) -> None:
    if daily and known[-1] - known[0] + 1 >= _DAILY_MIN:
        _without_day(values, known)
    times, points = _points(values, known[0], known[-1])
    if times.size < POINTS_MIN:
        return
    whole = robust_line(times, points)
    line, recent, first = whole, whole, True
    newest = known[-1] - known[0] + 1
    while newest >= 2 * _RECENT_MIN:
        newest //= 2
        times, points = _points(values, known[-1] - newest + 1, known[-1])
        if times.size < POINTS_MIN:
            break
        newer = robust_line(times, points)
        if _has_changed(line, newer):
            line = newer
            recent = newer
        elif first:
            recent = newer
        first = False
    out[SPAN_DAYS] = (known[-1] - known[0] + 1) / PER_DAY
    out[VALUE] = line[LEVEL] - line[SLOPE] * line[CENTRE]
    out[SLOPE_A_DAY] = line[SLOPE]
    sign = 1.0 if limit > out[VALUE] else -1.0
    low, high = (line[LOW], line[HIGH]) if sign > 0 else (-line[HIGH], -line[LOW])
    room = sign * (limit - line[LEVEL])
    days = room / (sign * line[SLOPE]) + line[CENTRE] if line[SLOPE] * sign > 0 else np.inf
    if low <= 0.0 or not 0.0 <= days <= DAYS_MAX:
        return
    out[DAYS] = days
    out[DAYS_LOW] = max(0.0, (room - line[ERROR]) / high + line[CENTRE])
    out[DAYS_HIGH] = (room + line[ERROR]) / low + line[CENTRE]
    pace = sign * recent[SLOPE]
    out[RECENT_DAYS] = sign * (limit - recent[LEVEL]) / pace + recent[CENTRE] if pace > 0 else np.inf


@compiled
def _has_changed(line: Floats, newer: Floats) -> bool:
    """Whether the newer part has a slope of its own: then only it tells of the future."""
    if newer[LOW] > line[HIGH] or newer[HIGH] < line[LOW]:
        return True
    # What bends off may never get there.
    steeper = abs(newer[SLOPE]) > abs(line[SLOPE])
    return bool(steeper and line[INFLATION] >= _BENT and newer[INFLATION] <= _STRAIGHT)


@compiled
def _points(values: Floats, first: int, last: int) -> tuple[Floats, Floats]:
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
def _without_day(values: Floats, known: NDArray[np.int64]) -> None:
    """Takes away what belongs to the time of day: the median of each time, after the seasonal slope (Gilbert 1987)."""
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
def _by_rate(values: Floats, known: NDArray[np.int64], limit: float, out: Floats) -> None:
    """Events as a Poisson process: rate with Byar's interval (Breslow and Day 1987, p. 69)."""
    days = (known[-1] - known[0] + 1) / PER_DAY
    steps = values[known[-1]] - values[known[0]]
    out[SPAN_DAYS], out[VALUE], out[SLOPE_A_DAY] = days, values[known[-1]], steps / days
    if steps < _STEPS_MIN:
        return
    low = steps * (1.0 - 1.0 / (9.0 * steps) - Z / (3.0 * math.sqrt(steps))) ** 3
    more = steps + 1.0
    high = more * (1.0 - 1.0 / (9.0 * more) + Z / (3.0 * math.sqrt(more))) ** 3
    room = limit - out[VALUE]
    left = room / out[SLOPE_A_DAY]
    if not 0.0 <= left <= DAYS_MAX:
        return
    out[DAYS] = left
    out[RECENT_DAYS] = left
    out[DAYS_LOW] = room * days / high
    out[DAYS_HIGH] = room * days / low if low > 0 else np.inf
