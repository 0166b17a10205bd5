"""Recent growth of a counter: for events that are too rare for a rate, of which a few are normal."""

import numpy as np
from numpy.typing import NDArray

from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView

RECENT_GROWTH = (MemoryColumn("count"), MemoryColumn("recent"), MemoryColumn("at_s"))
"""Memory of each counter: its count, its recent growth (fading), and the time of both in seconds."""


def recent_growth(view: TickView, memory: Memory, column: Column, window_s: float, most: float) -> NDArray[np.float64]:
    """Growth of each counter, fading with a time constant of ``window_s``, at most ``most``; float64[k].

    memory: with the columns ``RECENT_GROWTH``. Counts from before a counter was first seen do not count, and a counter
    that was reset has not grown.
    """
    rows, at_s = memory.rows(column.sids), column.times_ns * 1e-9
    count, growth, known_s = memory["count"], memory["recent"], memory["at_s"]
    recent = np.asarray(growth[rows])
    new = np.flatnonzero(column.fresh & (at_s > known_s[rows]))
    rows, at_s = rows[new], at_s[new]
    raw, since_s = view.series["raw"][column.sids[new]], known_s[rows]
    faded = growth[rows] * np.exp(-np.maximum(at_s - since_s, 0.0) / window_s)
    recent[new] = np.where(since_s == 0.0, 0.0, np.minimum(faded + np.maximum(raw - count[rows], 0.0), most))
    count[rows], growth[rows], known_s[rows] = raw, recent[new], at_s
    return recent
