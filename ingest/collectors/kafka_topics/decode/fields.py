"""What Telegraf's line protocol and its JSON have in common: fields of a measurement with tags, to columns."""

from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ingest.collectors.admitted import Admitted
from ingest.collectors.kafka_topics.decode.known_fields import ROWS, Columns, KnownFields
from ingest.collectors.pushed_series import PushedSeries

MALFORMED, TEXT = "malformed", "text"
_PLAIN_FIELDS = frozenset({"value", "gauge", "counter"})
Key = TypeVar("Key", bytes, str)


@dataclass(slots=True)
class Lines:
    """Samples of some messages as columns, in their order. dropped: lines, metrics and fields of no use, by reason."""

    slots: "array[int]" = field(default_factory=lambda: array("q"))
    times_ns: "array[int]" = field(default_factory=lambda: array("q"))
    values: "array[float]" = field(default_factory=lambda: array("d"))
    dropped: Counter[str] = field(default_factory=Counter)

    def add(self, found: Iterable[tuple[int, float]], time_ns: int) -> None:
        """Slots and values of one time."""
        for slot, value in found:
            self.slots.append(slot)
            self.times_ns.append(time_ns)
            self.values.append(value)

    def add_columns(self, columns: Columns, n: int, data: bytes) -> None:
        """The first rows of a scan of ``data``."""
        for row in np.flatnonzero(columns.inexact[:n, 1]).tolist():
            begin, end = columns.inexact[row].tolist()
            columns.values[row] = float(data[begin:end])
        self.slots.frombytes(columns.slots[:n].tobytes())
        self.times_ns.frombytes(columns.times_ns[:n].tobytes())
        self.values.frombytes(columns.values[:n].tobytes())


class FieldReader(ABC, Generic[Key]):
    """Knows the series of all messages. Used by one thread at a time."""

    def __init__(self, series: PushedSeries) -> None:
        self._series = series
        self._known: dict[Hashable, dict[Key, int]] = {}  # slots of the fields by what stands before them
        self._written = KnownFields()  # the same slots, by the bytes that scans find
        self._columns = Columns.allocate(ROWS)

    @abstractmethod
    def read(self, message: bytes, into: Lines) -> None:
        """Adds the samples of a message. What cannot be read costs itself alone; BadInput when that is all of it."""

    @abstractmethod
    def read_all(self, messages: Sequence[bytes], into: Lines) -> int:
        """The same of many messages, those of known series by a compiled scan; how many are of no use."""

    def admit(self, lines: Lines, now_ns: int) -> Admitted:
        """What the samples become. Forgets series that were silent for long when there is little room."""
        slots = np.frombuffer(lines.slots, np.int64) if lines.slots else np.zeros(0, np.int64)
        times_ns = np.frombuffer(lines.times_ns, np.int64) if lines.slots else np.zeros(0, np.int64)
        values = np.frombuffer(lines.values, np.float64) if lines.slots else np.zeros(0)
        admitted = self._series.admit(slots, times_ns, values, now_ns)
        if (moved := self._series.forget_silent(now_ns)) is not None:
            self._move(moved)
        return admitted

    @abstractmethod
    def _named(self, head: Hashable, key: Key) -> tuple[str, dict[str, str]]:
        """Name and labels of a series that is new."""

    @abstractmethod
    def _bytes_of(self, head: Hashable, key: Key) -> tuple[bytes, bytes]:
        """What names it in a message."""

    def _take(self, n: int, texts: int, data: bytes, into: Lines) -> None:
        """What a scan of ``data`` found: rows, and fields that are texts."""
        into.add_columns(self._columns, n, data)
        if texts:
            into.dropped[TEXT] += texts

    def _slots_of(self, head: Hashable) -> dict[Key, int] | None:
        return self._known.get(head)

    def _add(self, head: Hashable, key: Key) -> int:
        """The slot of a field that is new; -1 without room for it, which is asked for again each time."""
        known = self._known.get(head, {}).get(key)
        if known is not None:  # it came twice in the first line of its series
            return known
        if self._series.is_full:
            return -1
        slot = self._series.add(*self._named(head, key))
        if slot >= 0:
            self._known.setdefault(head, {})[key] = slot
            added = self._written.add(*self._bytes_of(head, key))
            assert added == slot, "both count series in the same order"
        return slot

    def _move(self, moved: NDArray[np.int64]) -> None:
        self._written.move(moved)
        new = moved.tolist()
        for head, slots in list(self._known.items()):
            kept = {key: new[slot] for key, slot in slots.items() if new[slot] >= 0}
            if kept:
                self._known[head] = kept
            else:
                del self._known[head]


def named(measurement: str, key: str) -> str:
    """``<measurement>_<field>``, as in Telegraf's outputs for Prometheus.

    Of what Telegraf scraped it is the metric's own name: the measurement alone for the fields ``value``, ``gauge`` and
    ``counter``, the field for the measurement ``prometheus``.

    >>> named("infiniband", "symbol_error"), named("node_load1", "gauge"), named("prometheus", "node_load1")
    ('infiniband_symbol_error', 'node_load1', 'node_load1')
    """
    if measurement == "prometheus":
        return key
    return measurement if key in _PLAIN_FIELDS else f"{measurement}_{key}"
