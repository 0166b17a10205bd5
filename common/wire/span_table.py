"""Bytes below a parent as keys of a hash table that compiled code searches without creating an object.

Parents make trees: what is known of a message is known by the bytes of one step at a time, a name below its container,
a set of attributes below its metric.
"""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled_uncounted
from common.wire.hashed_bytes import UNKNOWN, HashedBytes, HashIndex
from common.wire.protobuf import signed
from common.wire.spans import FNV, hash_of, stands

_SEED = np.uint64(0x9E3779B97F4A7C15)


@compiled_uncounted
def _key(buf: NDArray[np.uint8], at: int, size: int, parent: int) -> np.uint64:
    return hash_of(buf, at, size, FNV ^ (np.uint64(parent) * _SEED))


@compiled_uncounted
def find(buf: NDArray[np.uint8], at: int, size: int, parent: int, index: HashIndex) -> int:
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
        is_like = spans[slot, 3] == half and spans[slot, 1] == size and spans[slot, 2] == parent
        if is_like and stands(buf, at, at + size, arena, spans[slot, 0], size):
            return int(slot)
        place = (place + np.uint64(1)) & mask
    return -1


@compiled_uncounted
def end_of(buf: NDArray[np.uint8], at: int, end: int, slot: int, index: HashIndex) -> int:
    """The offset after the bytes of a slot, where they stand at ``at``; UNKNOWN where they do not, or for no slot."""
    if slot < 0:
        return -1
    size = index.spans[slot, 1]
    return int(at + size) if stands(buf, at, end, index.arena, index.spans[slot, 0], size) else -1


@compiled_uncounted
def follow(last: int, slot: int, followers: NDArray[np.int64]) -> int:
    """Remembers that a slot came after another one, UNKNOWN for none; returns the slot, which is the last one now."""
    if last >= 0:
        followers[last] = slot
    return slot


class SpanTable(HashedBytes):
    """Bytes and parent -> slot. The numbers of a key are its length and its parent."""

    def get(self, data: bytes, parent: int) -> int:
        """The slot, or UNKNOWN."""
        return int(find(np.frombuffer(data, np.uint8), 0, len(data), parent, self.index))

    def add(self, data: bytes, parent: int) -> int:
        """Adds what is not in the table yet, and returns its slot. parent: 0 or more."""
        buf = np.frombuffer(data, np.uint8)
        return self._append(buf, (buf.size, parent), int(_key(buf, 0, buf.size, parent)))

    def put(self, data: bytes, parent: int) -> int:
        """The slot, a new one for what the table does not hold."""
        slot = self.get(data, parent)
        return slot if slot != UNKNOWN else self.add(data, parent)

    def key(self, slot: int) -> tuple[bytes, int]:
        """Bytes and parent of a slot."""
        at, size, parent, _ = self.index.spans[slot].tolist()
        return self.index.arena[at : at + size].tobytes(), parent
