"""A scan of one Telemetry message in self-describing GPB: rows of names and values in, columns out.

A row of a known shape is followed name by name in a table of what is below what; its numbers become columns, and no
Python object is made. Every other row is handed over as a whole.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled
from common.wire.hashed_bytes import HashArrays, HashIndex
from common.wire.protobuf import length, little_endian, signed, skip, varint
from common.wire.span_table import SpanTable, find
from ingest.collectors.gnmi.decode.scan import Scanned, ScannedArrays

DEPTH_MAX = 16  # containers in a row; deeper ones are Python's


FieldHead = tuple[int, int, int, float, int, int, int, int]


class Shape(IntEnum):
    """Of a row, by the slot of its keys."""

    UNKNOWN = 0
    FLAT = 1  # containers and leaves, each name once
    LISTED = 2  # holds lists: Python reads it each time


class Stop(IntEnum):
    END = 0
    FULL = 1  # the columns are too short
    MALFORMED = 2  # no Telemetry message


@compiled
def scan_message(
    buf: NDArray[np.uint8],
    nodes: HashArrays,
    shapes: NDArray[np.int8],
    columns: ScannedArrays,
    rows: NDArray[np.int64],
    header: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Reads a message into the columns, and the rows that Python has to read into ``rows``.

    rows: int64[n, 3], offset and length of a row, and its time in nanoseconds. header: int64[6], receives offset and
    length of node_id_str and of encoding_path, msg_timestamp in milliseconds, and the bytes of compact GPB.
    Returns how many columns, how many rows, and why it stopped (Stop).
    """
    index = HashIndex(nodes[0], nodes[1], nodes[2])
    bits = np.zeros(1, np.uint64)
    stack = np.zeros((DEPTH_MAX, 3), np.int64)
    header[:] = 0
    end = buf.size
    at = 0
    while at < end:
        tag, at = varint(buf, at, end)
        if at < 0:
            return 0, 0, 2
        field, wire = signed(tag >> np.uint64(3)), signed(tag & np.uint64(7))
        if wire == 2 and (field == 1 or field == 6 or field == 12):
            size, start = length(buf, at, end)
            if start < 0:
                return 0, 0, 2
            if field == 12:
                header[5] += size
            else:
                place = 0 if field == 1 else 2
                header[place], header[place + 1] = start, size
            at = start + size
        elif field == 10 and wire == 0:
            number, at = varint(buf, at, end)
            header[4] = signed(number)
        else:
            at = skip(buf, at, end, wire)
        if at < 0:
            return 0, 0, 2
    path = find(buf, header[2], header[3], 0, index)
    n, m, at = 0, 0, 0
    while at < end:
        tag, at = varint(buf, at, end)
        if signed(tag) != 90:  # data_gpbkv = 11
            at = skip(buf, at, end, signed(tag & np.uint64(7)))
            continue
        size, at = length(buf, at, end)
        before = n
        n, time_ms = _row(buf, at, at + size, path, index, shapes, columns, n, stack, bits)
        if time_ms == 0:
            time_ms = header[4]
        time_ns = time_ms * 1_000_000 if 0 <= time_ms < 9_000_000_000_000 else 0
        if n == -2:
            return before, m, 1
        if n == -3:
            return before, m, 2
        if n < 0:
            n = before
            if m == rows.shape[0]:
                return n, m, 1
            rows[m, 0], rows[m, 1], rows[m, 2] = at, size, time_ns
            m += 1
        else:
            times = columns[3]
            for i in range(before, n):
                times[i] = time_ns
        at += size
    return n, m, 0


@compiled
def _field(buf: NDArray[np.uint8], at: int, end: int, bits: NDArray[np.uint64]) -> FieldHead:
    """The head of a TelemetryField: offset and length of its name; kind, number, offset and length of its value; offset
    of its first nested field, ``end`` without one; its timestamp.

    kind: -1 without a value, else as ``ValueKind``: 0 a number, 1 text, 3 bytes. A negative offset is malformed.
    """
    name, name_n, kind, number, where, size, time = at, 0, -1, 0.0, at, 0, 0
    while at < end:
        begin = at
        tag, at = varint(buf, at, end)
        if at < 0:
            return -1, 0, 0, 0.0, 0, 0, 0, 0
        field, wire = signed(tag >> np.uint64(3)), signed(tag & np.uint64(7))
        if field == 15 and wire == 2:
            return name, name_n, kind, number, where, size, begin, time
        if field == 2 and wire == 2:
            name_n, name = length(buf, at, end)
            at = name + name_n if name >= 0 else -1
        elif (field == 4 or field == 5) and wire == 2:
            size, where = length(buf, at, end)
            kind = 3 if field == 4 else 1
            at = where + size if where >= 0 else -1
        elif wire == 0 and (field == 1 or 6 <= field <= 10):
            raw, at = varint(buf, at, end)
            if field == 1:
                time = signed(raw)
            elif field >= 9:  # zigzag
                kind = 0
                number = float(signed(raw >> np.uint64(1)) ^ -signed(raw & np.uint64(1)))
            else:
                kind, number = 0, float(raw)
        elif field == 11 and wire == 1 and at + 8 <= end:
            bits[0] = little_endian(buf, at, 8)
            kind, number, at = 0, bits.view(np.float64)[0], at + 8
        elif field == 12 and wire == 5 and at + 4 <= end:
            bits[0] = little_endian(buf, at, 4)
            kind, number, at = 0, float(bits.view(np.float32)[0]), at + 4
        else:
            at = skip(buf, at, end, wire)
        if at < 0:
            return -1, 0, 0, 0.0, 0, 0, 0, 0
    return name, name_n, kind, number, where, size, end, time


