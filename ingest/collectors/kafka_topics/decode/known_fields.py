"""Where compiled scans look up the series of Telegraf's messages, and what they fill.

A message of known series differs from the one before in its numbers, its time and, in lines, the order of its fields:
Telegraf writes those as Go's maps come. So a series is looked up by the bytes that name it, in two steps: those of
measurement and tags (its head), and the field's below them. What came after it the last time is tried first: to compare
bytes costs a tenth of looking for their end and hashing them. Whatever is not found, and whatever a scan would have to
guess at, is left to the plain readers.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled_uncounted
from common.wire.hashed_bytes import UNKNOWN, HashArrays, HashIndex
from common.wire.span_table import SpanTable, find
from ingest.collectors.columns import room

ROWS = 1 << 16  # what has more fields is left to the plain reader


class Columns(NamedTuple):
    """The samples that a scan found, one row each.

    slots, times_ns: int64, the slot UNKNOWN until it is looked up, or one that has the field's name, maybe of another
    head. values: float64. keys: int64[n, 2], offset and length of the field's name. inexact:
    int64[n, 2], begin and end of a number that is not rounded exactly, 0 and 0 for all others.
    """

    slots: NDArray[np.int64]
    times_ns: NDArray[np.int64]
    values: NDArray[np.float64]
    keys: NDArray[np.int64]
    inexact: NDArray[np.int64]

    @classmethod
    def allocate(cls, n: int) -> "Columns":
        wide = np.zeros((n, 2), np.int64)
        return cls(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), wide, wide.copy())


ColumnArrays = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]
"""``Columns`` as a plain tuple, in which it enters compiled code: a NamedTuple costs numba a microsecond more."""


@compiled_uncounted
def look_up(
    buf: NDArray[np.uint8], head: int, first: int, end: int, time_ns: int, fields: HashIndex, columns: Columns
) -> bool:
    """Writes slots and times of the rows ``first``.. before ``end``; False when a field of them is not known."""
    slots, times_ns, _, keys, _ = columns
    spans = fields.spans
    for row in range(first, end):
        slot = slots[row]
        if slot < 0 or spans[slot, 2] != head:
            slot = find(buf, keys[row, 0], keys[row, 1], head, fields)
        if slot < 0:
            return False
        slots[row], times_ns[row] = slot, time_ns
    return True


class KnownFields:
    """The slots of series by head and field, 0, 1, 2, … in the order of ``add``.

    heads_after, fields_after: int64[>= slots], the head or the field that came after this one the last time, or
    UNKNOWN.
    """

    def __init__(self) -> None:
        self._heads, self._fields = SpanTable(), SpanTable()
        self.heads_after: NDArray[np.int64] = np.full(64, UNKNOWN, np.int64)
        self.fields_after: NDArray[np.int64] = np.full(64, UNKNOWN, np.int64)

    @property
    def arrays(self) -> tuple[HashArrays, HashArrays]:
        """For compiled code: heads, and fields below them."""
        return (*self._heads.index,), (*self._fields.index,)

    def add(self, head: bytes, field: bytes) -> int:
        """The slot of a series that it does not hold."""
        parent = self._heads.put(head, 0)
        slot = self._fields.add(field, parent)
        self.heads_after = room(self.heads_after, parent, UNKNOWN)
        self.fields_after = room(self.fields_after, slot, UNKNOWN)
        return slot

    def move(self, moved: NDArray[np.int64]) -> None:
        """Keeps the slots whose new one is not negative, under that; the new ones are in the order of the old."""
        heads, fields = self._heads, self._fields
        self.__init__()  # type: ignore[misc]  # as it began
        for slot in np.flatnonzero(moved >= 0).tolist():
            field, head = fields.key(slot)
            self.add(heads.key(head)[0], field)
