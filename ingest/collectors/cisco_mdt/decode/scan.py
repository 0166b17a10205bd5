"""A scan of Telemetry messages in self-describing GPB: rows of names and values in, columns out.

A row of a known shape is followed name by name in a table of what is below what; its numbers become columns, and no
Python object is made. Every other row is handed over as a whole.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled, compiled_uncounted
from common.wire.hashed_bytes import HashArrays, HashIndex
from common.wire.protobuf import length, signed, skip, varint
from common.wire.span_table import SpanTable, find
from ingest.collectors.cisco_mdt.decode.field_head import field_head
from ingest.collectors.cisco_mdt.decode.object_scan import FRAMES_MAX, scan_objects
from ingest.collectors.gnmi.decode.scan import Scanned, ScannedArrays

DEPTH_MAX = 16  # containers in a row; deeper ones are Python's


class Stop(IntEnum):
    """Why a scan stopped."""

    END = 0
    FULL = 1  # the columns are full: read them, then continue at ``next``
    MALFORMED = 2  # the message at ``next`` is no Telemetry message
    NEEDS_PYTHON = (
        3  # the message at ``next`` has rows that Python reads, or compact GPB; the others are in the columns
    )


@compiled
def scan_messages(
    buf: NDArray[np.uint8],
    ends: NDArray[np.int64],
    first: int,
    nodes: HashArrays,
    shapes: NDArray[np.int8],
    columns: ScannedArrays,
    rows: NDArray[np.int64],
    header: NDArray[np.int64],
) -> tuple[int, int, int, int, int]:
    """Reads the messages ``first``.. of ``buf``, each ending at its ``ends``, into the columns.

    rows: int64[n, 3], of the message at which it stopped the rows that Python has to read: offset and length, and the
    time in nanoseconds. header: int64[6], of that message offset and length of node_id_str and of encoding_path,
    msg_timestamp in milliseconds, and the bytes of compact GPB.
    Returns how many columns, how many rows, the next message, why it stopped (Stop), and how many values of objects
    nothing reads, which are in no column.
    """
    bits, stack = np.zeros(1, np.uint64), np.zeros((FRAMES_MAX, 6), np.int64)
    n, left_out = 0, 0
    for message in range(first, ends.size):
        begin = ends[message - 1] if message else 0
        read, m, why, more = _message(buf, begin, ends[message], nodes, shapes, columns, n, rows, header, stack, bits)
        if why == 0:
            n, left_out = read, left_out + more
            if m == 0 and header[5] == 0:
                continue
            why = 3
        return n, m, message, why, left_out
    return n, 0, ends.size, 0, left_out


@compiled_uncounted
def _message(
    buf: NDArray[np.uint8],
    at: int,
    end: int,
    nodes: HashArrays,
    shapes: NDArray[np.int8],
    columns: ScannedArrays,
    n: int,
    rows: NDArray[np.int64],
    header: NDArray[np.int64],
    stack: NDArray[np.int64],
    bits: NDArray[np.uint64],
) -> tuple[int, int, int, int]:
    """Appends one message to the columns, of which ``n`` are taken.

    Returns columns, rows for Python, a Stop, and how many values of objects nothing reads.
    """
    index = HashIndex(nodes[0], nodes[1], nodes[2])
    header[:] = 0
    begin = at
    while at < end:
        tag, at = varint(buf, at, end)
        if at < 0:
            return 0, 0, 2, 0
        field, wire = signed(tag >> np.uint64(3)), signed(tag & np.uint64(7))
        if wire == 2 and (field == 1 or field == 6 or field == 12):
            size, start = length(buf, at, end)
            if start < 0:
                return 0, 0, 2, 0
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
            return 0, 0, 2, 0
    path = find(buf, header[2], header[3], 0, index)
    m, at, left_out = 0, begin, 0
    while at < end:
        tag, at = varint(buf, at, end)
        if signed(tag) != 90:  # data_gpbkv = 11
            at = skip(buf, at, end, signed(tag & np.uint64(7)))
            continue
        size, at = length(buf, at, end)
        before = n
        n, time_ms, more = _row(buf, at, at + size, path, index, shapes, columns, n, stack, bits)
        if time_ms == 0:
            time_ms = header[4]
        time_ns = time_ms * 1_000_000 if 0 <= time_ms < 9_000_000_000_000 else 0
        if n == -2:
            return 0, 0, 1, 0
        if n == -3:
            return 0, 0, 2, 0
        if n < 0:
            n = before
            if m == rows.shape[0]:
                return 0, 0, 1, 0
            rows[m, 0], rows[m, 1], rows[m, 2] = at, size, time_ns
            m += 1
        else:
            left_out += more
            times = columns[3]
            for i in range(before, n):
                times[i] = time_ns
        at += size
    return n, m, 0, left_out


@compiled_uncounted
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
        name, name_n, kind, _, where, value_n, nested, _ = field_head(buf, at, at + size, bits)
        if name < 0 or nested < at + size or kind != 1:  # keys that are no text are Python's
            return -1
        slot = find(buf, name, name_n, slot + 1, index)
        slot = find(buf, where, value_n, slot + 1, index) if slot >= 0 else -1
        if slot < 0:
            return -1
        at += size
    return slot


@compiled_uncounted
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
) -> tuple[int, int, int]:
    """The leaves of one row.

    Returns columns written by now, the row's own time in milliseconds, 0 for none, and how many values of objects
    nothing reads.

    In place of the columns: -1 when Python has to read the row, -2 when they are full, -3 when it is malformed.
    """
    slots, kinds, numbers, offsets = columns[0], columns[1], columns[2], columns[4]
    head, _, _, _, _, _, at, time = field_head(buf, start, end, bits)
    if head < 0:
        return -3, 0, 0
    keys, keys_end, content, content_end = 0, 0, 0, 0
    while at < end:
        tag, at = varint(buf, at, end)
        if at < 0:
            return -3, 0, 0
        if signed(tag) != 122:
            at = skip(buf, at, end, signed(tag & np.uint64(7)))
            if at < 0:
                return -3, 0, 0
            if signed(tag) == 128:  # delete = 16
                return -1, time, 0
            continue
        size, at = length(buf, at, end)
        if at < 0:
            return -3, 0, 0
        name, name_n, _, _, _, _, nested, _ = field_head(buf, at, at + size, bits)
        if name < 0:
            return -3, 0, 0
        if name_n == 4 and buf[name] == 107:  # keys
            keys, keys_end = nested, at + size
        elif name_n == 7 and buf[name] == 99:  # content
            content, content_end = nested, at + size
        at += size
    if path < 0:
        return -1, time, 0
    if shapes[path] == 3:
        n, left_out = scan_objects(buf, content, content_end, path, index, shapes, columns, n, stack, bits)
        return n, time, left_out
    row = _keys(buf, keys, keys_end, path, index, bits)
    if row < 0 or shapes[row] != 1:
        return -1, time, 0
    depth = 0
    stack[0, 0], stack[0, 1], stack[0, 2] = content, content_end, row
    while depth >= 0:
        at, stop = stack[depth, 0], stack[depth, 1]
        if at >= stop:
            depth -= 1
            continue
        tag, at = varint(buf, at, stop)
        if at < 0:
            return -3, 0, 0
        if signed(tag) != 122:
            at = skip(buf, at, stop, signed(tag & np.uint64(7)))
            if at < 0:
                return -3, 0, 0
            stack[depth, 0] = at
            continue
        size, at = length(buf, at, stop)
        if at < 0:
            return -3, 0, 0
        name, name_n, kind, number, where, value_n, nested, _ = field_head(buf, at, at + size, bits)
        if name < 0:
            return -3, 0, 0
        node = find(buf, name, name_n, stack[depth, 2] + 1, index) if name_n else -1
        if node < 0:
            return -1, time, 0
        stack[depth, 0] = at + size
        if nested < at + size:
            depth += 1
            if depth == DEPTH_MAX:
                return -1, time, 0
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = nested, at + size, node
        elif kind >= 0:
            if n == slots.size:
                return -2, 0, 0
            slots[n], kinds[n], numbers[n] = node, kind, number
            offsets[n, 0], offsets[n, 1] = where, value_n
            n += 1
    return n, time, 0


def warm_up() -> None:
    """Compiles the scan, or loads it from the disk cache."""
    table = SpanTable()
    table.add(b"a", 0)
    table.get(b"a", 0)
    nothing, shapes = np.frombuffer(b"", np.uint8), np.zeros(1, np.int8)
    rows, header = np.zeros((1, 3), np.int64), np.zeros(6, np.int64)
    scan_messages(nothing, np.zeros(1, np.int64), 0, (*table.index,), shapes, (*Scanned.allocate(1),), rows, header)
