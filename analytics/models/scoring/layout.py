"""The state of one scored series: three records, and how many bytes they take.

A record is declared once, as a class with its fields: see ``models/records.py``.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.models.records import Few, Many, Signed, Single, record_of


class Level:
    """A robust level with its scale, both slow, and a fast level beside them."""

    level: float
    scale: Single  # mean absolute deviation from the level
    count: float  # values learned
    outliers: Single  # anomalous values in a row
    outlier_level: float  # their running mean
    fast: float
    fast_scale: Single  # mean absolute error of the fast level as a forecast


class Residuals(Level):
    """The same of what a season leaves of the values: all are near 0, so single precision is enough."""

    level: Single
    scale: Single
    count: Single
    outliers: Single
    outlier_level: Single
    fast: Single
    fast_scale: Single


class Phase:
    """The search for a period among slots of equal time, and the period that was found."""

    values_per_slot: Few
    slot_s: Single
    anchor: float  # the value of 0 quanta
    quantum: Single
    newest: float  # slot number
    earlier: Few  # slots before the newest one that are known
    lag: Few  # length of the period in slots, 0 while it is searched for
    proved: Few  # 1 when the period is used
    error: Single  # mean absolute error of a forecast by the period
    wrong_error: Single  # … and by a wrong lag
    judged: Many  # values that both were measured on, as far as they are counted
    lags_tried: Few
    difference_sum: Single
    best_share: Single
    best_lag: Few
    run: Signed  # values in a row that are off to one side, negative when below, as far as they are counted
    run_distance: Single  # the smallest distance in that run


class Week:
    """Of a season that is used: how its week is learned."""

    quantum: Single
    from_days: Single  # since the season began: when the week began to be learned
    day_error: Single  # mean absolute error of the day alone
    week_error: Single  # … and with the hour of the week


class Core:
    """All single numbers of a series; in double precision are those which may be large beside their changes.

    values: level of the values. residuals: of what the season leaves of them.
    """

    values: Level
    residuals: Residuals
    time_s: float  # of the newest value
    interval_s: Single  # usual time between values
    drift: Single  # fast running mean of the distance from the level
    last: float
    run: Single  # equal values in a row
    run_mean: Single
    run_max: Single  # slowly forgotten
    anchor: float  # the value that the season is relative to
    season_from_s: float  # when the season began to be learned
    bin_minutes: Few  # width of a bin of the day, 0 without a season
    season_proved: Few  # 1 when the season is used
    gross_scale: Single  # mean absolute deviation with all outliers
    drift_slow: Single  # slow running mean of the distance from the level
    runs: Few  # runs of equal values that have ended, as far as they are counted
    streak: Single  # unusual scores in a row
    prior_level: float  # the level before an event
    prior_at: Single  # count of values when a level was left last; negative where that before the event holds again
    prior_hits: Few  # values in a row that are near it again
    reported: Single  # values of late that alerted, or nearly
    quantum: Single  # of the day's bins
    phase: Phase
    step_scale: Single  # mean absolute step from value to value
    rest: Single  # share of the values that are at rest: near the level
    departures: Few  # values that were not, as far as they are counted
    height: Single  # … and their mean distance from the level
    frequency: Single  # evidence, in nats, that departures are more frequent than usual
    frequency_peak: Single  # the most since there was none
    frequency_max: Single  # … and before, slowly forgotten


class Tails:
    """[EXPERTS] each: the tail of each expert's statistic; ladder: [RUNGS, EXPERTS]."""

    threshold: NDArray[np.float32]
    excess: NDArray[np.float32]  # mean excess over the threshold
    square: NDArray[np.float32]  # mean square of the excess
    excesses: NDArray[np.uint16]  # how many there were, times ``EXCESS``
    newest: NDArray[np.float32]  # count of values when the newest stretch of events began
    top: NDArray[np.uint8]  # rungs that its events reached
    ladder: NDArray[np.uint8]  # stretches whose events reached each of the heights, times ``STRETCH``


class Used:
    """A season that is used: int16[144] of its day and int16[24] of the scale of its residuals at each hour of that, in
    quanta of ``Core``; int8[168] of its week, by how much each hour differs from the day, in quanta of ``Week``.
    """

    scale: NDArray[np.int16]
    day: NDArray[np.int16]
    week: NDArray[np.int8]


