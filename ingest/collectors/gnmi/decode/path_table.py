"""Paths as they stand in gNMI's bytes, in a hash table that compiled code can ask without making an object."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled

UNKNOWN = -1
"""The slot of a path that the table does not hold."""

FNV = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_MIX = np.uint64(0x9E3779B97F4A7C15)


@compiled
def signed(number: np.uint64) -> int:
    """Two's complement, as Python's and the compiled code's integer."""
    return np.int64(number)  # type: ignore[return-value]  # the compiled code knows one kind of integer


@compiled
def hash_of(buf: NDArray[np.uint8], start: int, length: int, seed: np.uint64) -> np.uint64:
    """FNV over words of eight bytes, mixed."""
    result = seed
    words = length // 8
    first = np.uint64(start)  # without a sign no index is taken from the end
    for i in range(words):
        at = first + np.uint64(8 * i)
        word = np.uint64(0)
        for k in range(8):
            word |= np.uint64(buf[at + np.uint64(k)]) << np.uint64(8 * k)
        result = (result ^ word) * _PRIME
        result ^= result >> np.uint64(29)
    for i in range(start + 8 * words, start + length):
        result = (result ^ np.uint64(buf[i])) * _PRIME
    result = (result ^ np.uint64(length)) * _MIX
    return result ^ (result >> np.uint64(32))


@compiled
def differ(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> bool:
    """Whether bytes of equal length do. It looks at all: many at once is faster than one by one up to the first."""
    bits = np.uint8(0)
    for i in range(a.size):
        bits |= a[i] ^ b[i]
    return bool(bits)


@compiled
def find_slot(
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
        if spans[slot, 1] == pre_n and spans[slot, 2] == path_n and spans[slot, 3] == signed(key >> np.uint64(1)):
            at, then = spans[slot, 0], spans[slot, 0] + pre_n
            if not (
                differ(arena[at:then], buf[pre : pre + pre_n])
                or differ(arena[then : then + path_n], buf[path : path + path_n])
            ):
                return int(slot)
        place = (place + np.uint64(1)) & mask
    return -1


@compiled
def _path_key(buf: NDArray[np.uint8], pre_n: int) -> np.uint64:
    return hash_of(buf, pre_n, buf.size - pre_n, hash_of(buf, 0, pre_n, FNV))


class PathTable:
    """Serialised prefix and path -> slot, 0, 1, 2, … in the order of ``add``; open addressing, at most half full."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.table: NDArray[np.int32] = np.full(1024, UNKNOWN, np.int32)
        self.arena: NDArray[np.uint8] = np.empty(64 * 1024, np.uint8)
        self.spans: NDArray[np.int64] = np.zeros((512, 4), np.int64)
        self._used = 0
        self._keys: list[int] = []

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, prefix: bytes, path: bytes) -> int:
        """The slot of a path that is not in the table yet."""
        data = np.frombuffer(prefix + path, np.uint8)
        key = int(_path_key(data, len(prefix)))
        if 2 * (len(self) + 1) > self.table.size:
            self._grow()
        while self._used + data.size > self.arena.size:
            self.arena = np.concatenate((self.arena, np.empty_like(self.arena)))
        slot = len(self)
        self.arena[self._used : self._used + data.size] = data
        self.spans[slot] = (self._used, len(prefix), len(path), key >> 1)
        self._used += data.size
        self._keys.append(key)
        self._place(slot, key)
        return slot

    def find(self, prefix: bytes, path: bytes) -> int:
        data = np.frombuffer(prefix + path, np.uint8)
        key = np.uint64(_path_key(data, len(prefix)))
        args: Any = (data, 0, len(prefix), len(prefix), len(path), key, self.table, self.arena, self.spans)
        return int(find_slot(*args))

    def _place(self, slot: int, key: int) -> None:
        place = key & (self.table.size - 1)
        while self.table[place] >= 0:
            place = (place + 1) & (self.table.size - 1)
        self.table[place] = slot

    def _grow(self) -> None:
        self.table = np.full(2 * self.table.size, UNKNOWN, np.int32)
        self.spans = np.concatenate((self.spans, np.zeros_like(self.spans)))
        for slot, key in enumerate(self._keys):
            self._place(slot, key)
