"""Updates of paths that are known by number: what a reader of another format found, in place of a device's messages."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ingest.collectors.gnmi.decode.slots import PathSlots


class NumberedPaths(Protocol):
    """Knows paths by number."""

    def slots_by_path(self, paths: NDArray[np.int64], of: PathSlots) -> NDArray[np.int32]:
        """Those of all paths, in which the ones of the device of ``paths`` are slots of ``of``; UNKNOWN for those that
        ``slots`` was not asked for.
        """
        ...

    def slots(self, paths: NDArray[np.int64], of: PathSlots) -> NDArray[np.int32]:
        """The slots of these paths, all of one device; UNKNOWN where it has no room for them."""
        ...


@dataclass(slots=True)
class KnownUpdates:
    """Columns of equal length, one row an update: kinds, numbers, times_ns and texts as those of ``Scanned``.

    known: whose numbers the paths are. data: the bytes that hold the texts. paths: int64[n]. kinds: NUMBER or TEXT.
    texts: int64[n, 2], offset and length of a TEXT. messages, size: how many messages they are of, and their bytes.
    """

    known: NumberedPaths
    data: bytes
    paths: NDArray[np.int64]
    kinds: NDArray[np.int8]
    numbers: NDArray[np.float64]
    times_ns: NDArray[np.int64]
    texts: NDArray[np.int64]
    messages: int
    size: int

    def __len__(self) -> int:
        return self.paths.size
