"""Bytes below a parent as keys of a hash table that compiled code searches without creating an object.

Parents make trees: what is known of a message is known by the bytes of one step at a time, a name below its container,
a set of attributes below its metric.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled
from common.wire.protobuf import signed
from common.wire.spans import FNV, differ, hash_of

UNKNOWN = -1
"""The slot of what a table does not hold."""

_SEED = np.uint64(0x9E3779B97F4A7C15)


class SpanIndex(NamedTuple):
    """A table for compiled code.

    table: slots by hash, UNKNOWN where empty; its size is a power of two. arena: the keys' bytes.
    spans: int64[slots, 4], offset in the arena, length, parent, and half of the hash.
    """

    table: NDArray[np.int32]
    arena: NDArray[np.uint8]
    spans: NDArray[np.int64]


SpanArrays = tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64]]
"""``SpanIndex`` as a plain tuple, in which it enters compiled code."""


@compiled
def _key(buf: NDArray[np.uint8], at: int, size: int, parent: int) -> np.uint64:
    return hash_of(buf, at, size, FNV ^ (np.uint64(parent) * _SEED))


@compiled
def find(buf: NDArray[np.uint8], at: int, size: int, parent: int, index: SpanIndex) -> int:
    """The slot of ``size`` bytes at ``at`` below ``parent``, or UNKNOWN; also UNKNOWN below an UNKNOWN parent."""
    if parent < 0:
        return -1
    key = _key(buf, at, size, parent)
    table, arena, spans = index.table, index.arena, index.spans
    mask = np.uint64(table.size - 1)
    place = key & mask
    half = signed(key >> np.uint64(1))
    while table[place] >= 0:
        slot = table[place]
        if spans[slot, 3] == half and spans[slot, 1] == size and spans[slot, 2] == parent:
            known = spans[slot, 0]
            if not differ(arena[known : known + size], buf[at : at + size]):
                return int(slot)
        place = (place + np.uint64(1)) & mask
    return -1


class SpanTable:
    """Bytes and parent -> slot, 0, 1, 2, … in the order of ``add``; open addressing, at most half full.

    index: for compiled code; replaced when the table grows.
    """

    def __init__(self) -> None:
        table: NDArray[np.int32] = np.full(1024, UNKNOWN, np.int32)
        arena: NDArray[np.uint8] = np.empty(64 * 1024, np.uint8)
        spans: NDArray[np.int64] = np.zeros((512, 4), np.int64)
        self.index = SpanIndex(table, arena, spans)
        self._used = 0
        self._keys: list[int] = []

    def __len__(self) -> int:
        return len(self._keys)

    def get(self, data: bytes, parent: int) -> int:
        """The slot, or UNKNOWN."""
        return int(find(np.frombuffer(data, np.uint8), 0, len(data), parent, self.index))

    def add(self, data: bytes, parent: int) -> int:
        """Adds what is not in the table yet, and returns its slot. parent: 0 or more."""
        buf = np.frombuffer(data, np.uint8)
        key = int(_key(buf, 0, buf.size, parent))
        if 2 * (len(self) + 1) > self.index.table.size:
            self._grow()
        while self._used + buf.size > self.index.arena.size:
            arena = self.index.arena
            self.index = self.index._replace(arena=np.concatenate((arena, np.empty_like(arena))))
        slot = len(self)
        self.index.arena[self._used : self._used + buf.size] = buf
        self.index.spans[slot] = (self._used, buf.size, parent, key >> 1)
        self._used += buf.size
        self._keys.append(key)
        self._insert(slot, key)
        return slot

    def put(self, data: bytes, parent: int) -> int:
        """The slot, a new one for what the table does not hold."""
        slot = self.get(data, parent)
        return slot if slot != UNKNOWN else self.add(data, parent)

    def key(self, slot: int) -> tuple[bytes, int]:
        """Bytes and parent of a slot."""
        at, size, parent, _ = self.index.spans[slot].tolist()
        return self.index.arena[at : at + size].tobytes(), parent

    def _insert(self, slot: int, key: int) -> None:
        table = self.index.table
        place = key & (table.size - 1)
        while table[place] >= 0:
            place = (place + 1) & (table.size - 1)
        table[place] = slot

    def _grow(self) -> None:
        table, arena, spans = self.index
        table = np.full(2 * table.size, UNKNOWN, np.int32)
        self.index = SpanIndex(table, arena, np.concatenate((spans, np.zeros_like(spans))))
        for slot, key in enumerate(self._keys):
            self._insert(slot, key)
