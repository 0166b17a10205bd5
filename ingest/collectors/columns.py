"""Columns that grow."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Number = TypeVar("_Number", bound=np.generic)


def room(column: NDArray[_Number], place: int, fill: int = 0) -> NDArray[_Number]:
    """The column, or a larger one, that has this place along its last axis."""
    size = column.shape[-1]
    if place < size:
        return column
    more = np.full((*column.shape[:-1], max(size, place + 1 - size, 64)), fill, column.dtype)
    return np.concatenate((column, more), axis=-1)


def ranges(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """All numbers of the ranges that begin at ``starts``, one after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(counts) - counts
    first: NDArray[np.int64] = np.repeat(starts - before, counts)
    return first + np.arange(first.size)
