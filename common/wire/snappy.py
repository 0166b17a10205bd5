"""Snappy's block format unpacked by compiled code, as a call of a library for each of many small blocks costs more.

https://github.com/google/snappy/blob/main/format_description.txt
"""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled
from common.wire.protobuf import signed, varint

_ONE, _LOW2, _LOW3, _BYTE = np.uint64(1), np.uint64(3), np.uint64(7), np.uint64(8)
_LONG_LITERAL = np.uint64(60)  # from here on it is the number of bytes that the length takes, plus 59
_SIZE_MAX = np.uint64(2**32 - 1)


@compiled
def _unpacked_size(buf: NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
    """What a block says that it unpacks to, and where its content begins; -1 when it says no size."""
    size, begin = varint(buf, at, end)
    if begin < 0 or size > _SIZE_MAX:
        return 0, -1
    return signed(size), begin


@compiled
def _little(buf: NDArray[np.uint8], at: np.uint64, size: np.uint64) -> np.uint64:
    found = np.uint64(0)
    for k in range(size):
        found |= np.uint64(buf[at + k]) << (_BYTE * k)
    return found


@compiled
def _unpack_block(buf: NDArray[np.uint8], begin: int, end: int, out: NDArray[np.uint8], place: int, size: int) -> bool:
    """Writes the ``size`` bytes of the content at ``begin``..``end`` to ``place``; False when it is damaged."""
    at, stop = np.uint64(begin), np.uint64(end)  # an unsigned index is never negative, which needs no check
    first = to = np.uint64(place)
    last = first + np.uint64(size)
    while at < stop:
        tag = np.uint64(buf[at])
        at += _ONE
        kind, length = tag & _LOW2, (tag >> np.uint64(2)) + _ONE
        if kind == 0:
            if length > _LONG_LITERAL:
                more = length - _LONG_LITERAL
                if more > stop - at:
                    return False
                length = _little(buf, at, more) + _ONE
                at += more
            if length > stop - at or length > last - to:
                return False
            for i in range(length):
                out[to + i] = buf[at + i]
            at += length
        else:
            wide = kind if kind < 3 else np.uint64(4)
            if wide > stop - at:
                return False
            back = _little(buf, at, wide)
            if kind == 1:
                back |= tag >> np.uint64(5) << _BYTE
                length = (tag >> np.uint64(2) & _LOW3) + np.uint64(4)
            at += wide
            if back == 0 or back > to - first or length > last - to:
                return False
            source = to - back
            for i in range(length):
                out[to + i] = out[source + i]
        to += length
    return bool(to == last)


@compiled
def unpack_blocks(
    buf: NDArray[np.uint8], ends: NDArray[np.int64], block: int, out: NDArray[np.uint8], out_ends: NDArray[np.int64]
) -> int:
    """Unpacks blocks from number ``block`` on, each of which ends at its ``ends``, one behind the other.

    out_ends: int64, receives where each ends in ``out``. Returns how many are unpacked: it stops before one that is
    damaged, or for which there is no room.
    """
    n, place, begin = 0, 0, ends[block - 1] if block else 0
    for end in ends[block:]:
        size, content = _unpacked_size(buf, begin, end)
        if content < 0 or size > out.size - place or not _unpack_block(buf, content, end, out, place, size):
            return n
        place, begin = place + size, end
        out_ends[n] = place
        n += 1
    return n
