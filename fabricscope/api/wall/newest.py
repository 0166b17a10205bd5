"""The newest samples of some metrics, as columns by target: taking in a batch costs no Python object a sample."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from common.errors import BadInput
from common.units import NS_PER_S
from telemetry.samples import SampleBatch
from telemetry.series import SeriesTable, parse_series_key

KEPT_NS = 3600 * NS_PER_S  # a target that is silent for longer was removed
Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest sample of one series. rate: per second since the sample before, NaN without one or after a reset."""

    metric: str
    labels: Labels
    time_ns: int
    value: float
    rate: float


class NewestSamples:
    """Of the series of ``metrics``: memory grows with those of the last hour alone."""

    def __init__(self, metrics: Iterable[str]) -> None:
        self._metrics = frozenset(metrics)
        self._targets: dict[str, _Columns] = {}

    def add(self, batch: SampleBatch) -> None:
        """Takes in one collection; a sample that is older than what is known of its series is left out."""
        if not len(batch):
            return
        known = self._targets.get(batch.table.target)
        if known is None or known.digest != batch.table.digest:
            self._forget(batch.collection.collected_ns - KEPT_NS)
            known = self._targets[batch.table.target] = _Columns(batch.table, self._metrics, known)
        known.add(batch)

    def _forget(self, before_ns: int) -> None:
        """Targets that have said nothing since then."""
        self._targets = {name: one for name, one in self._targets.items() if one.collected_ns >= before_ns}

    def all(self) -> Iterator[Newest]:
        """Every series that has had a sample."""
        for columns in list(self._targets.values()):
            yield from columns.all()


class _Columns:
    """The series of one target. A table that follows another one takes over what is known. collected_ns: the newest."""

    def __init__(self, table: SeriesTable, metrics: frozenset[str], before: "_Columns | None") -> None:
        self.digest, self.collected_ns = table.digest, 0
        rows = [row for row, key in enumerate(table.keys) if key.partition("{")[0] in metrics]
        self._keys = [table.keys[row] for row in rows]
        self._place = np.full(len(table), -1)
        self._place[rows] = np.arange(len(rows))
        self._times_ns = np.zeros(len(rows), np.int64)
        self._values, self._rates = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
        self._names = [parse_labels(key) for key in self._keys]
        if before is not None:
            self._take_over(before)

    def _take_over(self, before: "_Columns") -> None:
        places = {key: place for place, key in enumerate(before._keys)}
        for place, key in enumerate(self._keys):
            if (known := places.get(key)) is not None:
                self._times_ns[place] = before._times_ns[known]
                self._values[place], self._rates[place] = before._values[known], before._rates[known]

    def add(self, batch: SampleBatch) -> None:
        self.collected_ns = max(self.collected_ns, batch.collection.collected_ns)
        if not self._keys:
            return
        places = self._place[batch.series]
        mine = np.flatnonzero(places >= 0)
        # The last sample of each series counts: a stream may have several in one batch.
        places, last = np.unique(places[mine][::-1], return_index=True)
        rows = mine[::-1][last]
        self._set(places, batch.times_ns[rows], batch.values[rows])

    def _set(self, places: NDArray[np.int64], times_ns: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        newer = times_ns > self._times_ns[places]
        places, times_ns, values = places[newer], times_ns[newer], values[newer]
        grown, passed_s = values - self._values[places], (times_ns - self._times_ns[places]) / NS_PER_S
        self._rates[places] = np.where(grown >= 0, grown / passed_s, np.nan)  # NaN where nothing was known
        self._times_ns[places], self._values[places] = times_ns, values

    def all(self) -> Iterator[Newest]:
        for place in np.flatnonzero(self._times_ns).tolist():
            metric, labels = self._names[place]
            rate = float(self._rates[place])
            yield Newest(metric, labels, int(self._times_ns[place]), float(self._values[place]), rate)


def parse_labels(key: str) -> tuple[str, Labels]:
    """Metric and labels of a series. Labels that cannot be read name nothing: where batches are decoded, they are
    checked."""
    try:
        return parse_series_key(key)
    except BadInput:
        return key, {}
