"""Which live series have a calibrated anomaly score, and their state: the same scoring as for files.

Every series has a level and a scale (``models/baseline.py``). The whole scoring takes fifty times their memory, so live
it is kept for the metrics that ``DetectionConfig.scored`` names.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytics.models.pace import Pace
from analytics.models.scoring.layout import CORE, EXPERTS, PHASE_UP
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


def from_format_1(state: State) -> State:
    """Of the block of scores: format 1 had a flag for the level before an event where 2 counts what was reported."""
    core = np.array(state.arrays["records/core"], np.float64, order="C")
    prior_at, reported = _place_until_3("prior_at"), _place_until_3("reported")
    core[core[:, reported] == 0.0, prior_at] *= -1.0
    core[:, reported] = 0.0
    return State(state.head, {**state.arrays, "records/core": core})


def from_format_2(state: State) -> State:
    """Format 2 had two experts of the spread where 3 has one, and knew no departures from rest."""
    arrays = state.arrays
    old = arrays["records/core"]
    core = np.zeros((len(old), CORE.itemsize // 8 + 1))
    core[:, : old.shape[1]] = old
    converted: dict[str, NDArray[Any]] = {
        "records/core": core,
        "records/tails": _without_expert(arrays["records/tails"], EXPERTS + 2, axis=2),
        "records/pools": _without_expert(arrays["records/pools"], EXPERTS + 2, axis=1),
    }
    return State(state.head, {**arrays, **converted})


def from_format_3(state: State) -> State:
    """Format 3 had an expert of fluctuations, and their variance before the last value."""
    arrays = state.arrays
    core = np.ascontiguousarray(np.delete(arrays["records/core"], _place("last"), axis=1))
    converted: dict[str, NDArray[Any]] = {
        "records/core": core,
        "records/tails": _without_expert(arrays["records/tails"], EXPERTS + 1, axis=2),
        "records/pools": _without_expert(arrays["records/pools"], EXPERTS + 1, axis=1),
    }
    return State(state.head, {**arrays, **converted})


def _place(name: str) -> int:
    """The column of a field of ``Core``."""
    assert CORE.fields is not None
    return int(CORE.fields[name][1]) // 8


def _place_until_3(name: str) -> int:
    """The same of formats 1 to 3, which had one column more."""
    return _place(name) + (_place(name) >= _place("last"))


def _without_expert(numbers: NDArray[Any], experts: int, axis: int) -> NDArray[Any]:
    """[rows, numbers] of so many experts without the one before those of the phase. axis: 2 where a row has the experts
    side by side for each number, 1 where it has the numbers for each expert.
    """
    rows, width = len(numbers), numbers.shape[1] // experts
    shaped = numbers.reshape((rows, width, experts) if axis == 2 else (rows, experts, width))
    return np.ascontiguousarray(np.delete(shaped, PHASE_UP, axis=axis).reshape(rows, -1))
