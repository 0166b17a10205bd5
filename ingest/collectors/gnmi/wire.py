"""A scan of gNMI's wire format: SubscribeResponses in, columns out, no Python object per update.

The protobuf runtime spends its time on handing fields to Python, not on parsing. Here the bytes of prefix and path are
the key of a hash table, so that a known path costs a comparison. What the scan does not read itself (deletes, old
fields, values that are no numbers) it points at.

The compiled code reads bytes that a peer sent: every length is checked against the end of its enclosing field.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., object])


def _compiled(function: F) -> F:
    """Compiled on the first call, cached on disk, and without the interpreter lock while it runs."""
    return cast(F, njit(cache=True, nogil=True)(function))


class Stop(IntEnum):
    """Why a scan stopped."""

    END = 0
    ODD = 1  # the message at ``next`` needs the protobuf runtime: deletes, deprecated fields
    FULL = 2  # the columns are full: take them, then go on at ``next``
    MALFORMED = 3  # the message at ``next`` is no SubscribeResponse


class ValueKind(IntEnum):
    NUMBER = 0
    TEXT = 1  # string_val, ascii_val
    JSON = 2
    BYTES = 3
    OTHER = 4  # the TypedValue is at the offset: decimal, leaf list, …


UNKNOWN = -1
"""The slot of a path that the table does not hold."""

_FNV = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_LOW7 = np.uint64(0x7F)
_HIGH = np.uint8(0x80)


@_compiled
def _signed(number: np.uint64) -> int:
    """Two's complement, as Python's and the compiled code's integer."""
    return np.int64(number)  # type: ignore[return-value]  # the compiled code knows one kind of integer


@_compiled
def _varint(buf: NDArray[np.uint8], at: int, end: int) -> tuple[np.uint64, int]:
    """The number and the place behind it; place -1 when it is cut off or longer than ten bytes."""
    result = np.uint64(0)
    shift = np.uint64(0)
    for i in range(10):
        if at + i >= end:
            return result, -1
        byte = buf[at + i]
        result |= (np.uint64(byte) & _LOW7) << shift
        if byte < _HIGH:
            return result, at + i + 1
        shift += np.uint64(7)
    return result, -1


