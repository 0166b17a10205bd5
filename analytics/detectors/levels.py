"""The level of a quantity that a detector computes itself, learned for each series in the detector's memory."""

import numpy as np
from numpy.typing import NDArray

from analytics.models import baseline
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView

LEVEL = (MemoryColumn("baseline", baseline.WIDTH, settings=("interval_s",)),)


def learned_level(
    view: TickView, memory: Memory, column: Column, values: NDArray[np.float64], name: str = "baseline"
) -> NDArray[np.float64]:
    """Learns this tick's values; float64[k], the level before that, NaN while it is not known.

    values: float64[k], of each series of the column; NaN is not learned. name: of the column of the memory, one as in
    ``LEVEL``.
    """
    rows = memory.rows(column.sids)
    model = memory[name]
    level = baseline.levels(model[rows])
    new = np.where(column.new, values, np.nan)
    reported = view.reported.take(column.sids)
    scores, newest = np.empty(rows.size), np.empty(len(memory))
    baseline.score_and_learn(rows, new, reported, model, view.config.baseline, scores, newest)
    return level
