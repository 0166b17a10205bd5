"""The series that were sent before, by the bytes of their labels: a hash table that compiled code searches."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled_uncounted
from common.wire.spans import FNV, hash_of, stands
from ingest.collectors.remote_write.decode.scan import BAD_KEY

UNKNOWN, UNREADABLE = -1, -2


class _Index(NamedTuple):
    """table: int64, slots by hash, UNKNOWN where empty; its size is a power of two. arena: uint8, the keys.

    entries: int64[slots, 3], offset in the arena, length, and half of the hash.
    """

    table: NDArray[np.int64]
    arena: NDArray[np.uint8]
    entries: NDArray[np.int64]


@compiled_uncounted
def _half(key: np.uint64) -> int:
    return np.int64(key >> np.uint64(1))  # type: ignore[return-value]  # the compiled code knows one kind of integer


@compiled_uncounted
def _find(keys: NDArray[np.uint8], at: int, size: int, key: np.uint64, index: _Index) -> int:
    table, arena, entries = index.table, index.arena, index.entries
    mask = np.uint64(table.size - 1)
    place = key & mask
    while table[place] >= 0:
        slot = table[place]
        is_like = entries[slot, 1] == size and entries[slot, 2] == _half(key)
        if is_like and stands(keys, at, at + size, arena, entries[slot, 0], size):
            return int(slot)
        place = (place + np.uint64(1)) & mask
    return UNKNOWN


@compiled_uncounted
def _find_all(keys: NDArray[np.uint8], spans: NDArray[np.int64], index: _Index, slots: NDArray[np.int64]) -> int:
    """Returns how many are UNKNOWN."""
    unknown = 0
    for series in range(spans.shape[0]):
        at, size = spans[series, 0], spans[series, 1]
        if size == BAD_KEY:
            slots[series] = UNREADABLE
            continue
        slots[series] = _find(keys, at, size, hash_of(keys, at, size, FNV), index)
        unknown += slots[series] == UNKNOWN
    return unknown


@compiled_uncounted
def _insert(slot: int, index: _Index) -> None:
    table, entries = index.table, index.entries
    key = hash_of(index.arena, entries[slot, 0], entries[slot, 1], FNV)
    entries[slot, 2] = _half(key)
    mask = np.uint64(table.size - 1)
    place = key & mask
    while table[place] >= 0:
        place = (place + np.uint64(1)) & mask
    table[place] = slot


@compiled_uncounted
def _insert_all(count: int, index: _Index) -> None:
    for slot in range(count):
        _insert(slot, index)


class KnownSeries:
    """Keys to slots, 0, 1, 2, … in the order of ``add``; open addressing, at most half full."""

    def __init__(self) -> None:
        self._index = _Index(
            np.full(1024, UNKNOWN, np.int64), np.empty(1 << 16, np.uint8), np.zeros((512, 3), np.int64)
        )
        self._used = self._count = 0

    def __len__(self) -> int:
        return self._count

    def find(self, keys: NDArray[np.uint8], spans: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
        """The slot of each key, UNKNOWN without one, UNREADABLE for a BAD_KEY; and how many are UNKNOWN."""
        slots = np.empty(spans.shape[0], np.int64)
        return slots, _find_all(keys, spans, self._index, slots)

    def add(self, key: NDArray[np.uint8]) -> int:
        """Adds a key that it does not hold."""
        slot = self._count
        if 2 * (slot + 1) > self._index.table.size:
            self._grow()
        arena, entries = self._index.arena, self._index.entries
        while self._used + key.size > arena.size:
            arena = np.concatenate((arena, np.empty_like(arena)))
        self._index = self._index._replace(arena=arena)
        arena[self._used : self._used + key.size] = key
        entries[slot, 0], entries[slot, 1] = self._used, key.size
        self._used += key.size
        self._count += 1
        _insert(slot, self._index)
        return slot

    def move(self, moved: NDArray[np.int64]) -> None:
        """Keeps the slots whose new one is not negative, under that; the new ones are in the order of the old."""
        before = self._index
        self.__init__()  # type: ignore[misc]  # as it began
        for slot in np.flatnonzero(moved >= 0).tolist():
            begin, size, _ = before.entries[slot].tolist()
            self.add(before.arena[begin : begin + size])

    def _grow(self) -> None:
        table, arena, entries = self._index
        self._index = _Index(
            np.full(2 * table.size, UNKNOWN, np.int64), arena, np.concatenate((entries, np.zeros_like(entries)))
        )
        _insert_all(self._count, self._index)
