"""Named numpy columns of one length that grow geometrically: the state of many series without an object each."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FIRST_CAPACITY = 1024


class Columns:
    """Columns of equal length, each with its own type, fill value and number of values a row.

    layout: name -> (numpy type, fill, values a row; 1 makes a plain vector).
    ``columns[name]`` is a writable view of the rows in use; it stays valid until the next ``grow`` or ``keep``.
    """

    def __init__(self, layout: Mapping[str, tuple[str, float, int]]) -> None:
        self._layout = dict(layout)
        self._arrays = {name: self._blank(name, 0) for name in layout}
        self.size = 0

    def _blank(self, name: str, rows: int) -> NDArray[Any]:
        dtype, fill, width = self._layout[name]
        return np.full(rows if width == 1 else (rows, width), fill, dtype)

    def __getitem__(self, name: str) -> NDArray[Any]:
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
        self.size = size

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Only these rows, renumbered in the order given; the memory of the others is given back."""
        self._arrays = {name: array[rows] for name, array in self._arrays.items()}
        self.size = len(rows)

    def state(self) -> dict[str, NDArray[Any]]:
        return {name: self[name] for name in self._layout}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Keeps arrays that own their memory, copies the others."""
        self._arrays = {name: np.require(state[name], requirements=["C", "W", "O"]) for name in self._layout}
        self.size = len(next(iter(self._arrays.values())))
