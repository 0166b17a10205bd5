"""A scan of gNMI's wire format: SubscribeResponses in, columns out, no Python object per update.

The protobuf runtime spends its time on handing fields to Python, not on parsing. Here the bytes of prefix and path are
the key of a hash table, so that a known path costs a comparison. For what the scan does not read itself (deletes, old
fields, values that are no numbers) it returns the offsets.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled, compiled_uncounted
from common.wire.hashed_bytes import HashArrays, HashIndex
from common.wire.protobuf import length, little_endian, signed, skip, varint
from common.wire.spans import FNV, hash_of
from ingest.collectors.gnmi.decode.path_table import PathTable, find_slot


class Stop(IntEnum):
    """Why a scan stopped."""

    END = 0
    NEEDS_PROTOBUF = 1  # the message at ``next`` holds deletes or deprecated fields
    FULL = 2  # the columns are full: read them, then continue at ``next``
    MALFORMED = 3  # the message at ``next`` is no SubscribeResponse


class ValueKind(IntEnum):
    NUMBER = 0
    TEXT = 1  # string_val, ascii_val
    JSON = 2
    BYTES = 3
    OTHER = 4  # the TypedValue is at the offset: decimal, leaf list, …


class Scanned(NamedTuple):
    """The columns that a scan fills, one row an update.

    slots: of the path. kinds: ``ValueKind``. numbers: where the kind is NUMBER. times: event time in nanoseconds.
    offsets: int64[:, 6], offset and length in the scanned bytes of value, prefix and path.
    """

    slots: NDArray[np.int32]
    kinds: NDArray[np.int8]
    numbers: NDArray[np.float64]
    times: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @classmethod
    def allocate(cls, n: int) -> "Scanned":
        return cls(
            np.empty(n, np.int32),
            np.empty(n, np.int8),
            np.empty(n, np.float64),
            np.empty(n, np.int64),
            np.empty((n, 6), np.int64),
        )


ScannedArrays = tuple[NDArray[np.int32], NDArray[np.int8], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]
"""``Scanned`` as a plain tuple, in which it enters compiled code: a NamedTuple costs numba a microsecond more."""


@compiled_uncounted
def _value(buf: NDArray[np.uint8], at: int, end: int, bits: NDArray[np.uint64]) -> tuple[int, float, int, int]:
    """Kind, number, offset and length of a TypedValue in at..end; kind -1 when malformed. bits: one word of scratch."""
    kind, number, where, size = 4, 0.0, at, end - at
    while at < end:
        tag, at = varint(buf, at, end)
        if at < 0:
            return -1, 0.0, 0, 0
        field, wire = signed(tag >> np.uint64(3)), signed(tag & np.uint64(7))
        if wire == 0 and 2 <= field <= 4:
            raw, at = varint(buf, at, end)
            if at < 0:
                return -1, 0.0, 0, 0
            kind = 0
            number = float(signed(raw)) if field == 2 else float(raw)
        elif field == 14 and wire == 1 and at + 8 <= end:
            bits[0] = little_endian(buf, at, 8)
            kind, number, at = 0, bits.view(np.float64)[0], at + 8
        elif field == 6 and wire == 5 and at + 4 <= end:
            bits[0] = little_endian(buf, at, 4)
            kind, number, at = 0, float(bits.view(np.float32)[0]), at + 4
        elif wire == 2 and (field == 1 or field == 5 or 10 <= field <= 12):
            size, at = length(buf, at, end)
            if at < 0:
                return -1, 0.0, 0, 0
            kind = 3 if field == 5 else 2 if field <= 11 and field >= 10 else 1
            where = at
            at += size
        else:
            kind = 4
            at = skip(buf, at, end, wire)
            if at < 0:
                return -1, 0.0, 0, 0
    return kind, number, where, size


@compiled
def scan_messages(
    buf: NDArray[np.uint8], ends: NDArray[np.int64], first: int, path_arrays: HashArrays, columns: ScannedArrays
) -> tuple[int, int, int, int]:
    """Reads the messages ``first``.. of ``buf``, each ending at its ``ends``, into the columns.

    Returns rows written, the next message, why it stopped (Stop), and the count of sync_responses.
    """
    paths, scanned = HashIndex(*path_arrays), Scanned(*columns)
    bits = np.zeros(1, np.uint64)
    n, syncs = 0, 0
    for message in range(first, ends.size):
        at = ends[message - 1] if message else 0
        end = ends[message]
        begin = n
        while at < end:
            tag, at = varint(buf, at, end)
            if at < 0:
                return begin, message, 3, syncs
            field, wire = signed(tag >> np.uint64(3)), signed(tag & np.uint64(7))
            if field == 1 and wire == 2:
                size, at = length(buf, at, end)
                if at < 0:
                    return begin, message, 3, syncs
                n, why = _notification(buf, at, at + size, paths, n, scanned, bits)
                if why:
                    return begin, message, why, syncs
                at += size
            elif field == 3 and wire == 0:
                _, at = varint(buf, at, end)
                syncs += 1
            elif field == 4:
                return begin, message, 1, syncs
            else:
                at = skip(buf, at, end, wire)
            if at < 0:
                return begin, message, 3, syncs
    return n, ends.size, 0, syncs


@compiled_uncounted
def _notification(
    buf: NDArray[np.uint8],
    start: int,
    end: int,
    paths: HashIndex,
    n: int,
    scanned: Scanned,
    bits: NDArray[np.uint64],
) -> tuple[int, int]:
    """The updates of one Notification; fields may come in any order, so prefix and time are read first."""
    time, pre, pre_n, prefixes = 0, start, 0, 0
    at = start
    while at < end:
        tag, at = varint(buf, at, end)
        if at < 0:
            return n, 3
        field, wire = signed(tag >> np.uint64(3)), signed(tag & np.uint64(7))
        if field == 1 and wire == 0:
            raw, at = varint(buf, at, end)
            time = signed(raw)
        elif field == 2 and wire == 2:
            pre_n, pre = length(buf, at, end)
            prefixes += 1
            at = pre + pre_n if pre >= 0 else -1
        elif field == 5:
            return n, 1
        else:
            at = skip(buf, at, end, wire)
        if at < 0:
            return n, 3
    if prefixes > 1:
        return n, 1
    seed = hash_of(buf, pre, pre_n, FNV)
    at = start
    while at < end:
        tag, at = varint(buf, at, end)
        field, wire = signed(tag >> np.uint64(3)), signed(tag & np.uint64(7))
        if field != 4 or wire != 2:
            at = skip(buf, at, end, wire)
            continue
        size, at = length(buf, at, end)
        stop = at + size
        path, path_n, kind, number, where, where_n = at, 0, 4, 0.0, at, 0
        while at < stop:
            tag, at = varint(buf, at, stop)
            if at < 0:
                return n, 3
            field, wire = signed(tag >> np.uint64(3)), signed(tag & np.uint64(7))
            if field == 1 and wire == 2:
                path_n, path = length(buf, at, stop)
                at = path + path_n if path >= 0 else -1
            elif field == 3 and wire == 2:
                where_n, where = length(buf, at, stop)
                if where < 0:
                    return n, 3
                at = where + where_n
                kind, number, where, where_n = _value(buf, where, at, bits)
                if kind < 0:
                    return n, 3
            elif field == 2:
                return n, 1
            else:
                at = skip(buf, at, stop, wire)
            if at < 0:
                return n, 3
        if n == scanned.slots.size:
            return n, 2
        key = hash_of(buf, path, path_n, seed)
        scanned.slots[n] = find_slot(buf, pre, pre_n, path, path_n, key, paths)
        scanned.kinds[n], scanned.numbers[n], scanned.times[n] = kind, number, time
        offsets = scanned.offsets
        offsets[n, 0], offsets[n, 1] = where, where_n
        offsets[n, 2], offsets[n, 3] = pre, pre_n
        offsets[n, 4], offsets[n, 5] = path, path_n
        n += 1
    return n, 0


def warm_up() -> None:
    """Compiles the scan, or loads it from the disk cache."""
    paths = PathTable()
    paths.add(b"p", b"q")
    paths.get(b"p", b"q")
    scan_messages(np.frombuffer(b"", np.uint8), np.zeros(0, np.int64), 0, (*paths.index,), (*Scanned.allocate(1),))
