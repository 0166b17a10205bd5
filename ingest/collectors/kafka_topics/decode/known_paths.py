"""Where compiled scans look up the devices and paths of gnmic's JSON, and what they fill: columns of updates.

A path is known by the bytes that stand before its value, below those of its message that name the device. It has a
number, which the device's decoder knows by a slot of its own, so a value goes to its row by two look-ups in arrays.
"""

from typing import NamedTuple
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled_uncounted
from common.wire.hashed_bytes import UNKNOWN, HashArrays
from common.wire.numbers import natural, number
from common.wire.span_table import SpanTable
from ingest.collectors.columns import room
from ingest.collectors.gnmi.decode.slots import PathSlots
from ingest.collectors.kafka_topics.decode.stops import PLAIN
from ingest.collectors.kafka_topics.decode.text_pieces import (
    CLOSE,
    COMMA,
    FALSE,
    MINUS,
    QUOTE,
    TRUE,
    after,
    has_zeros,
    plain_end,
)
from telemetry.gnmi import gnmi_pb2

ROWS = 1 << 16  # a message that needs more is left to the plain reader
NUMBER, _TEXT = 0, 1  # of ``ValueKind``
SOURCE, BEGIN, END, MESSAGES, BYTES = range(5)
_PART = 5


class Updates(NamedTuple):
    """Updates, a row each.

    paths: int64, the path's number. times_ns: int64. kinds: int8, NUMBER or TEXT of ``ValueKind``. numbers: float64,
    of a NUMBER. texts: int64[n, 2], offset and length of a TEXT.
    """

    paths: NDArray[np.int64]
    times_ns: NDArray[np.int64]
    kinds: NDArray[np.int8]
    numbers: NDArray[np.float64]
    texts: NDArray[np.int64]

    @classmethod
    def allocate(cls, n: int) -> "Updates":
        return cls(
            np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int8), np.empty(n), np.empty((n, 2), np.int64)
        )


UpdateArrays = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8], NDArray[np.float64], NDArray[np.int64]]
"""``Updates`` as a plain tuple, in which it enters compiled code: a NamedTuple costs numba a microsecond more."""


def allocate_parts(n: int) -> NDArray[np.int64]:
    """For parts of messages, or for sources: int64[n, 5], source, first row, row behind the last, messages, bytes."""
    return np.empty((n, _PART), np.int64)


class KnownPaths:
    """Devices and paths by the bytes that name them in a message. sources: the devices by number.

    names_after: int64[>= paths], the path that came after this one the last time, UNKNOWN for none.
    """

    def __init__(self) -> None:
        self._sources, self._heads, self._names = SpanTable(), SpanTable(), SpanTable()
        self._written: list[bytes] = []  # by path, as protobuf writes it
        self._slots: NDArray[np.int32] = np.full(64, UNKNOWN, np.int32)  # by path, among those of its decoder …
        self._slots_of: list[ReferenceType[PathSlots] | None] = []  # … which has these, by source
        self._source_of: NDArray[np.int64] = np.full(64, UNKNOWN, np.int64)  # by head
        self.names_after: NDArray[np.int64] = np.full(64, UNKNOWN, np.int64)
        self.sources: list[str] = []

    def __len__(self) -> int:
        """Paths."""
        return len(self._names)

    @property
    def tables(self) -> tuple[HashArrays, HashArrays, HashArrays]:
        """Devices, heads, and names below heads."""
        return (*self._sources.index,), (*self._heads.index,), (*self._names.index,)

    @property
    def source_of(self) -> NDArray[np.int64]:
        """By head: the number of its device."""
        return self._source_of

    def add_source(self, written: bytes, source: str) -> int:
        """The number of a device, a new one where its name is new."""
        number = self._sources.put(written, 0)
        if number == len(self.sources):
            self.sources.append(source)
            self._slots_of.append(None)
        return number

    def add(self, head: bytes, below: int, name: bytes, path: gnmi_pb2.Path, source: int) -> None:
        """A path of a device. name: what stands before its value, below a head, which has a parent itself."""
        parent = self._heads.put(head, below)
        self._source_of = room(self._source_of, parent, UNKNOWN)
        self._source_of[parent] = source
        if self._names.get(name, parent) != UNKNOWN:
            return
        slot = self._names.add(name, parent)
        self._slots, self.names_after = room(self._slots, slot, UNKNOWN), room(self.names_after, slot, UNKNOWN)
        self._written.append(path.SerializeToString())

    def slots_by_path(self, paths: NDArray[np.int64], of: PathSlots) -> NDArray[np.int32]:
        """As in ``NumberedPaths``."""
        source = int(self._source_of[self._names.index.spans[paths[0], 2]])
        known = self._slots_of[source]
        if known is None or known() is not of:  # the device's decoder began again, or is another one
            self._slots[: len(self)][self._source_of[self._names.index.spans[: len(self), 2]] == source] = UNKNOWN
            self._slots_of[source] = ref(of)
        return self._slots

    def slots(self, paths: NDArray[np.int64], of: PathSlots) -> NDArray[np.int32]:
        """The slots of paths of one device among its own; UNKNOWN where it has no room for them."""
        slots = self.slots_by_path(paths, of)[paths]
        if slots.min() == UNKNOWN:
            for place in np.flatnonzero(slots == UNKNOWN).tolist():
                path = int(paths[place])
                slots[place] = self._slots[path] = of.slot(b"", self._written[path], is_leaf=True)
        return slots


