"""Where what is in the state of a series, and how many bytes it takes."""

# float64: one robust level of the values (``X``) and one of what a proved season leaves of them (``Y``), same columns.
LEVEL, SPREAD, COUNT, AWAY, RECENT, FAST, FAST_SPREAD = range(7)
X, Y = 0, 7
TIME, INTERVAL, DRIFT, BUSY, LAST, RUN, RUN_MEAN, RUN_MAX, ANCHOR, BORN, BIN_S, PROVED, DAY_ERROR, WEEK_ERROR = range(
    14, 28
)
GROSS = 28  # mean absolute deviation with all the outliers in it
DRIFT_SLOW, RUNS, STREAK = 29, 30, 31
PRIOR, PRIOR_AT, BACK, KNOWS_PRIOR, QUANTUM = range(32, 37)
CORE_WIDTH = 40

# float32: for each expert the threshold of its tail, mean excess and mean squared excess over it, and their number.
LEVEL_UP, LEVEL_DOWN, JUMP_UP, JUMP_DOWN, DRIFT_UP, DRIFT_DOWN, BUSY_UP, BUSY_DOWN = range(8)
EXPERTS = 8
THRESHOLD, EXCESS, SQUARE, SEEN = range(4)
# How many events reached each of ``RUNGS`` heights, when the newest was, and how high it is so far.
NEWEST, TOP, LADDER = 4, 5, 6
RUNGS = 8
TAIL_WIDTH = LADDER + RUNGS

# int16, in quanta: the profile of a day, and by how much each hour of the week differs from it.
# The last part is the spread of what the season leaves in each hour of the day.
UNKNOWN = -32768
DAY_BINS, WEEK_BINS, SPREAD_BINS = 144, 168, 24
WEEK_FROM = DAY_BINS
SPREAD_FROM = DAY_BINS + WEEK_BINS
SEASON_WIDTH = SPREAD_FROM + SPREAD_BINS
DAY_S, HOUR_S, WEEK_S = 86400.0, 3600.0, 604800.0

CORE_BYTES = 8 * CORE_WIDTH
TAILS_BYTES = 4 * EXPERTS * TAIL_WIDTH
SEASON_BYTES = 2 * SEASON_WIDTH
STATE_BYTES = CORE_BYTES + TAILS_BYTES + SEASON_BYTES
