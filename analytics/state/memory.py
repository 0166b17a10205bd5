"""The memory of one part about its series: named columns with a row for each of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.snapshot.stateful import State
from analytics.state.columns import Columns
from analytics.state.lookup import lookup

_REMEMBERED = 4  # sets of series of which the rows are: one detector has up to so many columns
_Rows = tuple[NDArray[np.int64], NDArray[np.int64]]


class MemoryColumn(NamedTuple):
    """Zero for a series that is new. width: values a row; 1 makes a plain vector.

    settings: paths in ``EngineConfig`` whose change gives its values another meaning, as what is learned from each
    collection has with ``interval_s``: the memory then begins again.
    """

    name: str
    width: int = 1
    dtype: str = "f8"
    settings: tuple[str, ...] = ()


class Memory:
    """Columns with a row for each series that ``rows`` was called with.

    ``memory[name]`` may be written; it stays valid until rows are added.
    """

    def __init__(self, columns: Sequence[MemoryColumn]) -> None:
        self._layout = {column.name: (column.dtype, 0.0, column.width) for column in columns}
        self._columns = Columns({"sid": ("i8", -1, 1), **self._layout})
        self._newest: tuple[_Rows, ...] = ()  # of the series asked for last

    def __len__(self) -> int:
        return self._columns.size

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def rows(self, sids: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[k]: the row of each of these series, without duplicates; new series get one."""
        for known, rows in self._newest:  # most parts have the same series in every tick
            if known is sids or np.array_equal(known, sids):
                return rows
        rows = lookup(self._columns["sid"], sids)
        new = np.flatnonzero(rows < 0)
        if new.size:
            rows[new] = self._columns.size + np.arange(new.size)
            self._columns.grow(self._columns.size + new.size)
            self._columns["sid"][rows[new]] = sids[new]
        self._newest = ((sids, rows), *self._newest[: _REMEMBERED - 1])
        return rows

    def draft(self) -> "Memory":
        """A copy to write to; the owner of the memory keeps it or discards it."""
        copied = object.__new__(Memory)
        copied._layout, copied._newest = self._layout, self._newest
        copied._columns = self._columns.copy()
        return copied

    def keep(self, sids: NDArray[np.int64]) -> None:
        """Keeps only these series, which have been renumbered in the order given."""
        numbers = lookup(sids, self._columns["sid"])
        self._columns.keep(np.flatnonzero(numbers >= 0))
        self._columns["sid"][:] = numbers[numbers >= 0]
        self._newest = ()

    def state(self) -> State:
        return self._columns.state()

    def restore(self, state: State) -> None:
        self._columns.restore(state)
        self._newest = ()
