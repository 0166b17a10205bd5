"""Series that active findings rest on: what is being reported is no history to learn from."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from analytics.state.series_index import SeriesIndex
from analytics.view.tick_data import SelectionCache


def reported_series(
    index: SeriesIndex, selections: SelectionCache, about: Iterable[tuple[Sequence[str], Iterable[str]]]
) -> NDArray[np.bool_]:
    """bool[series]. about: the metrics that a detector reads, and the names of the objects that it has findings of."""
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