@compiled
def _keys(buf: NDArray[np.uint8], at: int, end: int, parent: int, index: HashIndex, bits: NDArray[np.uint64]) -> int:
    """The slot of the keys in at..end, the nested fields of ``keys``, below ``parent``; -1 for unknown ones."""
    slot = parent
    while at < end:
        tag, at = varint(buf, at, end)
        if signed(tag) != 122:  # fields = 15
            at = skip(buf, at, end, signed(tag & np.uint64(7))) if at >= 0 else -1
            if at < 0:
                return -1
            continue
        size, at = length(buf, at, end)
        if at < 0:
            return -1
        name, name_n, kind, _, where, value_n, nested, _ = _field(buf, at, at + size, bits)
        if name < 0 or nested < at + size or kind != 1:  # keys that are no text are Python's
            return -1
        slot = find(buf, name, name_n, slot + 1, index)
        slot = find(buf, where, value_n, slot + 1, index) if slot >= 0 else -1
        if slot < 0:
            return -1
        at += size
    return slot


@compiled
def _row(
    buf: NDArray[np.uint8],
    start: int,
    end: int,
    path: int,
    index: HashIndex,
    shapes: NDArray[np.int8],
    columns: ScannedArrays,
    n: int,
    stack: NDArray[np.int64],
    bits: NDArray[np.uint64],
) -> tuple[int, int]:
    """The leaves of one row. Returns columns written by now, and the row's own time in milliseconds, 0 for none.

    In place of the columns: -1 when Python has to read the row, -2 when they are full, -3 when it is malformed.
    """
    slots, kinds, numbers, offsets = columns[0], columns[1], columns[2], columns[4]
    head, _, _, _, _, _, at, time = _field(buf, start, end, bits)
    if head < 0:
        return -3, 0
    keys, keys_end, content, content_end = 0, 0, 0, 0
    while at < end:
        tag, at = varint(buf, at, end)
        if at < 0:
            return -3, 0
        if signed(tag) != 122:
            at = skip(buf, at, end, signed(tag & np.uint64(7)))
            if at < 0:
                return -3, 0
            if signed(tag) == 128:  # delete = 16
                return -1, time
            continue
        size, at = length(buf, at, end)
        if at < 0:
            return -3, 0
        name, name_n, _, _, _, _, nested, _ = _field(buf, at, at + size, bits)
        if name < 0:
            return -3, 0
        if name_n == 4 and buf[name] == 107:  # keys
            keys, keys_end = nested, at + size
        elif name_n == 7 and buf[name] == 99:  # content
            content, content_end = nested, at + size
        at += size
    if path < 0:
        return -1, time
    row = _keys(buf, keys, keys_end, path, index, bits)
    if row < 0 or shapes[row] != 1:
        return -1, time
    depth = 0
    stack[0, 0], stack[0, 1], stack[0, 2] = content, content_end, row
    while depth >= 0:
        at, stop = stack[depth, 0], stack[depth, 1]
        if at >= stop:
            depth -= 1
            continue
        tag, at = varint(buf, at, stop)
        if at < 0:
            return -3, 0
        if signed(tag) != 122:
            at = skip(buf, at, stop, signed(tag & np.uint64(7)))
            if at < 0:
                return -3, 0
            stack[depth, 0] = at
            continue
        size, at = length(buf, at, stop)
        if at < 0:
            return -3, 0
        name, name_n, kind, number, where, value_n, nested, _ = _field(buf, at, at + size, bits)
        if name < 0:
            return -3, 0
        node = find(buf, name, name_n, stack[depth, 2] + 1, index) if name_n else -1
        if node < 0:
            return -1, time
        stack[depth, 0] = at + size
        if nested < at + size:
            depth += 1
            if depth == DEPTH_MAX:
                return -1, time
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = nested, at + size, node
        elif kind >= 0:
            if n == slots.size:
                return -2, 0
            slots[n], kinds[n], numbers[n] = node, kind, number
            offsets[n, 0], offsets[n, 1] = where, value_n
            n += 1
    return n, time


def warm_up() -> None:
    """Compiles the scan, or loads it from the disk cache."""
    table = SpanTable()
    table.add(b"a", 0)
    table.get(b"a", 0)
    nothing, shapes = np.zeros(0, np.uint8), np.zeros(1, np.int8)
    rows, header = np.zeros((1, 3), np.int64), np.zeros(6, np.int64)
    scan_message(nothing, (*table.index,), shapes, (*Scanned.allocate(1),), rows, header)
