"""How much a counter has grown lately: for events that are too rare for a rate, and that few of are normal."""

import numpy as np
from numpy.typing import NDArray

from analytics.view import Column, View

_SEEN, _RECENT, _AT_S = 0, 1, 2  # what it remembers of each counter: count, growth lately (fading), when


def recent_growth(view: View, column: Column, window_s: float, most: float) -> NDArray[np.float64]:
    """Growth of each counter, fading with a time constant of ``window_s``, at most ``most``; float64[k].

    It lives in the series' ``memory``, so one detector of a metric can use it. What was counted before a counter was
    first seen is history, and a counter that starts again has not grown.
    """
    memory = view.series["memory"][column.sids]
    raw, at_s = view.series["raw"][column.sids], column.times_ns * 1e-9
    new = column.fresh & (at_s > memory[:, _AT_S])
    first = memory[:, _AT_S] == 0.0
    grown = np.where(new & ~first, np.maximum(raw - memory[:, _SEEN], 0.0), 0.0)
    faded = memory[:, _RECENT] * np.exp(-np.maximum(at_s - memory[:, _AT_S], 0.0) / window_s)
    counted = np.minimum(np.where(first, 0.0, faded) + grown, most)
    recent = np.where(new, counted, memory[:, _RECENT])
    memory[new, _SEEN], memory[new, _AT_S], memory[:, _RECENT] = raw[new], at_s[new], recent
    view.series["memory"][column.sids] = memory
    return np.asarray(recent)
