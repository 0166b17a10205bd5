"""From numbers that have a name and labels to canonical series of one target, by the catalogue. Pure.

For documents, files of the kernel and output of commands: a page of an exporter has a reader of its own.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ingest.collectors.base import SourceSeries
from ingest.collectors.exposition.decode.mapping import Mapper
from ingest.collectors.series_layout import SeriesLayout, Taken, finish, lay_out, take
from ingest.ledger import DropReason, Ledger
from telemetry.catalogue import origins_of, source
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable

SeriesName = tuple[str, tuple[tuple[str, str], ...]]
"""The source's name, and its labels."""


class SourceSample(NamedTuple):
    """One value under the source's own name and labels, in its unit. NaN: the source states that it has none."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(slots=True)
class Values:
    """What a source states at one moment, in its order; equally long. A number is NaN where it states none."""

    names: list[SeriesName] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, samples: Iterable[SourceSample]) -> "Values":
        """What is stated comes first: of two names of one series it counts, whichever of them has no value."""
        values = cls()
        for sample in sorted(samples, key=lambda sample: math.isnan(sample.value)):
            values.add(sample.name, sample.value, **sample.labels)
        return values

    def add(self, name: str, number: float, /, **labels: str) -> None:
        self.names.append((name, tuple(labels.items())))
        self.numbers.append(number)


class CanonicalSamples(NamedTuple):
    """layout: which values are which series. taken: the samples, and what was dropped."""

    layout: SeriesLayout
    taken: Taken

    def by_series(self) -> dict[str, float]:
        keys = self.layout.table.keys
        values = self.taken.values.tolist()
        return {keys[row]: value for row, value in zip(self.taken.series.tolist(), values, strict=True)}


class TargetSamples:
    """The batches of one target, numbered. Which number is part of which series is worked out once for as long as the
    names are the same.

    system: of the catalogue. epoch_ns: when the collector started; with their numbers it names the collections.
    """

    def __init__(self, name: str, device: str, system: str, epoch_ns: int) -> None:
        known = source(system)
        self._mapper = Mapper(known, {"device": device}, origins_of(system))
        self._sentinels = np.array(known.sentinels, dtype=np.float64).reshape(-1, 2)
        self._finish = finish()
        self._name, self._device = name, device
        self._names: list[SeriesName] = []
        self._layout = lay_out((), name, device)
        self._table = SeriesTable(name, device, ())
        self._epoch_ns, self._seq = epoch_ns, 0

    @property
    def unmapped(self) -> set[str]:
        """Names that the source sent and that nothing maps."""
        return self._mapper.unmapped

    def source_series(self) -> Iterator[SourceSeries]:
        """What became of each value of the last reading."""
        for name, labels in self._names:
            given = dict(labels)
            yield self._mapper.source_series(name, given, self._mapper.map(name, given))

    def read(self, values: Values) -> CanonicalSamples:
        """Of two values of one series the first one counts, unless the catalogue says that they add up."""
        if values.names != self._names:
            found = (self._mapper.map(name, dict(labels)) for name, labels in values.names)
            self._layout = lay_out(found, self._name, self._device)
            self._names = values.names
        numbers = np.array(values.numbers, dtype=np.float64)
        taken = take(self._layout, numbers, self._sentinels, self._finish)
        _count_absent(taken.dropped, int(np.isnan(numbers[self._layout.displaced]).sum()))
        return CanonicalSamples(self._layout, taken)

    def batch(self, found: CanonicalSamples, now_ns: int, duration_s: float, ledger: Ledger) -> SampleBatch:
        """One collection, counted: without a sample it is down."""
        layout, taken = found
        ledger.received(taken.values.size + sum(taken.dropped.values()), self._name)
        ledger.unmapped(layout.unmapped)
        for reason, count in taken.dropped.items():
            ledger.dropped(reason, count, self._name)
        if not taken.values.size:
            return self.down(DownReason.NO_SAMPLES, now_ns, duration_s)
        self._table = layout.table
        collection = Collection(
            self._epoch_ns,
            self._next_seq(),
            now_ns,
            duration_s,
            unmapped=layout.unmapped,
            left_out=layout.left_out,
        )
        times_ns = np.full(taken.values.size, now_ns, np.int64)
        return SampleBatch(layout.table, collection, times_ns, taken.series, taken.values)

    def down(self, reason: DownReason, now_ns: int, duration_s: float) -> SampleBatch:
        """One collection without a sample."""
        collection = Collection(self._epoch_ns, self._next_seq(), now_ns, duration_s, reason)
        none = np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.float64)
        return SampleBatch(self._table, collection, *none)

    def _next_seq(self) -> int:
        seq, self._seq = self._seq, self._seq + 1
        return seq


def _count_absent(dropped: dict[DropReason, int], count: int) -> None:
    """Of the duplicates, those that have no value."""
    if count:
        dropped[DropReason.DUPLICATE] -= count
        dropped[DropReason.NO_VALUE] = dropped.get(DropReason.NO_VALUE, 0) + count
        if not dropped[DropReason.DUPLICATE]:
            del dropped[DropReason.DUPLICATE]
