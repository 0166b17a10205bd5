"""Serialised gNMI paths in a hash table that compiled code can search without creating an object."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled
from common.wire.protobuf import signed
from common.wire.spans import FNV, differ, hash_of

UNKNOWN = -1
"""The slot of a path that the table does not hold."""


class PathIndex(NamedTuple):
    """A hash table of paths, for compiled code.

    table: slots by hash, UNKNOWN where empty; its size is a power of two. arena: the paths' bytes.
    spans: int64[slots, 4], offset in the arena, length of prefix, length of path, and half of the hash.
    """

    table: NDArray[np.int32]
    arena: NDArray[np.uint8]
    spans: NDArray[np.int64]


PathArrays = tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64]]
"""``PathIndex`` as a plain tuple, in which it enters compiled code: a NamedTuple costs numba a microsecond more."""


@compiled
def find_slot(
    buf: NDArray[np.uint8], pre: int, pre_n: int, path: int, path_n: int, key: np.uint64, paths: PathIndex
) -> int:
    """The slot of prefix and path, their bytes compared, or UNKNOWN. pre, path: offsets; pre_n, path_n: lengths."""
    table, arena, spans = paths.table, paths.arena, paths.spans
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
    return UNKNOWN


@compiled
def _path_key(buf: NDArray[np.uint8], pre_n: int) -> np.uint64:
    return hash_of(buf, pre_n, buf.size - pre_n, hash_of(buf, 0, pre_n, FNV))


class PathTable:
    """Serialised prefix and path -> slot, 0, 1, 2, … in the order of ``add``; open addressing, at most half full.

    index: for compiled code; replaced when the table grows.
    """

    def __init__(self) -> None:
        table: NDArray[np.int32] = np.full(1024, UNKNOWN, np.int32)
        arena: NDArray[np.uint8] = np.empty(64 * 1024, np.uint8)
        spans: NDArray[np.int64] = np.zeros((512, 4), np.int64)
        self.index = PathIndex(table, arena, spans)
        self._used = 0
        self._keys: list[int] = []

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, prefix: bytes, path: bytes) -> int:
        """Adds a path that is not in the table yet, and returns its slot."""
        data = np.frombuffer(prefix + path, np.uint8)
        key = int(_path_key(data, len(prefix)))
        if 2 * (len(self) + 1) > self.index.table.size:
            self._grow_table()
        while self._used + data.size > self.index.arena.size:
            arena = self.index.arena
            self.index = self.index._replace(arena=np.concatenate((arena, np.empty_like(arena))))
        slot = len(self)
        self.index.arena[self._used : self._used + data.size] = data
        self.index.spans[slot] = (self._used, len(prefix), len(path), key >> 1)
        self._used += data.size
        self._keys.append(key)
        self._insert(slot, key)
        return slot

    def get(self, prefix: bytes, path: bytes) -> int:
        """The slot of a path, UNKNOWN when the table does not hold it."""
        data = np.frombuffer(prefix + path, np.uint8)
        key = np.uint64(_path_key(data, len(prefix)))
        return int(find_slot(data, 0, len(prefix), len(prefix), len(path), key, self.index))

    def _insert(self, slot: int, key: int) -> None:
        table = self.index.table
        place = key & (table.size - 1)
        while table[place] >= 0:
            place = (place + 1) & (table.size - 1)
        table[place] = slot

    def _grow_table(self) -> None:
        table, arena, spans = self.index
        table = np.full(2 * table.size, UNKNOWN, np.int32)
        self.index = PathIndex(table, arena, np.concatenate((spans, np.zeros_like(spans))))
        for slot, key in enumerate(self._keys):
            self._insert(slot, key)
