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
from common.jit import compiled

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
) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
    """The scores, below 1 where the series is usually as high or was so for too few samples, and when each run began.

    memory: with the columns ``USUAL_HEIGHTS``. score: float64[k], 1.0 is the detector's limit, which stays the least
    that a finding needs. weight: of one sample, less than 1 where it is a bound. int64[k] in nanoseconds; None where
    nothing is high, as of most columns in most ticks.
    """
    rows, is_high = memory.rows(column.sids), np.zeros(len(column), np.bool_)
    since_ns, low_ns = memory["since_ns"], memory["low_ns"]
    _note_low(column.sids, rows, view.fresh, view.series["value_ns"], score, since_ns, low_ns, is_high)
    high = np.flatnonzero(is_high)
    if not high.size:
        return score, None
    state = Heights(*(memory[name] for name in Heights._fields))
    found, onsets_ns, rows = score.copy(), column.times_ns.copy(), rows[high]
    newer = onsets_ns[high] > state.high_ns[rows]
    if newer.any():
        _learn(view, state, column.only(high[newer]), rows[newer], score[high[newer]], weight)
    proved = state.surprise[rows] >= heights.LIMIT
    found[high[~proved]] = _BELOW
    onsets_ns[high[proved]] = state.began_ns[rows[proved]]
    return found, onsets_ns


def _learn(
    view: TickView, state: Heights, column: Column, rows: NDArray[np.int64], score: NDArray[np.float64], weight: float
) -> None:
    spans = view.series["span_s"][column.sids]
    every_s = np.where(spans > 0.0, spans, view.config.interval_s)
    samples = Samples(rows, column.times_ns, score, every_s, view.reported.take(column.sids), weight)
    heights.learn(state, samples, view.config.baseline_horizon_s, view.config.baseline_follow_s)


@compiled
def _note_low(
    sids: NDArray[np.int64],
    rows: NDArray[np.int64],
    fresh: NDArray[np.bool_],
    value_ns: NDArray[np.int64],
    score: NDArray[np.float64],
    since_ns: NDArray[np.int64],
    low_ns: NDArray[np.int64],
    is_high: NDArray[np.bool_],
) -> None:
    """When each series was first seen, and low. fresh, value_ns: of all series. is_high: of each fresh one, out."""
    for i in range(sids.size):
        if not fresh[sids[i]]:
            continue
        row, at_ns = rows[i], value_ns[sids[i]]
        if since_ns[row] == 0:
            since_ns[row] = at_ns
        if score[i] >= 1.0:
            is_high[i] = True
        else:
            low_ns[row] = max(low_ns[row], at_ns)
