"""Values of records from record batches, compiled: what it does not know to be whole is left to ``record_batches``.

Layout of a batch and of a record: https://kafka.apache.org/documentation/#recordbatch
"""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled_uncounted
from common.wire.crc32c import crc32c
from common.wire.protobuf import copy, signed

HEAD_BYTES, HEADER_BYTES = 12, 61  # to where the length counts from; all before the records
MAGIC_AT, CHECKSUM_AT, ATTRIBUTES_AT, LAST_AT, COUNT_AT = 16, 17, 21, 23, 57
MAGIC = 2
DONE, FULL, PACKED, PLAIN = 0, 1, 2, 3
"""Why a scan stops: at the end of the data, or before a batch that has no room, is compressed, or may not be whole."""

RECEIVED, SIZE, TOO_LARGE, TOTALS = 0, 1, 2, 3
"""Records that were read, bytes of their values, and how many of these were above the limit."""

_CODEC, _CONTROL = 0x07, 0x20  # of the attributes
_OFFSET_MAX = 2**62
_ZERO, _ONE, _LOW7, _HIGH = np.uint64(0), np.uint64(1), np.uint64(0x7F), np.uint8(0x80)
_SHIFT_MAX = np.uint64(56)  # of the ninth byte: ten have room for more than 64 bits
RECORD_BYTES_MIN = 7  # length, attributes, time, offset, length of the key and of the value, number of headers


@compiled_uncounted
def big_endian(buf: NDArray[np.uint8], at: int, size: int) -> int:
    """The signed number of ``size`` bytes, 4 or 8."""
    found = np.uint64(0)
    for i in range(size):
        found = found << np.uint64(8) | np.uint64(buf[at + i])
    if size == 4 and found >= np.uint64(1 << 31):
        return signed(found) - (1 << 32)
    return signed(found)


