"""Where compiled scans look up the devices and paths of gnmic's JSON, and what they write: the messages of devices.

A message is written again as protobuf would write it. What it takes of a path are bytes that were made once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled
from common.wire.hashed_bytes import UNKNOWN, HashArrays, HashIndex
from common.wire.numbers import natural, number
from common.wire.protobuf import copy, put_varint, signed, varint_size
from common.wire.span_table import SpanTable, end_of, find
from ingest.collectors.columns import room
from ingest.collectors.kafka_topics.decode.joined import PLAIN
from ingest.collectors.kafka_topics.decode.text_pieces import (
    CLOSE,
    COMMA,
    FALSE,
    MINUS,
    QUOTE,
    TRUE,
    after,
    has_zeros,
    is_plain,
    text_end,
)
from telemetry.gnmi import gnmi_pb2

ROWS, OUT_BYTES = 1 << 16, 4 << 20  # a message that needs more is left to the plain reader
_TEXT, _INT, _BOOL, _DOUBLE = 0x0A, 0x10, 0x20, 0x71  # tags of TypedValue
_RESPONSE_UPDATE, _TIMESTAMP, _UPDATE, _PATH, _VALUE = 0x0A, 0x08, 0x22, 0x0A, 0x1A
_LENGTH_MAX = 10  # bytes of a varint
SOURCE, BEGIN, END = range(3)


class Values(NamedTuple):
    """The updates of one message, a row each.

    paths: int64, slot of the path. tags: int64, of the typed value. words: uint64, what is behind the tag, of a text
    its length. texts: int64, where a text begins.
    """

    paths: NDArray[np.int64]
    tags: NDArray[np.int64]
    words: NDArray[np.uint64]
    texts: NDArray[np.int64]

    @classmethod
    def allocate(cls, n: int) -> "Values":
        whole = np.zeros(n, np.int64)
        return cls(whole, whole.copy(), np.zeros(n, np.uint64), whole.copy())


class Written(NamedTuple):
    """What a scan wrote: bytes, and int64[n, 3] of each message in them its device, begin and end."""

    out: NDArray[np.uint8]
    parts: NDArray[np.int64]

    @classmethod
    def allocate(cls, n: int, size: int) -> "Written":
        return cls(np.empty(size, np.uint8), np.empty((n, 3), np.int64))


class Paths(NamedTuple):
    """arena: uint8, the paths as protobuf writes them. spans: int64[2, slots], begin and size of each in it."""

    arena: NDArray[np.uint8]
    spans: NDArray[np.int64]


ValueArrays = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]]
WrittenArrays = tuple[NDArray[np.uint8], NDArray[np.int64]]
PathArrays = tuple[NDArray[np.uint8], NDArray[np.int64]]


class KnownPaths:
    """Devices and paths by the bytes that name them in a message. sources: the devices by number.

    names_after: int64[>= paths], the path that came after this one the last time, UNKNOWN for none.
    """

    def __init__(self) -> None:
        self._sources, self._heads, self._names = SpanTable(), SpanTable(), SpanTable()
        self._arena: NDArray[np.uint8] = np.zeros(1 << 16, np.uint8)
        self._spans: NDArray[np.int64] = np.zeros((2, 64), np.int64)
        self._source_of: NDArray[np.int64] = np.full(64, UNKNOWN, np.int64)  # by head
        self.names_after: NDArray[np.int64] = np.full(64, UNKNOWN, np.int64)
        self._used = 0
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

    @property
    def paths(self) -> PathArrays:
        return self._arena, self._spans

    def add_source(self, written: bytes, source: str) -> int:
        """The number of a device, a new one where its name is new."""
        number = self._sources.put(written, 0)
        if number == len(self.sources):
            self.sources.append(source)
        return number

    def add(self, head: bytes, name: bytes, path: gnmi_pb2.Path, source: int = UNKNOWN) -> None:
        """A path that is called so below a head, which names a device where ``source`` is its number."""
        parent = self._heads.put(head, 0)
        self._source_of = room(self._source_of, parent, UNKNOWN)
        self._source_of[parent] = source
        if self._names.get(name, parent) != UNKNOWN:
            return
        slot, data = self._names.add(name, parent), path.SerializeToString()
        self._spans, self.names_after = room(self._spans, slot), room(self.names_after, slot, UNKNOWN)
        self._spans[:, slot] = self._used, len(data)
        self._arena = room(self._arena, self._used + len(data))
        self._arena[self._used : self._used + len(data)] = np.frombuffer(data, np.uint8)
        self._used += len(data)


@compiled
def name(buf: NDArray[np.uint8], at: int, end: int, head: int, guess: int, names: HashIndex) -> tuple[int, int]:
    """A path below a head, and where the quote behind it is; PLAIN when it is not known. guess: which it may be."""
    stop = end_of(buf, at, end, guess, names)
    if 0 <= stop < end and buf[stop] == QUOTE and names.spans[guess, 2] == head:
        return guess, stop
    stop = text_end(buf, at, end)
    return (find(buf, at, stop - at, head, names) if stop >= 0 else PLAIN), stop


@compiled
def read_value(buf: NDArray[np.uint8], at: int, end: int, row: int, values: Values) -> int:
    """Writes tag and word of a value, as ``set_value`` sets it; returns the offset after it, or PLAIN."""
    tags, words = values.tags, values.words
    if at < end and buf[at] == QUOTE:
        stop = text_end(buf, at + 1, end)
        if stop < 0 or not is_plain(buf, at + 1, stop):
            return PLAIN
        tags[row], words[row], values.texts[row] = _TEXT, np.uint64(stop - at - 1), at + 1
        return stop + 1
    for word, bit in ((TRUE, np.uint64(1)), (FALSE, np.uint64(0))):
        stop = after(buf, at, end, word)
        if stop >= 0:
            tags[row], words[row] = _BOOL, bit
            return stop
    is_negative = at < end and buf[at] == MINUS
    whole, stop = natural(buf, at + is_negative, end)
    if 0 <= stop < end and (buf[stop] == COMMA or buf[stop] == CLOSE):
        tags[row], words[row] = _INT, np.uint64(-whole if is_negative else whole)
        return stop
    if has_zeros(buf, at, end):
        return PLAIN
    value, stop, is_whole, is_exact = number(buf, at, end)
    if stop < 0 or is_whole or not is_exact:
        return PLAIN
    tags[row], words.view(np.float64)[row] = _DOUBLE, value
    return stop


@compiled
def _value_size(tag: int, word: np.uint64) -> int:
    if tag == _DOUBLE:
        return 9
    return 1 + varint_size(word) + (signed(word) if tag == _TEXT else 0)


@compiled
def write(
    buf: NDArray[np.uint8],
    time_ns: int,
    source: int,
    n: int,
    values: Values,
    paths: Paths,
    written: Written,
    parts: int,
    used: int,
) -> int:
    """Appends a SubscribeResponse of ``n`` updates; returns how many bytes are used, -1 when there is no room."""
    if parts == written.parts.shape[0]:
        return -1
    out, whole = written.out, 1 + varint_size(np.uint64(time_ns))
    for row in range(n):
        path, value = paths.spans[1, values.paths[row]], _value_size(values.tags[row], values.words[row])
        update = 2 + varint_size(np.uint64(path)) + path + varint_size(np.uint64(value)) + value
        whole += 1 + varint_size(np.uint64(update)) + update
    if used + 1 + _LENGTH_MAX + whole > out.size:
        return -1
    begin, at = used, used
    out[at] = _RESPONSE_UPDATE
    at = put_varint(out, at + 1, np.uint64(whole))
    out[at] = _TIMESTAMP
    at = put_varint(out, at + 1, np.uint64(time_ns))
    for row in range(n):
        first, path = paths.spans[0, values.paths[row]], paths.spans[1, values.paths[row]]
        tag, word = values.tags[row], values.words[row]
        value = _value_size(tag, word)
        update = 2 + varint_size(np.uint64(path)) + path + varint_size(np.uint64(value)) + value
        out[at] = _UPDATE
        at = put_varint(out, at + 1, np.uint64(update))
        out[at] = _PATH
        at = copy(paths.arena, first, first + path, out, put_varint(out, at + 1, np.uint64(path)))
        out[at] = _VALUE
        at = put_varint(out, at + 1, np.uint64(value))
        out[at] = tag
        if tag == _DOUBLE:
            for k in range(8):
                out[at + 1 + k] = np.uint8((word >> np.uint64(8 * k)) & np.uint64(0xFF))
            at += 9
        else:
            at = put_varint(out, at + 1, word)
            if tag == _TEXT:
                at = copy(buf, values.texts[row], values.texts[row] + signed(word), out, at)
    written.parts[parts, SOURCE], written.parts[parts, BEGIN], written.parts[parts, END] = source, begin, at
    return at
