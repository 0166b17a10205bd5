"""Bytes in a hash table that compiled code searches without creating an object: how it is laid out, and how it grows.

What a key is made of besides its bytes, and how it is hashed, is the table's own.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

UNKNOWN = -1
"""The slot of what a table does not hold."""


class HashIndex(NamedTuple):
    """A table for compiled code.

    table: slots by hash, UNKNOWN where empty; its size is a power of two. arena: the keys' bytes.
    spans: int64[slots, 4], offset in the arena, two numbers of the table's own, and half of the hash.
    """

    table: NDArray[np.int32]
    arena: NDArray[np.uint8]
    spans: NDArray[np.int64]


HashArrays = tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64]]
"""``HashIndex`` as a plain tuple, in which it enters compiled code: a NamedTuple costs numba a microsecond more."""


class HashedBytes:
    """Keys -> slot, 0, 1, 2, … in the order in which they come; open addressing, at most half full.

    index: for compiled code; replaced when the table grows.
    """

    def __init__(self) -> None:
        table: NDArray[np.int32] = np.full(1024, UNKNOWN, np.int32)
        arena: NDArray[np.uint8] = np.empty(64 * 1024, np.uint8)
        spans: NDArray[np.int64] = np.zeros((512, 4), np.int64)
        self.index = HashIndex(table, arena, spans)
        self._used = 0
        self._hashes: list[int] = []

    def __len__(self) -> int:
        return len(self._hashes)

    def _append(self, data: NDArray[np.uint8], own: tuple[int, int], hashed: int) -> int:
        """The slot of a key that is not in the table yet. own: its numbers besides its bytes."""
        if 2 * (len(self) + 1) > self.index.table.size:
            self._grow()
        while self._used + data.size > self.index.arena.size:
            arena = self.index.arena
            self.index = self.index._replace(arena=np.concatenate((arena, np.empty_like(arena))))
        slot = len(self)
        self.index.arena[self._used : self._used + data.size] = data
        self.index.spans[slot] = (self._used, *own, hashed >> 1)
        self._used += data.size
        self._hashes.append(hashed)
        self._insert(slot, hashed)
        return slot

    def _insert(self, slot: int, hashed: int) -> None:
        table = self.index.table
        place = hashed & (table.size - 1)
        while table[place] >= 0:
            place = (place + 1) & (table.size - 1)
        table[place] = slot

    def _grow(self) -> None:
        table, arena, spans = self.index
        table = np.full(2 * table.size, UNKNOWN, np.int32)
        self.index = HashIndex(table, arena, np.concatenate((spans, np.zeros_like(spans))))
        for slot, hashed in enumerate(self._hashes):
            self._insert(slot, hashed)