@_compiled
def _length(buf: NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
    """Length of a length-delimited field and the place of its first byte; place -1 when it passes ``end``."""
    number, place = _varint(buf, at, end)
    if place < 0 or number > np.uint64(end - place):
        return 0, -1
    return _signed(number), place


@_compiled
def _skip(buf: NDArray[np.uint8], at: int, end: int, wire_type: int) -> int:
    """The place behind a field that nobody reads; -1 when malformed. Groups are not part of proto3."""
    if wire_type == 0:
        return _varint(buf, at, end)[1]
    if wire_type == 2:
        length, place = _length(buf, at, end)
        return place + length if place >= 0 else -1
    if wire_type == 1:
        return at + 8 if at + 8 <= end else -1
    if wire_type == 5:
        return at + 4 if at + 4 <= end else -1
    return -1


@_compiled
def _hash(buf: NDArray[np.uint8], start: int, length: int, seed: np.uint64) -> np.uint64:
    """FNV over words of eight bytes, mixed."""
    result = seed
    words = length // 8
    for i in range(words):
        at = start + 8 * i
        word = np.uint64(0)
        for k in range(8):
            word |= np.uint64(buf[at + k]) << np.uint64(8 * k)
        result = (result ^ word) * _PRIME
        result ^= result >> np.uint64(29)
    for i in range(start + 8 * words, start + length):
        result = (result ^ np.uint64(buf[i])) * _PRIME
    result = (result ^ np.uint64(length)) * _MIX
    return result ^ (result >> np.uint64(32))


@_compiled
def _find(
    buf: NDArray[np.uint8],
    pre: int,
    pre_n: int,
    path: int,
    path_n: int,
    key: np.uint64,
    table: NDArray[np.int32],
    arena: NDArray[np.uint8],
    spans: NDArray[np.int64],
) -> int:
    """The slot of prefix and path, their bytes compared, or UNKNOWN. spans: start, length of prefix, length of path."""
    mask = np.uint64(table.size - 1)
    place = key & mask
    while table[place] >= 0:
        slot = table[place]
        if spans[slot, 1] == pre_n and spans[slot, 2] == path_n and spans[slot, 3] == _signed(key >> np.uint64(1)):
            at = spans[slot, 0]
            same = True
            for i in range(pre_n):
                if arena[at + i] != buf[pre + i]:
                    same = False
                    break
            at += pre_n
            for i in range(path_n):
                if not same or arena[at + i] != buf[path + i]:
                    same = False
                    break
            if same:
                return int(slot)
        place = (place + np.uint64(1)) & mask
    return -1


@_compiled
def _value(
    buf: NDArray[np.uint8], at: int, end: int, bits: NDArray[np.uint64], bits32: NDArray[np.uint32]
) -> tuple[int, float, int, int]:
    """Kind, number, place and length of a TypedValue in at..end; kind -1 when malformed."""
    kind, number, where, size = 4, 0.0, at, end - at
    while at < end:
        tag, at = _varint(buf, at, end)
        if at < 0:
            return -1, 0.0, 0, 0
        field, wire = _signed(tag >> np.uint64(3)), _signed(tag & np.uint64(7))
        if wire == 0 and 2 <= field <= 4:
            raw, at = _varint(buf, at, end)
            if at < 0:
                return -1, 0.0, 0, 0
            kind = 0
            number = float(_signed(raw)) if field == 2 else float(raw)
        elif field == 14 and wire == 1 and at + 8 <= end:
            bits[0] = 0
            for k in range(8):
                bits[0] |= np.uint64(buf[at + k]) << np.uint64(8 * k)
            kind, number, at = 0, bits.view(np.float64)[0], at + 8
        elif field == 6 and wire == 5 and at + 4 <= end:
            bits32[0] = 0
            for k in range(4):
                bits32[0] |= np.uint32(buf[at + k]) << np.uint32(8 * k)
            kind, number, at = 0, float(bits32.view(np.float32)[0]), at + 4
        elif wire == 2 and (field == 1 or field == 5 or 10 <= field <= 12):
            size, at = _length(buf, at, end)
            if at < 0:
                return -1, 0.0, 0, 0
            kind = 3 if field == 5 else 2 if field <= 11 and field >= 10 else 1
            where = at
            at += size
        else:
            kind = 4
            at = _skip(buf, at, end, wire)
            if at < 0:
                return -1, 0.0, 0, 0
    return kind, number, where, size


@_compiled
def scan(
    buf: NDArray[np.uint8],
    ends: NDArray[np.int64],
    first: int,
    table: NDArray[np.int32],
    arena: NDArray[np.uint8],
    spans: NDArray[np.int64],
    slots: NDArray[np.int32],
    kinds: NDArray[np.int8],
    numbers: NDArray[np.float64],
    times: NDArray[np.int64],
    places: NDArray[np.int64],
) -> tuple[int, int, int, int]:
    """Reads the messages ``first``.. of ``buf``, each ending at its ``ends``, into the columns.

    places: int64[:, 6], offset and length in ``buf`` of value, prefix and path.
    Returns rows written, the next message, why it stopped (Stop), and how many sync_responses came.
    """
    bits, bits32 = np.zeros(1, np.uint64), np.zeros(1, np.uint32)
    n, syncs = 0, 0
    for message in range(first, ends.size):
        at = ends[message - 1] if message else 0
        end = ends[message]
        begin = n
        while at < end:
            tag, at = _varint(buf, at, end)
            if at < 0:
                return begin, message, 3, syncs
            field, wire = _signed(tag >> np.uint64(3)), _signed(tag & np.uint64(7))
            if field == 1 and wire == 2:
                size, at = _length(buf, at, end)
                if at < 0:
                    return begin, message, 3, syncs
                n, why = _notification(
                    buf, at, at + size, table, arena, spans, n, slots, kinds, numbers, times, places, bits, bits32
                )
                if why:
                    return begin, message, why, syncs
                at += size
            elif field == 3 and wire == 0:
                _, at = _varint(buf, at, end)
                syncs += 1
            elif field == 4:
                return begin, message, 1, syncs
            else:
                at = _skip(buf, at, end, wire)
            if at < 0:
                return begin, message, 3, syncs
    return n, ends.size, 0, syncs


@_compiled
def _notification(
    buf: NDArray[np.uint8],
    start: int,
    end: int,
    table: NDArray[np.int32],
    arena: NDArray[np.uint8],
    spans: NDArray[np.int64],
    n: int,
    slots: NDArray[np.int32],
    kinds: NDArray[np.int8],
    numbers: NDArray[np.float64],
    times: NDArray[np.int64],
    places: NDArray[np.int64],
    bits: NDArray[np.uint64],
    bits32: NDArray[np.uint32],
) -> tuple[int, int]:
    """The updates of one Notification; fields may come in any order, so prefix and time are sought first."""
    time, pre, pre_n, prefixes = 0, start, 0, 0
    at = start
    while at < end:
        tag, at = _varint(buf, at, end)
        if at < 0:
            return n, 3
        field, wire = _signed(tag >> np.uint64(3)), _signed(tag & np.uint64(7))
        if field == 1 and wire == 0:
            raw, at = _varint(buf, at, end)
            time = _signed(raw)
        elif field == 2 and wire == 2:
            pre_n, pre = _length(buf, at, end)
            prefixes += 1
            at = pre + pre_n if pre >= 0 else -1
        elif field == 5:
            return n, 1
        else:
            at = _skip(buf, at, end, wire)
        if at < 0:
            return n, 3
    if prefixes > 1:
        return n, 1
    seed = _hash(buf, pre, pre_n, _FNV)
    at = start
    while at < end:
        tag, at = _varint(buf, at, end)
        field, wire = _signed(tag >> np.uint64(3)), _signed(tag & np.uint64(7))
        if field != 4 or wire != 2:
            at = _skip(buf, at, end, wire)
            continue
        size, at = _length(buf, at, end)
        stop = at + size
        path, path_n, kind, number, where, where_n = at, 0, 4, 0.0, at, 0
        while at < stop:
            tag, at = _varint(buf, at, stop)
            if at < 0:
                return n, 3
            field, wire = _signed(tag >> np.uint64(3)), _signed(tag & np.uint64(7))
            if field == 1 and wire == 2:
                path_n, path = _length(buf, at, stop)
                at = path + path_n if path >= 0 else -1
            elif field == 3 and wire == 2:
                where_n, where = _length(buf, at, stop)
                if where < 0:
                    return n, 3
                at = where + where_n
                kind, number, where, where_n = _value(buf, where, at, bits, bits32)
                if kind < 0:
                    return n, 3
            elif field == 2:
                return n, 1
            else:
                at = _skip(buf, at, stop, wire)
            if at < 0:
                return n, 3
        if n == slots.size:
            return n, 2
        key = _hash(buf, path, path_n, seed)
        slots[n] = _find(buf, pre, pre_n, path, path_n, key, table, arena, spans)
        kinds[n], numbers[n], times[n] = kind, number, time
        places[n, 0], places[n, 1] = where, where_n
        places[n, 2], places[n, 3] = pre, pre_n
        places[n, 4], places[n, 5] = path, path_n
        n += 1
    return n, 0


@_compiled
def _path_key(buf: NDArray[np.uint8], pre_n: int) -> np.uint64:
    return _hash(buf, pre_n, buf.size - pre_n, _hash(buf, 0, pre_n, _FNV))


class PathTable:
    """Serialised prefix and path -> slot, 0, 1, 2, … in the order of ``add``; open addressing, at most half full."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.table: NDArray[np.int32] = np.full(1024, UNKNOWN, np.int32)
        self.arena: NDArray[np.uint8] = np.empty(64 * 1024, np.uint8)
        self.spans: NDArray[np.int64] = np.zeros((512, 4), np.int64)
        self._used = 0
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, prefix: bytes, path: bytes) -> int:
        """The slot of a path that is not in the table yet."""
        data = np.frombuffer(prefix + path, np.uint8)
        key = int(_path_key(data, len(prefix)))
        if 2 * (self._count + 1) > self.table.size:
            self._grow()
        while self._used + data.size > self.arena.size:
            self.arena = np.concatenate((self.arena, np.empty_like(self.arena)))
        slot = self._count
        self.arena[self._used : self._used + data.size] = data
        self.spans[slot] = (self._used, len(prefix), len(path), key >> 1)
        self._used += data.size
        self._count += 1
        self._place(slot, key)
        return slot

    def find(self, prefix: bytes, path: bytes) -> int:
        data = np.frombuffer(prefix + path, np.uint8)
        key = np.uint64(_path_key(data, len(prefix)))
        args: Any = (data, 0, len(prefix), len(prefix), len(path), key, self.table, self.arena, self.spans)
        return int(_find(*args))

    def _place(self, slot: int, key: int) -> None:
        place = key & (self.table.size - 1)
        while self.table[place] >= 0:
            place = (place + 1) & (self.table.size - 1)
        self.table[place] = slot

    def _grow(self) -> None:
        self.table = np.full(2 * self.table.size, UNKNOWN, np.int32)
        self.spans = np.concatenate((self.spans, np.zeros_like(self.spans)))
        for slot in range(self._count):
            start, prefix_n, path_n, _ = self.spans[slot].tolist()
            self._place(slot, int(_path_key(self.arena[start : start + prefix_n + path_n], prefix_n)))


def warm() -> None:
    """Compiles the scan, or loads it from the disk cache: seconds on a fresh machine, so not on the event loop."""
    paths = PathTable()
    paths.add(b"p", b"q")
    paths.find(b"p", b"q")
    columns = (
        np.empty(1, np.int32),
        np.empty(1, np.int8),
        np.empty(1),
        np.empty(1, np.int64),
        np.empty((1, 6), np.int64),
    )
    scan(np.zeros(0, np.uint8), np.zeros(0, np.int64), 0, paths.table, paths.arena, paths.spans, *columns)
