"""Serialised gNMI paths in a hash table that compiled code can search without creating an object."""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled_uncounted
from common.wire.hashed_bytes import UNKNOWN, HashedBytes, HashIndex
from common.wire.protobuf import signed
from common.wire.spans import FNV, hash_of, stands


@compiled_uncounted
def find_slot(
    buf: NDArray[np.uint8], pre: int, pre_n: int, path: int, path_n: int, key: np.uint64, paths: HashIndex
) -> int:
    """The slot of prefix and path, their bytes compared, or UNKNOWN. pre, path: offsets; pre_n, path_n: lengths."""
    table, arena, spans = paths.table, paths.arena, paths.spans
    mask = np.uint64(table.size - 1)
    place = key & mask
    while table[place] >= 0:
        slot = table[place]
        if spans[slot, 1] == pre_n and spans[slot, 2] == path_n and spans[slot, 3] == signed(key >> np.uint64(1)):
            at, then = spans[slot, 0], spans[slot, 0] + pre_n
            is_prefix = stands(buf, pre, pre + pre_n, arena, at, pre_n)
            if is_prefix and stands(buf, path, path + path_n, arena, then, path_n):
                return int(slot)
        place = (place + np.uint64(1)) & mask
    return UNKNOWN


@compiled_uncounted
def _path_key(buf: NDArray[np.uint8], pre_n: int) -> np.uint64:
    return hash_of(buf, pre_n, buf.size - pre_n, hash_of(buf, 0, pre_n, FNV))


class PathTable(HashedBytes):
    """Serialised prefix and path -> slot. The numbers of a key are the lengths of both."""

    def add(self, prefix: bytes, path: bytes) -> int:
        """Adds a path that is not in the table yet, and returns its slot."""
        data = np.frombuffer(prefix + path, np.uint8)
        return self._append(data, (len(prefix), len(path)), int(_path_key(data, len(prefix))))

    def get(self, prefix: bytes, path: bytes) -> int:
        """The slot of a path, UNKNOWN when the table does not hold it."""
        data = np.frombuffer(prefix + path, np.uint8)
        key = np.uint64(_path_key(data, len(prefix)))
        return int(find_slot(data, 0, len(prefix), len(prefix), len(path), key, self.index))
