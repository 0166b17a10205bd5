"""Series that active findings rest on: what is being reported is no history to learn from."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from analytics.state.columns import locked
from analytics.state.series_index import SeriesIndex
from analytics.view.tick_data import SelectionCache

About = Iterable[tuple[Sequence[str], Sequence[str]]]
"""The metrics that a detector reads, and the names of the objects that it has findings of."""


class ReportedSeries:
    """Works them out again when the series change, or what there are findings of: in most ticks neither does."""

    def __init__(self, index: SeriesIndex, selections: SelectionCache) -> None:
        self._index, self._selections = index, selections
        self._newest: tuple[object, NDArray[np.bool_]] | None = None

    def about(self, about: About) -> NDArray[np.bool_]:
        """bool[series], read-only."""
        key = self._index.version, [(metrics, tuple(names)) for metrics, names in about if names]
        if self._newest is None or self._newest[0] != key:
            self._newest = key, locked(_reported_series(self._index, self._selections, key[1]))
        return self._newest[1]


def _reported_series(index: SeriesIndex, selections: SelectionCache, about: About) -> NDArray[np.bool_]:
    found = np.zeros(len(index), bool)
    object_of = index.columns["object"]
    for metrics, names in about:
        objects = np.zeros(len(index.objects), bool)
        numbers = (index.objects.get(name) for name in names)
        objects[[number for number in numbers if number is not None]] = True
        for metric in metrics:
            sids = selections.sids(metric, None)
            found[sids] |= objects[object_of[sids]]
    return found
