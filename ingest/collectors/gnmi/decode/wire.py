"""A scan of gNMI's wire format: SubscribeResponses in, columns out, no Python object per update.

The protobuf runtime spends its time on handing fields to Python, not on parsing. Here the bytes of prefix and path are
the key of a hash table, so that a known path costs a comparison. What the scan does not read itself (deletes, old
fields, values that are no numbers) it points at.

The compiled code reads bytes that a peer sent: every length is checked against the end of its enclosing field.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled
from ingest.collectors.gnmi.decode.path_table import FNV, PathTable, find_slot, hash_of, signed


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


_LOW7 = np.uint64(0x7F)
_HIGH = np.uint8(0x80)


@compiled
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


@compiled
def _length(buf: NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
    """Length of a length-delimited field and the place of its first byte; place -1 when it passes ``end``."""
    number, place = _varint(buf, at, end)
    if place < 0 or number > np.uint64(end - place):
        return 0, -1
    return signed(number), place


@compiled
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


@compiled
def _value(
    buf: NDArray[np.uint8], at: int, end: int, bits: NDArray[np.uint64], bits32: NDArray[np.uint32]
) -> tuple[int, float, int, int]:
    """Kind, number, place and length of a TypedValue in at..end; kind -1 when malformed."""
    kind, number, where, size = 4, 0.0, at, end - at
    while at < end:
        tag, at = _varint(buf, at, end)
        if at < 0:
            return -1, 0.0, 0, 0
        field, wire = signed(tag >> np.uint64(3)), signed(tag & np.uint64(7))
        if wire == 0 and 2 <= field <= 4:
            raw, at = _varint(buf, at, end)
            if at < 0:
                return -1, 0.0, 0, 0
            kind = 0
            number = float(signed(raw)) if field == 2 else float(raw)
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


@compiled
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
            field, wire = signed(tag >> np.uint64(3)), signed(tag & np.uint64(7))
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


@compiled
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
        field, wire = signed(tag >> np.uint64(3)), signed(tag & np.uint64(7))
        if field == 1 and wire == 0:
            raw, at = _varint(buf, at, end)
            time = signed(raw)
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
    seed = hash_of(buf, pre, pre_n, FNV)
    at = start
    while at < end:
        tag, at = _varint(buf, at, end)
        field, wire = signed(tag >> np.uint64(3)), signed(tag & np.uint64(7))
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
            field, wire = signed(tag >> np.uint64(3)), signed(tag & np.uint64(7))
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
        key = hash_of(buf, path, path_n, seed)
        slots[n] = find_slot(buf, pre, pre_n, path, path_n, key, table, arena, spans)
        kinds[n], numbers[n], times[n] = kind, number, time
        places[n, 0], places[n, 1] = where, where_n
        places[n, 2], places[n, 3] = pre, pre_n
        places[n, 4], places[n, 5] = path, path_n
        n += 1
    return n, 0


def warm() -> None:
    """Compiles the scan, or loads it from the disk cache."""
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
    scan(np.frombuffer(b"", np.uint8), np.zeros(0, np.int64), 0, paths.table, paths.arena, paths.spans, *columns)
