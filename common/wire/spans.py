"""Hash and comparison of bytes, for tables that compiled code searches without creating an object."""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled_uncounted

FNV = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_MIX = np.uint64(0x9E3779B97F4A7C15)


@compiled_uncounted
def word_at(buf: NDArray[np.uint8], at: np.uint64) -> np.uint64:
    """The eight bytes from ``at`` on, which the compiler reads at once."""
    word = np.uint64(0)
    for k in range(8):
        word |= np.uint64(buf[at + np.uint64(k)]) << np.uint64(8 * k)
    return word


@compiled_uncounted
def hash_of(buf: NDArray[np.uint8], start: int, length: int, seed: np.uint64) -> np.uint64:
    """FNV over words of eight bytes, mixed."""
    result = seed
    words = length // 8
    first = np.uint64(start)  # an unsigned index is never negative
    for i in range(words):
        result = (result ^ word_at(buf, first + np.uint64(8 * i))) * _PRIME
        result ^= result >> np.uint64(29)
    for i in range(start + 8 * words, start + length):
        result = (result ^ np.uint64(buf[i])) * _PRIME
    result = (result ^ np.uint64(length)) * _MIX
    return result ^ (result >> np.uint64(32))


@compiled_uncounted
def differ(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> bool:
    """Whether bytes of equal length differ. It compares all of them: that vectorises, and an early exit does not."""
    bits = np.uint8(0)
    for i in range(a.size):
        bits |= a[i] ^ b[i]
    return bool(bits)


@compiled_uncounted
def stands(buf: NDArray[np.uint8], at: int, end: int, arena: NDArray[np.uint8], begin: int, size: int) -> bool:
    """Whether ``size`` bytes of the arena stand at ``at``, before ``end``.

    As ``differ``, but without slices, each of which is counted as an array: of short pieces that is most of the cost.
    By words, of which the last one overlaps: what is left over after whole vectors would be compared byte by byte.
    """
    if at + size > end:
        return False
    one, other = np.uint64(at), np.uint64(begin)  # an unsigned index is never negative
    if size < 8:
        bits = np.uint8(0)
        for i in range(np.uint64(size)):
            bits |= buf[one + i] ^ arena[other + i]
        return bool(bits == 0)
    last, place = np.uint64(size - 8), np.uint64(0)
    words = word_at(buf, one + last) ^ word_at(arena, other + last)
    while place < last:
        words |= word_at(buf, one + place) ^ word_at(arena, other + place)
        place += np.uint64(8)
    return bool(words == 0)
