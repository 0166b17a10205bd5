"""From the samples that a parser found in a document to canonical series of one target, by the catalogue. Pure.

For documents of hundreds of values: a page of an exporter has a reader of its own, which costs less.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ingest.collectors.exposition.decode.mapping import Entry, Mapper
from ingest.collectors.exposition.decode.template import CONSTANT, PLAIN
from ingest.ledger import DropReason, Ledger
from telemetry.catalogue import origins_of, source
from telemetry.samples import Collection, DownReason, SampleBatch, all_rows
from telemetry.series import SeriesTable

_BITS_MAX = 2.0**63


class SourceSample(NamedTuple):
    """One value under the source's own name and labels, in its unit. NaN: the source states that it has none."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(slots=True)
class CanonicalSamples:
    """values: by canonical series. dropped: further samples of known series, by reason. unmapped: of all others."""

    values: dict[str, float] = field(default_factory=dict)
    dropped: Counter[DropReason] = field(default_factory=Counter)
    unmapped: int = 0


class TargetSamples:
    """The batches of one target, numbered.

    system: of the catalogue. epoch_ns: when the collector started; with their numbers it names the collections.
    """

    def __init__(self, name: str, device: str, system: str, epoch_ns: int) -> None:
        known = source(system)
        self._mapper = Mapper(known, {"device": device}, origins_of(system))
        self._sentinels = known.sentinels
        self._table = SeriesTable(name, device, ())
        self._epoch_ns, self._seq = epoch_ns, 0

    @property
    def unmapped(self) -> set[str]:
        """Names that the source sent and that nothing maps."""
        return self._mapper.unmapped

    def read(self, samples: Iterable[SourceSample]) -> CanonicalSamples:
        """Of two samples of one series the first one counts, unless the catalogue says that they add up."""
        found = CanonicalSamples()
        sums: dict[str, tuple[Entry, float]] = {}
        for sample in samples:
            entries = self._mapper.map(sample.name, sample.labels)
            if entries is not None and not entries:
                found.unmapped += 1
            for entry in entries or ():
                value = self._value(entry, sample.value)
                if entry.adds:  # a part that is NaN makes the sum NaN: what it lacks would look like a decrease
                    sums[entry.key] = entry, sums[entry.key][1] + value if entry.key in sums else value
                else:
                    _add(found, entry, value)
        for entry, total in sums.values():
            _add(found, entry, total)
        return found

    def batch(self, found: CanonicalSamples, now_ns: int, duration_s: float, ledger: Ledger) -> SampleBatch:
        """One collection, counted: without a sample it is down."""
        ledger.received(len(found.values) + found.dropped.total())
        ledger.unmapped(found.unmapped)
        for reason, count in found.dropped.items():
            ledger.dropped(reason, count)
        if not found.values:
            return self.down(DownReason.NO_SAMPLES, now_ns, duration_s)
        keys = tuple(found.values)
        if self._table.keys != keys:
            self._table = SeriesTable(self._table.target, self._table.device, keys)
        values = np.fromiter(found.values.values(), np.float64, len(keys))
        collection = Collection(self._epoch_ns, self._next_seq(), now_ns, duration_s, unmapped=found.unmapped)
        return SampleBatch(self._table, collection, np.full(len(keys), now_ns), all_rows(len(keys)), values)

    def down(self, reason: DownReason, now_ns: int, duration_s: float) -> SampleBatch:
        """One collection without a sample."""
        collection = Collection(self._epoch_ns, self._next_seq(), now_ns, duration_s, reason)
        none = np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.float64)
        return SampleBatch(self._table, collection, *none)

    def _value(self, entry: Entry, raw: float) -> float:
        if entry.bit == CONSTANT:
            return 1.0
        if math.isnan(raw) or any(first <= raw <= last for first, last in self._sentinels):
            return math.nan
        if entry.bit == PLAIN:
            return raw * entry.scale
        return float(int(raw) >> entry.bit & 1) if 0 <= raw < _BITS_MAX else math.nan

    def _next_seq(self) -> int:
        seq, self._seq = self._seq, self._seq + 1
        return seq


def _add(found: CanonicalSamples, entry: Entry, value: float) -> None:
    if math.isnan(value):
        found.dropped[DropReason.NO_VALUE] += 1
    elif entry.key in found.values:
        found.dropped[DropReason.DUPLICATE] += 1
    elif value < entry.low or value > entry.high or value == entry.saturated:
        found.dropped[DropReason.OUT_OF_BOUNDS] += 1
    else:
        found.values[entry.key] = value
