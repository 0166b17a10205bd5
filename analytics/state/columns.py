"""Named numpy columns of one length that grow geometrically: the state of many series without an object each."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytics.snapshot.stateful import State

_FIRST_CAPACITY = 1024
Layout = Mapping[str, tuple[str, float, int]]
"""name -> (numpy type, fill value, values a row; 1 makes a plain vector)."""


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view of the same memory that cannot be written."""
    view = array.view()
    view.setflags(write=False)
    return view


def locked(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself, which cannot be written from now on."""
    array.setflags(write=False)
    return array


class ReadOnlyColumns:
    """Read-only views of ``Columns``, valid as long as these neither grow nor lose rows."""

    def __init__(self, columns: "Columns") -> None:
        self._columns = columns
        self._views: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        view = self._views.get(name)
        if view is None:
            view = self._views[name] = read_only(self._columns[name])
        return view


class Columns:
    """Columns of equal length, each with its own type, fill value and number of values a row.

    ``columns[name]`` is a writable view of the rows in use; it stays valid until the next ``grow`` or ``keep``.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = dict(layout)
        self._arrays = {name: self._blank(name, 0) for name in layout}
        self._shared: set[str] = set()  # those that belong to the columns which these are a copy of
        self.size = 0

    def _blank(self, name: str, rows: int) -> NDArray[Any]:
        dtype, fill, width = self._layout[name]
        return np.full(rows if width == 1 else (rows, width), fill, dtype)

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name in self._shared:
            self._shared.remove(name)
            self._arrays[name] = self._arrays[name].copy()
        return self._arrays[name][: self.size]

    def grow(self, size: int) -> None:
        """At least ``size`` rows; new ones hold the fill values."""
        if size <= self.size:
            return
        capacity = len(next(iter(self._arrays.values())))
        if size > capacity:
            wanted = max(size, 2 * capacity, _FIRST_CAPACITY)
            for name, array in self._arrays.items():
                self._arrays[name] = np.concatenate([array, self._blank(name, wanted - capacity)])
            self._shared.clear()
        self.size = size

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Keeps only these rows, renumbered in the order given, and frees the memory of the others."""
        self._arrays = {name: array[rows] for name, array in self._arrays.items()}
        self._shared.clear()
        self.size = len(rows)

    def copy(self) -> "Columns":
        """The rows in use; each column in memory of its own once it is asked for. These may not be written any more
        unless the copy is dropped."""
        copied = object.__new__(Columns)  # without the empty arrays that would be replaced at once
        copied._layout, copied._shared, copied.size = self._layout, set(self._layout), self.size
        copied._arrays = {name: array[: self.size] for name, array in self._arrays.items()}
        return copied

    def state(self) -> State:
        return State(None, {name: self._arrays[name][: self.size] for name in self._layout})

    def restore(self, state: State) -> None:
        """Keeps arrays that own their memory, copies the others."""
        self.restore_some(state, self._layout)

    def restore_some(self, state: State, names: Iterable[str]) -> None:
        """Only these columns. The others stay, or are filled where the number of rows is another one."""
        given = {name: np.require(state.arrays[name], requirements=["C", "W", "O"]) for name in names}
        size = len(next(iter(given.values())))
        others = self._layout.keys() - given.keys()
        kept = {name: self[name] if size == self.size else self._blank(name, size) for name in others}
        self._arrays, self._shared, self.size = kept | given, set(), size


class SomeColumns:
    """Some of the columns, as a part of the state of their own."""

    def __init__(self, columns: Columns, names: Sequence[str]) -> None:
        self._columns, self._names = columns, names

    def state(self) -> State:
        return State(None, {name: self._columns[name] for name in self._names})

    def restore(self, state: State) -> None:
        self._columns.restore_some(state, self._names)
