"""Finding rows by number."""

import numpy as np
from numpy.typing import NDArray

_DENSE_TIMES = 16  # a table of so many times the rows is quicker than a sort


def worst_of_each(objects: NDArray[np.int64], score: NDArray[np.float64]) -> NDArray[np.int64]:
    """The row with the highest score of each object, ordered by object; the first such row where scores tie."""
    if (objects[1:] > objects[:-1]).all():
        return np.arange(objects.size)
    # From behind, since the sort keeps the order of ties and the last row of each object is taken.
    order = objects.size - 1 - np.lexsort((score[::-1], objects[::-1]))
    sorted_objects = objects[order]
    return np.asarray(order[np.append(sorted_objects[1:] != sorted_objects[:-1], True)])


def lookup(known: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Row in ``known`` (any order) of each wanted number, the first where it occurs twice, -1 where it does not."""
    if not known.size or not wanted.size:
        return np.full(wanted.size, -1, np.int64)
    size = 1 + int(max(known.max(), wanted.max()))
    if size <= _DENSE_TIMES * (known.size + wanted.size):
        row_of = np.full(size, -1, np.int64)
        row_of[known[::-1]] = np.arange(known.size)[::-1]
        return np.asarray(row_of[wanted])
    order = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known, wanted, sorter=order), known.size - 1)
    rows = order[at]
    return np.where(known[rows] == wanted, rows, -1)
