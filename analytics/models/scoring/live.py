"""Which live series have a calibrated anomaly score, and their state: the same scoring as for files.

Every series has a level and a scale (``models/baseline.py``). The whole scoring takes 25 times their memory, so live
it is kept for the metrics that ``DetectionConfig.scored`` names.
"""

import numpy as np
from numpy.typing import NDArray

from analytics.models.pace import Pace
from analytics.models.scoring.scorer import SeriesScorer
from analytics.snapshot.stateful import State

NO_SLOT = -1


class LiveScores:
    """Gives each scored series a slot, in the order in which they appear, and scores it there."""

    def __init__(self, pace: Pace) -> None:
        self._scorer = SeriesScorer(memory=round(1.0 / pace.alpha), warmup=pace.warmup, follow=pace.follow)
        self._used = 0

    def update(
        self,
        sids: NDArray[np.int64],
        times_ns: NDArray[np.int64],
        values: NDArray[np.float64],
        kinds: NDArray[np.int32],
        slots: NDArray[np.int32],
        anomaly: NDArray[np.float64],
    ) -> None:
        """Scores and learns one row each; NaN values are skipped.

        kinds: int32[series], metric of each: new series are calibrated by old ones of their kind.
        slots: int32[series], in and out: the slot of each series, ``NO_SLOT`` for none.
        anomaly: float64[series], out: the newest score of each series.
        """
        known = ~np.isnan(values)
        sids, times_ns, values = sids[known], times_ns[known], values[known]
        new = np.unique(sids[slots[sids] == NO_SLOT])
        slots[new] = np.arange(self._used, self._used + new.size)
        self._used += new.size
        columns = (slots[sids].astype(np.int64), kinds[sids].astype(np.int64))
        anomaly[sids] = self._scorer.score(times_ns, values, *columns, bands=False).score

    def keep(self, slots: NDArray[np.int32]) -> None:
        """Forgets all others, and renumbers these in place, in their order."""
        scored = slots != NO_SLOT
        self._scorer.keep(slots[scored].astype(np.int64))
        self._used = int(np.count_nonzero(scored))
        slots[scored] = np.arange(self._used)

    def forget_kinds(self, kinds: NDArray[np.int64]) -> None:
        """Whatever new series of these metrics would have been calibrated by."""
        self._scorer.forget_kinds(kinds)

    def state(self) -> State:
        return self._scorer.state()

    def restore(self, state: State) -> None:
        self._scorer.restore(state)
        self._used = len(state.arrays["core"])
