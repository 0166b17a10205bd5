"""How much a counter has grown lately: for events that are too rare for a rate, and that few of are normal."""

import numpy as np
from numpy.typing import NDArray

from analytics.state.view import Column, View

_SEEN, _RECENT, _AT_S = 0, 1, 2  # what it remembers of each counter: count, growth lately (fading), when


def recent_growth(view: View, column: Column, window_s: float, most: float) -> NDArray[np.float64]:
    """Growth of each counter, fading with a time constant of ``window_s``, at most ``most``; float64[k].

    It lives in the series' ``memory``, so one detector of a metric can use it. What was counted before a counter was
    first seen is history, and a counter that starts again has not grown.
    """
    memory, at_s = view.series["memory"], column.times_ns * 1e-9
    recent = np.asarray(memory[column.sids, _RECENT])
    new = np.flatnonzero(column.fresh & (at_s > memory[column.sids, _AT_S]))
    sids, at_s = column.sids[new], at_s[new]
    raw, (seen, faded, since_s) = view.series["raw"][sids], memory[sids, :3].T
    faded = faded * np.exp(-np.maximum(at_s - since_s, 0.0) / window_s)
    recent[new] = np.where(since_s == 0.0, 0.0, np.minimum(faded + np.maximum(raw - seen, 0.0), most))
    memory[sids, _SEEN], memory[sids, _RECENT], memory[sids, _AT_S] = raw, recent[new], at_s
    return recent
