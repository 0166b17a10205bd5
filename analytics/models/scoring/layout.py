"""Where what is in the state of a series, how many bytes it takes, and how fast it learns."""

from typing import NamedTuple


class LearningPace(NamedTuple):
    """alpha: weight of the newest value in levels and spreads. warmup: values before the first score.
    follow: anomalous values in a row until they are the new normal.
    """

    alpha: float
    warmup: float
    follow: float


# float64: one robust level of the values (``X``) and one of what a proved season leaves of them (``Y``), same columns.
LEVEL, SPREAD, COUNT, AWAY, RECENT, FAST, FAST_SPREAD = range(7)
X, Y = 0, 7
TIME, INTERVAL, DRIFT, BUSY, LAST, RUN, RUN_MEAN, RUN_MAX, ANCHOR, BORN, BIN_S, PROVED, DAY_ERROR, WEEK_ERROR = range(
    14, 28
)
GROSS = 28  # mean absolute deviation with all the outliers in it
DRIFT_SLOW, RUNS, STREAK = 29, 30, 31
PRIOR, PRIOR_AT, BACK, KNOWS_PRIOR, QUANTUM = range(32, 37)
# A period that was found: values a slot, seconds a slot, value of 0 quanta and of one, newest and oldest slot.
PHASE_EVERY, PHASE_WIDTH, PHASE_ANCHOR, PHASE_UNIT, PHASE_SLOT, PHASE_FIRST = range(37, 43)
# Its length in slots, 0 while it is sought; whether it is believed, how far off it and a wrong one are, on how many.
PHASE_LAG, PHASE_PROVED, PHASE_RIGHT, PHASE_WRONG, PHASE_SEEN = range(43, 48)
PHASE_TRIED, PHASE_SUM, PHASE_BEST, PHASE_BEST_LAG = range(48, 52)
PHASE_RUN, PHASE_LEAST = 52, 53  # values in a row that are off to one side, below 0 downwards, and by how much at least
STEP_SPREAD = 54  # mean absolute step from value to value
CORE_WIDTH = 55

# float32, a row of all experts each: threshold of the tail, mean and mean square of the excess over it, their number.
LEVEL_UP, LEVEL_DOWN, JUMP_UP, JUMP_DOWN, DRIFT_UP, DRIFT_DOWN, BUSY_UP, BUSY_DOWN, PHASE_UP, PHASE_DOWN = range(10)
EXPERTS = 10
THRESHOLD, EXCESS, SQUARE, SEEN = range(4)
# How many events reached each of ``RUNGS`` heights, when the newest was, and how high it is so far.
NEWEST, TOP, LADDER = 4, 5, 6
RUNGS = 8
TAIL_WIDTH = LADDER + RUNGS

# int16, in quanta: the profile of a day, and by how much each hour of the week differs from it.
# Then the spread of what the season leaves in each hour of the day, and the last values, in quanta of their own.
UNKNOWN = -32768
DAY_BINS, WEEK_BINS, SPREAD_BINS = 144, 168, 24
WEEK_FROM = DAY_BINS
SPREAD_FROM = DAY_BINS + WEEK_BINS
PHASE_FROM, SLOTS = SPREAD_FROM + SPREAD_BINS, 188
SEASON_WIDTH = PHASE_FROM + SLOTS
DAY_S, HOUR_S = 86400.0, 3600.0

CORE_BYTES = 8 * CORE_WIDTH
TAILS_BYTES = 4 * EXPERTS * TAIL_WIDTH
SEASON_BYTES = 2 * SEASON_WIDTH
STATE_BYTES = CORE_BYTES + TAILS_BYTES + SEASON_BYTES
