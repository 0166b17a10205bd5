"""From readings to the canonical samples of one target, by the catalogue. It remembers counters, and nothing else."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field

from common.errors import BadInput
from ingest.collectors.base import SourceSeries
from ingest.collectors.exposition.decode.mapping import Entry, Mapper
from ingest.collectors.exposition.decode.template import CLEAR, CONSTANT, PLAIN
from ingest.collectors.snmp.counters import WideCounters
from ingest.collectors.snmp.decode import Reading
from ingest.ledger import DropReason
from telemetry.catalogue import metrics, origins_of, source
from telemetry.series import parse_series_key, series_key

SOURCE = "snmp"
_MILLIWATTS = 1000.0  # 0 dBm is one


@dataclass(slots=True)
class Samples:
    """values: canonical series -> value. received: of series that the catalogue knows, dropped ones included."""

    values: dict[str, float] = field(default_factory=dict)
    received: int = 0
    unmapped: int = 0
    dropped: Counter[DropReason] = field(default_factory=Counter)


class SampleReader:
    """Of one target. series_max: source series that it may have; BadInput (``too_many_series``) beyond it."""

    def __init__(self, identity: Mapping[str, str], *, series_max: int) -> None:
        self._mapper = Mapper(source(SOURCE), identity, origins_of(SOURCE))
        self._series_max = series_max
        self._known: dict[str, list[Entry] | None] = {}
        self.counters = WideCounters()

    @property
    def unmapped(self) -> Set[str]:
        return self._mapper.unmapped

    def source_series(self) -> Iterator[SourceSeries]:
        """What became of each series of the agent."""
        for series, entries in self._known.items():
            yield self._mapper.source_series(*parse_series_key(series), entries)

    def read(self, readings: Iterable[Reading]) -> Samples:
        """The samples of one collection."""
        samples, parts, seen = Samples(), Counter[str](), set[str]()
        for reading in readings:
            series = series_key(reading.name, reading.labels)
            seen.add(series)
            if (entries := self._entries(series, reading)) is None:
                continue
            samples.unmapped += not entries
            samples.received += len(entries)
            value = self._widened(series, reading)
            for entry in entries:
                _add(samples, parts, entry, reading, value)
        samples.received -= parts.total()  # parts that are one series with others
        self.counters.collected()
        if len(self._known) > 2 * len(seen):  # ports that came and went
            self._known = {series: entries for series, entries in self._known.items() if series in seen}
        return samples

    def _widened(self, series: str, reading: Reading) -> float | None:
        if reading.counter is None or reading.value is None:
            return reading.value
        return float(self.counters.widen(series, reading.counter, reading.since))

    def _entries(self, series: str, reading: Reading) -> list[Entry] | None:
        """[] for what nothing maps, None for what is left out on purpose."""
        if series not in self._known:
            if len(self._known) >= 2 * self._series_max:
                raise BadInput(f"more than {self._series_max} series", "too_many_series")
            self._known[series] = self._mapper.map(reading.name, reading.labels)
        return self._known[series]


def _add(samples: Samples, parts: Counter[str], entry: Entry, reading: Reading, raw: float | None) -> None:
    value = _canonical(entry, reading, raw)
    if value is None:
        samples.dropped[DropReason.NO_VALUE] += 1
    elif not entry.low <= value <= entry.high:
        samples.dropped[DropReason.OUT_OF_BOUNDS] += 1
    elif entry.key not in samples.values:
        samples.values[entry.key] = value
    elif entry.adds:
        samples.values[entry.key] += value
        parts[entry.key] += 1
    else:
        samples.dropped[DropReason.DUPLICATE] += 1


def _canonical(entry: Entry, reading: Reading, raw: float | None) -> float | None:
    if raw is None:
        return None
    if entry.bit == CONSTANT:
        return 1.0
    if entry.bit != PLAIN:
        return float((int(raw) >> max(entry.bit, CLEAR - entry.bit) & 1) == (entry.bit >= 0))
    value = raw * entry.scale
    if reading.labels.get("entPhySensorType") == "watts" and metrics()[entry.key.partition("{")[0]].unit == "dbm":
        return 10 * math.log10(value * _MILLIWATTS) if value > 0 else None  # no light has no decibels
    return value