class Searching:
    """A season on trial, and what is searched for a period: ``scale`` as above, int16[188] of the last values in quanta
    of ``Phase``, and int8[144] of the day in ``TRIAL_QUANTA`` of ``Core``.
    """

    scale: NDArray[np.int16]
    slots: NDArray[np.int16]
    trial: NDArray[np.int8]


class Season(NamedTuple):
    """One memory in two ways, of which one holds at a time. week: has the memory of numbers of ``Phase``, whose search
    begins again when a season is given up.
    """

    used: Used
    searching: Searching
    week: Week


class Pool:
    """What the series of a kind have learned of one expert: means of logarithms."""

    log_threshold: float
    log_excess: float
    log_breadth: float  # mean square of the excess over the square of its mean
    samples: float


class Moment:
    """What is computed of one value before it is learned; not kept."""

    floor: float  # smallest scale
    season_days: float  # since the season began to be learned
    first_bin: float  # of the two bins of the day, with the weight of the second
    second_bin: float
    second_weight: float
    hour_of_week: float
    hour_of_day: float
    has_season: float  # 1 when the season predicts this moment
    season_proved: float
    of_day: float  # predicted by the day, relative to the anchor
    of_week: float  # what the hour of the week adds
    residual: float
    residual_scale: float  # at this hour
    z_value: float
    z_residual: float
    z: float  # that of these two which counts
    next_drift: float
    next_drift_slow: float
    period_low: float  # predicted by the period, NaN without one
    period_high: float
    z_period: float


# Two experts, up and down, for each statistic.
LEVEL_UP, LEVEL_DOWN, JUMP_UP, JUMP_DOWN, DRIFT_UP, DRIFT_DOWN, PHASE_UP, PHASE_DOWN = range(8)
EXPERTS = 8
RUNGS = 8
STRETCH = 20.0  # of a ladder: one stretch; a byte holds twelve, and they are forgotten before
EXCESS = 500.0  # weights of values are multiples of 1/500

TRIAL_QUANTA = 64  # of a bin on trial
UNKNOWN, TRIAL_UNKNOWN = -32768, -128  # of a bin of the day
DAY_BINS, WEEK_BINS, SCALE_BINS = 144, 168, 24
SLOTS = 188
DAY_S, HOUR_S, MINUTE_S = 86400.0, 3600.0, 60.0


def place_of(layout: np.dtype[Any], name: str) -> int:
    """The first byte of a field."""
    assert layout.fields is not None
    return int(layout.fields[name][1])


CORE = record_of(Core)
MOMENT = record_of(Moment)
POOL = record_of(Pool)
TAILS = np.dtype(
    [
        *((name, "f4", EXPERTS) for name in ("threshold", "excess", "square")),
        ("excesses", "u2", EXPERTS),
        ("newest", "f4", EXPERTS),
        ("top", "u1", EXPERTS),
        ("ladder", "u1", (RUNGS, EXPERTS)),
    ]
)


def _sparse(fields: list[Any], size: int, first: int = 0) -> np.dtype[Any]:
    """A record of this size whose fields begin at a byte."""
    dense = np.dtype(fields)
    names = list(dense.names or ())
    places, kinds = [first + place_of(dense, name) for name in names], [dense[name] for name in names]
    return np.dtype({"names": names, "formats": kinds, "offsets": places, "itemsize": size})


_SCALE = ("scale", "i2", SCALE_BINS)
SEARCHING = np.dtype([_SCALE, ("slots", "i2", SLOTS), ("trial", "i1", DAY_BINS)])
# Its day does not overlap that on trial: one is copied to the other.
USED = _sparse([_SCALE, ("day", "i2", DAY_BINS), ("week", "i1", WEEK_BINS)], SEARCHING.itemsize)
# From the anchor of the phase on.
WEEK = _sparse(record_of(Week).descr, CORE.itemsize, place_of(CORE, "phase") + place_of(CORE["phase"], "anchor"))
STATE_BYTES = CORE.itemsize + TAILS.itemsize + SEARCHING.itemsize