@compiled_uncounted
def read_value(
    buf: NDArray[np.uint8],
    at: int,
    end: int,
    row: int,
    kinds: NDArray[np.int8],
    numbers: NDArray[np.float64],
    texts: NDArray[np.int64],
) -> int:
    """Writes a value, as ``set_value`` and the decoder take it; returns the offset after it, or PLAIN."""
    kinds[row] = NUMBER
    is_negative = at < end and buf[at] == MINUS
    whole, stop = natural(buf, at + is_negative, end)
    if 0 <= stop < end and (buf[stop] == COMMA or buf[stop] == CLOSE):
        numbers[row] = float(-whole if is_negative else whole)
        return stop
    if at < end and buf[at] == QUOTE:
        stop = plain_end(buf, at + 1, end)
        if stop < 0:
            return PLAIN
        kinds[row], texts[row, 0], texts[row, 1] = _TEXT, at + 1, stop - at - 1
        return stop + 1
    for word, bit in ((TRUE, 1.0), (FALSE, 0.0)):
        stop = after(buf, at, end, word)
        if stop >= 0:
            numbers[row] = bit
            return stop
    if has_zeros(buf, at, end):
        return PLAIN
    value, stop, is_whole, is_exact = number(buf, at, end)
    if stop < 0 or is_whole or not is_exact:
        return PLAIN
    numbers[row] = value
    return stop


@compiled_uncounted
def add_part(parts: NDArray[np.int64], first: int, used: int, source: int, begin: int, end: int, size: int) -> int:
    """Notes the rows of a part of a message, whose parts are those from ``first`` on; returns how many are used.

    -1 when there is no room.
    """
    if used == first or parts[used - 1, SOURCE] != source:
        if used == parts.shape[0]:
            return -1
        parts[used, SOURCE], parts[used, BEGIN], parts[used, MESSAGES], parts[used, BYTES] = source, begin, 0, 0
        used += 1
    parts[used - 1, END] = end
    parts[used - 1, MESSAGES] += 1
    parts[used - 1, BYTES] += size
    return used


@compiled_uncounted
def by_source(
    parts: NDArray[np.int64],
    n: int,
    update_arrays: UpdateArrays,
    place: NDArray[np.int64],
    found: NDArray[np.int64],
    grouped_arrays: UpdateArrays,
) -> int:
    """Writes the rows of the first ``n`` parts to ``grouped``, one source after the other, as each came first.

    place: int64[sources], UNKNOWN. found: receives the sources, in the form of parts. Returns how many there are.
    """
    updates, grouped = Updates(*update_arrays), Updates(*grouped_arrays)
    sources, at = 0, 0
    for part in range(n):
        source = parts[part, SOURCE]
        if place[source] < 0:
            place[source] = sources
            found[sources, SOURCE] = source
            found[sources, BEGIN:] = 0
            sources += 1
        to = place[source]
        found[to, END] += parts[part, END] - parts[part, BEGIN]
        found[to, MESSAGES] += parts[part, MESSAGES]
        found[to, BYTES] += parts[part, BYTES]
    for to in range(sources):
        size = found[to, END]
        found[to, BEGIN] = found[to, END] = at
        at += size
    for part in range(n):
        to = place[parts[part, SOURCE]]
        at, begin, end = found[to, END], parts[part, BEGIN], parts[part, END]
        _copy(updates.paths, begin, end, grouped.paths, at)
        _copy(updates.times_ns, begin, end, grouped.times_ns, at)
        _copy(updates.kinds, begin, end, grouped.kinds, at)
        _copy(updates.numbers, begin, end, grouped.numbers, at)
        for row in range(begin, end):
            if updates.kinds[row] == _TEXT:
                grouped.texts[at + row - begin, 0] = updates.texts[row, 0]
                grouped.texts[at + row - begin, 1] = updates.texts[row, 1]
        found[to, END] = at + end - begin
    return sources


@compiled_uncounted
def _copy(column: NDArray[np.generic], begin: int, end: int, out: NDArray[np.generic], at: int) -> None:
    """Writes rows of a column to another one. A loop for each column, and unsigned places: that vectorises."""
    source, target = np.uint64(begin), np.uint64(at)
    for i in range(np.uint64(end - begin)):
        out[target + i] = column[source + i]


def warm_up() -> None:
    """Compiles what groups updates, or loads it from the disk cache."""
    updates = (*Updates.allocate(1),)
    by_source(allocate_parts(1), 0, updates, np.empty(0, np.int64), allocate_parts(1), updates)
