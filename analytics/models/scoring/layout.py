"""The state of one scored series: three records, and how many bytes they take.

A record is declared once, as a class with its fields: see ``models/records.py``.
"""

import numpy as np
from numpy.typing import NDArray

from analytics.models.records import record_of


class Level:
    """A robust level with its scale, both slow, and a fast level beside them."""

    level: float
    scale: float  # mean absolute deviation from the level
    count: float  # values learned
    outliers: float  # anomalous values in a row
    outlier_level: float  # their running mean
    fast: float
    fast_scale: float  # mean absolute error of the fast level as a forecast


class Phase:
    """The search for a period among slots of equal time, and the period that was found."""

    values_per_slot: float
    slot_s: float
    anchor: float  # the value of 0 quanta
    quantum: float
    newest: float  # slot number
    oldest: float
    lag: float  # length of the period in slots, 0 while it is searched for
    proved: float  # 1 when the period is used
    error: float  # mean absolute error of a forecast by the period
    wrong_error: float  # … and by a wrong lag
    judged: float  # values that both were measured on
    lags_tried: float
    difference_sum: float
    best_share: float
    best_lag: float
    run: float  # values in a row that are off to one side, negative when below
    run_distance: float  # the smallest distance in that run


class Core:
    """All single numbers of a series. values: level of the values; residuals: of what the season leaves of them."""

    values: Level
    residuals: Level
    time_s: float  # of the newest value
    interval_s: float  # usual time between values
    drift: float  # fast running mean of the distance from the level
    last: float
    run: float  # equal values in a row
    run_mean: float
    run_max: float  # slowly forgotten
    anchor: float  # the value that the season is relative to
    season_from_s: float  # when the season began to be learned
    bin_s: float  # width of a bin of the day, 0 without a season
    season_proved: float  # 1 when the season is used
    day_error: float  # mean absolute error of the day alone
    week_error: float  # … and with the hour of the week
    gross_scale: float  # mean absolute deviation with all outliers
    drift_slow: float  # slow running mean of the distance from the level
    runs: float  # runs of equal values that have ended
    streak: float  # unusual scores in a row
    prior_level: float  # the level before an event
    prior_at: float  # count of values when a level was left last; negative where that before the event holds again
    prior_hits: float  # values in a row that are near it again
    reported: float  # values of late that alerted, or nearly
    quantum: float  # of the season's bins
    phase: Phase
    step_scale: float  # mean absolute step from value to value
    rest: float  # share of the values that are at rest: near the level
    departures: float  # values that were not
    height: float  # … and their mean distance from the level
    frequency: float  # evidence, in nats, that departures are more frequent than usual
    frequency_peak: float  # the most since there was none
    frequency_max: float  # … and before, slowly forgotten


class Tails:
    """float32[EXPERTS] each: the tail of each expert's statistic; ladder: float32[RUNGS, EXPERTS]."""

    threshold: NDArray[np.float32]
    excess: NDArray[np.float32]  # mean excess over the threshold
    square: NDArray[np.float32]  # mean square of the excess
    excesses: NDArray[np.float32]  # how many there were
    newest: NDArray[np.float32]  # count of values when the newest stretch of events began
    top: NDArray[np.float32]  # rungs that its events reached
    ladder: NDArray[np.float32]  # stretches whose events reached each of the heights


class Season:
    """bins: int16[336], in quanta of ``Core``: the profile of a day, by how much each hour of the week differs from it,
    and the scale of the residuals at each hour of the day. slots: int16[188], in quanta of ``Phase``, the last
    values; not used while a season is proved.
    """

    bins: NDArray[np.int16]
    slots: NDArray[np.int16]


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
    hour_of_week: float  # bins
    hour_of_day: float
    has_season: float  # 1 when the season predicts this moment
    season_proved: float
    of_day: float  # predicted by the day, relative to the anchor
    of_week: float  # what the hour of the week adds
    residual: float
    residual_scale: float  # at this hour
    z_value: float
    z_residual: float
    next_drift: float
    next_drift_slow: float
    period_low: float  # predicted by the period, NaN without one
    period_high: float
    z_period: float


# Two experts, up and down, for each statistic.
LEVEL_UP, LEVEL_DOWN, JUMP_UP, JUMP_DOWN, DRIFT_UP, DRIFT_DOWN, PHASE_UP, PHASE_DOWN = range(8)
EXPERTS = 8
RUNGS = 8

UNKNOWN = -32768  # of a bin
DAY_BINS, WEEK_BINS, SCALE_BINS = 144, 168, 24
WEEK_FROM, SCALE_FROM = DAY_BINS, DAY_BINS + WEEK_BINS
SLOTS = 188
DAY_S, HOUR_S = 86400.0, 3600.0


CORE = record_of(Core)
MOMENT = record_of(Moment)
POOL = record_of(Pool)
TAILS = np.dtype([(name, "f4", (RUNGS, EXPERTS) if name == "ladder" else EXPERTS) for name in Tails.__annotations__])
SEASON = np.dtype([("bins", "i2", DAY_BINS + WEEK_BINS + SCALE_BINS), ("slots", "i2", SLOTS)])
STATE_BYTES = CORE.itemsize + TAILS.itemsize + SEASON.itemsize