@compiled_uncounted
def _number(buf: NDArray[np.uint8], at: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Twice a number that is not negative, or an odd one (1 for -1), and the offset after it.

    The offset is behind ``end`` where the number is cut off or longer than nine bytes. Offsets are unsigned here: those
    are never negative, and to check that for each byte takes five times as long.
    """
    found, shift = np.uint64(0), np.uint64(0)
    while at < end and shift <= _SHIFT_MAX:
        byte = buf[at]
        at += _ONE
        found |= (np.uint64(byte) & _LOW7) << shift
        if byte < _HIGH:
            return found, at
        shift += np.uint64(7)
    return found, end + _ONE


@compiled_uncounted
def _after_bytes(buf: NDArray[np.uint8], at: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Where bytes begin, none of them for a length of -1, and the offset after them, behind ``end`` where they are."""
    size, at = _number(buf, at, end)
    if at > end or (size & _ONE and size != _ONE):
        return at, end + _ONE
    size >>= _ONE
    return at, at + size if size <= end - at else end + _ONE


@compiled_uncounted
def _after_headers(buf: NDArray[np.uint8], at: np.uint64, end: np.uint64) -> np.uint64:
    """The offset after a record's headers; behind ``end`` where a name has a letter beyond ASCII, maybe no UTF-8."""
    count, at = _number(buf, at, end)
    if at > end or count & _ONE or count >> _ONE > end - at:
        return end + _ONE
    for _ in range(count >> _ONE):
        size, at = _number(buf, at, end)
        if at > end or size & _ONE or size >> _ONE > end - at:
            return end + _ONE
        behind = at + (size >> _ONE)
        while at < behind:
            if buf[at] >= _HIGH:
                return end + _ONE
            at += _ONE
        _, at = _after_bytes(buf, at, end)
        if at > end:
            return at
    return at


@compiled_uncounted
def _record(buf: NDArray[np.uint8], at: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Offset within the batch, begin and end of the value, and the offset after the record.

    The last is behind ``end`` where it is no record, or one that aiokafka may read in another way.
    """
    wrong = _ZERO, _ZERO, _ZERO, end + _ONE
    length, at = _number(buf, at, end)
    if at >= end or length & _ONE or length >> _ONE > end - at or buf[at] >= _HIGH:
        return wrong
    stop = at + (length >> _ONE)
    _, at = _number(buf, at + _ONE, stop)
    if at > stop:
        return wrong
    delta, at = _number(buf, at, stop)
    if at > stop or delta & _ONE:
        return wrong
    _, at = _after_bytes(buf, at, stop)
    if at > stop:
        return wrong
    value, behind = _after_bytes(buf, at, stop)
    if behind >= stop:
        return wrong
    if (behind + _ONE != stop or buf[behind] != 0) and _after_headers(buf, behind, stop) != stop:
        return wrong
    return delta >> _ONE, value, behind, stop


@compiled_uncounted
def scan_records(
    buf: NDArray[np.uint8],
    header: NDArray[np.uint8],
    begin: int,
    at: int,
    end: int,
    first: int,
    bytes_max: int,
    out: NDArray[np.uint8],
    ends: NDArray[np.int64],
    n: int,
    totals: NDArray[np.int64],
) -> int:
    """Writes the values of a batch's records, which are ``at``..``end``, behind the ``n`` that are there.

    header: what has the batch's header at ``begin``. first: the offset of the first record to read. Returns how many
    values there are now; -1 and nothing counted where not all is right.
    """
    base, last = big_endian(header, begin, 8), big_endian(header, begin + LAST_AT, 4)
    count = big_endian(header, begin + COUNT_AT, 4)
    if base < 0 or base > _OFFSET_MAX or count < 0 or count > ends.size - n:
        return -1
    received, size_read, too_large, before = 0, 0, 0, -1
    written = ends[n - 1] if n else 0
    place, stop = np.uint64(at), np.uint64(end)
    for _ in range(count):
        unsigned_delta, value, behind, place = _record(buf, place, stop)
        delta, size = signed(unsigned_delta), signed(behind - value)
        if place > stop or delta <= before or delta > last:
            return -1
        before = delta
        if base + delta < first:
            continue
        received += 1
        size_read += size
        if size > bytes_max:
            too_large += 1
            continue
        written = copy(buf, signed(value), signed(behind), out, written)
        ends[n] = written
        n += 1
    if place != stop:
        return -1
    totals[RECEIVED] += received
    totals[SIZE] += size_read
    totals[TOO_LARGE] += too_large
    return n


@compiled_uncounted
def batch_end(buf: NDArray[np.uint8], at: int) -> int:
    """Where the batch at ``at`` ends; -1 where it is not whole: a broker cuts off the last one of an answer."""
    if buf.size - at < HEAD_BYTES:
        return -1
    length = big_endian(buf, at + 8, 4)
    return at + HEAD_BYTES + length if 0 <= length <= buf.size - at - HEAD_BYTES else -1


@compiled_uncounted
def is_right(buf: NDArray[np.uint8], at: int, end: int) -> bool:
    """Whether it is a batch of today's format with the checksum of its bytes."""
    if end - at < HEADER_BYTES or buf[at + MAGIC_AT] != MAGIC:
        return False
    found = crc32c(buf, at + ATTRIBUTES_AT, end)
    return bool(big_endian(buf, at + CHECKSUM_AT, 4) & 0xFFFFFFFF == np.int64(found))


@compiled_uncounted
def scan_batches(
    buf: NDArray[np.uint8],
    at: int,
    first: int,
    bytes_max: int,
    out: NDArray[np.uint8],
    ends: NDArray[np.int64],
    n: int,
    totals: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Writes the values of the batches from ``at`` on behind the ``n`` that are there.

    Returns how many values there are now, where it stopped, and why.
    """
    while True:
        end = batch_end(buf, at)
        if end < 0:
            return n, at, DONE
        if end - at > out.size - (ends[n - 1] if n else 0):
            return n, at, FULL
        if not is_right(buf, at, end):
            return n, at, PLAIN
        attributes = buf[at + ATTRIBUTES_AT + 1]
        if attributes & _CONTROL:
            at = end
            continue
        if attributes & _CODEC:
            return n, at, PACKED
        if min(big_endian(buf, at + COUNT_AT, 4), (end - at) // RECORD_BYTES_MIN) > ends.size - n:
            return n, at, FULL
        more = scan_records(buf, buf, at, at + HEADER_BYTES, end, first, bytes_max, out, ends, n, totals)
        if more < 0:
            return n, at, PLAIN
        n, at = more, end


@compiled_uncounted
def following_offset(buf: NDArray[np.uint8], first: int) -> int:
    """The offset behind the last whole batch, at least ``first``: a damaged one does not hide those behind it."""
    at, end, following = 0, batch_end(buf, 0), first
    while end >= 0:
        last = 0
        if end - at >= HEADER_BYTES and buf[at + MAGIC_AT] == MAGIC:
            last = max(0, big_endian(buf, at + LAST_AT, 4))
        following = big_endian(buf, at, 8) + last + 1
        at, end = end, batch_end(buf, end)
    return max(first, following)


def warm_up() -> None:
    """Compiles the scans, or loads them from the disk cache."""
    buf, ends, totals = np.frombuffer(bytes(HEADER_BYTES), np.uint8), np.zeros(1, np.int64), np.zeros(TOTALS, np.int64)
    out = np.empty(1, np.uint8)
    scan_batches(buf, 0, 0, 0, out, ends, 0, totals)
    scan_records(buf, buf, 0, 0, 0, 0, 0, out, ends, 0, totals)
    batch_end(buf, following_offset(buf[:0], 0))
