"""What a series reaches again and again is no finding: how high it usually is, learned in the detector's memory."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from analytics.models import heights
from analytics.models.heights import RUNGS, Heights, Samples
from analytics.snapshot.block import Migration
from analytics.snapshot.stateful import State
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView

USUAL_HEIGHTS = (
    MemoryColumn("since_ns", dtype="i8"),
    MemoryColumn("high_ns", dtype="i8"),
    MemoryColumn("low_ns", dtype="i8"),
    MemoryColumn("began_ns", dtype="i8"),
    MemoryColumn("surprise"),
    MemoryColumn("usual", RUNGS),
    MemoryColumn("run", RUNGS),
)
USUAL_HEIGHTS_FORMAT = 2
_BELOW = 0.99  # a score at the limit that is usual for this series


def _from_format_1(state: State) -> State:
    """Format 1 knew no low samples."""
    return State(state.head, {**state.arrays, "low_ns": np.zeros(len(state.arrays["sid"]), np.int64)})


USUAL_HEIGHTS_MIGRATIONS: Mapping[int, Migration] = {1: _from_format_1}


def unusual(
    view: TickView, memory: Memory, column: Column, score: NDArray[np.float64], weight: float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The scores, below 1 where the series is usually as high or was so for too few samples, and when each run began.

    memory: with the columns ``USUAL_HEIGHTS``. score: float64[k], 1.0 is the detector's limit, which stays the least
    that a finding needs. weight: of one sample, less than 1 where it is a bound. int64[k] in nanoseconds.
    """
    rows, at_ns = memory.rows(column.sids), column.times_ns
    state = Heights(*(memory[name] for name in Heights._fields))
    first = np.flatnonzero(column.fresh & (state.since_ns[rows] == 0))
    state.since_ns[rows[first]] = at_ns[first]
    high = column.fresh & (score >= 1.0)
    low = np.flatnonzero(column.fresh & ~high)
    state.low_ns[rows[low]] = np.maximum(state.low_ns[rows[low]], at_ns[low])
    newer = np.flatnonzero(high & (at_ns > state.high_ns[rows]))
    if newer.size:
        spans = view.series["span_s"][column.sids[newer]]
        every_s = np.where(spans > 0.0, spans, view.config.interval_s)
        reported = view.reported.take(column.sids[newer])
        samples = Samples(rows[newer], at_ns[newer], score[newer], every_s, reported, weight)
        heights.learn(state, samples, view.config.baseline_horizon_s, view.config.baseline_follow_s)
    proved = high & (state.surprise[rows] >= heights.LIMIT)
    return np.where(high & ~proved, _BELOW, score), np.where(proved, state.began_ns[rows], at_ns)
