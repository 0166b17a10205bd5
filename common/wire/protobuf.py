"""Protobuf's wire format for compiled code: varints, lengths, fixed words and unknown fields.

The bytes are a peer's: every length is checked against the end of its enclosing field.
"""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled_uncounted

_LOW7 = np.uint64(0x7F)
_HIGH = np.uint8(0x80)
_SHIFT_END = np.uint64(70)  # of the eleventh byte


@compiled_uncounted
def signed(number: np.uint64) -> int:
    """Two's complement, as a signed integer of the compiled code."""
    return np.int64(number)  # type: ignore[return-value]  # the compiled code knows one kind of integer


@compiled_uncounted
def varint(buf: NDArray[np.uint8], at: int, end: int) -> tuple[np.uint64, int]:
    """The number and the offset after it; offset -1 when it is cut off or longer than ten bytes."""
    result, shift, place, stop = np.uint64(0), np.uint64(0), np.uint64(at), np.uint64(max(end, 0))
    while place < stop and shift < _SHIFT_END:  # an unsigned index is never negative, which needs no check
        byte = buf[place]
        place += np.uint64(1)
        result |= (np.uint64(byte) & _LOW7) << shift
        if byte < _HIGH:
            return result, signed(place)
        shift += np.uint64(7)
    return result, -1


@compiled_uncounted
def length(buf: NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
    """Length of a length-delimited field and the offset of its first byte; offset -1 when it passes ``end``."""
    number, start = varint(buf, at, end)
    if start < 0 or number > np.uint64(end - start):
        return 0, -1
    return signed(number), start


@compiled_uncounted
def skip(buf: NDArray[np.uint8], at: int, end: int, wire_type: int) -> int:
    """The offset after an unused field; -1 when malformed. Groups are not part of proto3."""
    if wire_type == 0:
        return varint(buf, at, end)[1]
    if wire_type == 2:
        size, start = length(buf, at, end)
        return start + size if start >= 0 else -1
    if wire_type == 1:
        return at + 8 if at + 8 <= end else -1
    if wire_type == 5:
        return at + 4 if at + 4 <= end else -1
    return -1


@compiled_uncounted
def little_endian(buf: NDArray[np.uint8], at: int, size: int) -> np.uint64:
    """The word of ``size`` bytes, at most eight."""
    word = np.uint64(0)
    for k in range(size):
        word |= np.uint64(buf[at + k]) << np.uint64(8 * k)
    return word


@compiled_uncounted
def varint_size(number: np.uint64) -> int:
    """Bytes of a varint."""
    size = 1
    while number >= np.uint64(_HIGH):
        number >>= np.uint64(7)
        size += 1
    return size


@compiled_uncounted
def put_varint(out: NDArray[np.uint8], at: int, number: np.uint64) -> int:
    """Writes a varint; returns the offset after it."""
    while number >= np.uint64(_HIGH):
        out[at] = np.uint8(number & _LOW7) | _HIGH
        number >>= np.uint64(7)
        at += 1
    out[at] = np.uint8(number)
    return at + 1


@compiled_uncounted
def copy(buf: NDArray[np.uint8], begin: int, end: int, out: NDArray[np.uint8], at: int) -> int:
    """Writes bytes of another buffer; returns the offset after them."""
    source, target = np.uint64(begin), np.uint64(at)  # an unsigned index is never negative, which needs no check
    for i in range(np.uint64(end - begin)):
        out[target + i] = buf[source + i]
    return at + end - begin
