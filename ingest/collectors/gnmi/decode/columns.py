"""The compiled passes over values: which are numbers of known series, and which of these are valid samples.

One pass does both for updates that know their paths by number; no copy of the numbers is made in between.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled_uncounted
from ingest.collectors.gnmi.decode.scan import Scanned, ScannedArrays

IGNORED = -1
"""In slot_rows: the catalogue does not know this path."""
SLOW_PATH = -3
"""In slot_rows: Python reads the value, whatever its kind."""

_NUMBER, _JSON = 0, 2  # of ``ValueKind``


class Chunk(NamedTuple):
    """Times, rows and values of equal length; values as the source sent them."""

    times: NDArray[np.int64]
    rows: NDArray[np.int32]
    values: NDArray[np.float64]


class Samples(NamedTuple):
    """Times, rows and values of equal length; values in the unit of the metric."""

    times: NDArray[np.int64]
    rows: NDArray[np.uint32]
    values: NDArray[np.float64]

    @classmethod
    def allocate(cls, n: int) -> "Samples":
        return cls(np.empty(n, np.int64), np.empty(n, np.uint32), np.empty(n))

    def first(self, n: int) -> "Samples":
        """A view of the first ``n``."""
        return Samples(self.times[:n], self.rows[:n], self.values[:n])


ChunkArrays = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]
SampleArrays = tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]
"""``Chunk`` and ``Samples`` as plain tuples, in which they enter compiled code."""
NumberedArrays = tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.float64], NDArray[np.int64]]
"""Paths, kinds, numbers and times of ``KnownUpdates``."""


@compiled_uncounted
def split_updates(
    columns: ScannedArrays, n: int, slot_rows: NDArray[np.int32], chunk: ChunkArrays, others: NDArray[np.int64]
) -> tuple[int, int]:
    """Splits the first ``n`` scanned updates into numbers of known series and values for Python.

    The numbers go to the front of ``chunk``, the indices of the other values to the front of ``others``; values of
    unknown paths are left out. Returns how many of each.
    """
    scanned, known = Scanned(*columns), Chunk(*chunk)
    numbers, rest = 0, 0
    for i in range(n):
        slot = scanned.slots[i]
        if slot < 0:
            continue
        row = slot_rows[slot]
        if row >= 0 and scanned.kinds[i] == _NUMBER:
            known.times[numbers], known.rows[numbers], known.values[numbers] = scanned.times[i], row, scanned.numbers[i]
            numbers += 1
        elif row != IGNORED or scanned.kinds[i] == _JSON:
            others[rest] = i
            rest += 1
    return numbers, rest


@compiled_uncounted
def append_valid(
    columns: ChunkArrays,
    limits: NDArray[np.float64],
    first_ns: int,
    last_ns: int,
    output: SampleArrays,
    at: int,
    bad: NDArray[np.int64],
) -> int:
    """Appends the valid samples of a chunk to ``output`` at ``at``; returns the index after the last one.

    limits: float64[3, rows], the factor to the metric's unit, and the bounds in that unit. first_ns, last_ns: the
    accepted event times. bad: receives the counts of other times, of values that are no finite number, and of values
    out of bounds.
    """
    chunk = Chunk(*columns)
    for i in range(chunk.rows.size):
        at = _append(chunk.times[i], chunk.rows[i], chunk.values[i], limits, first_ns, last_ns, output, at, bad)
    return at


@compiled_uncounted
def _append(
    time: int,
    row: int,
    number: float,
    limits: NDArray[np.float64],
    first_ns: int,
    last_ns: int,
    output: SampleArrays,
    at: int,
    bad: NDArray[np.int64],
) -> int:
    """Appends one sample, as ``append_valid`` does."""
    samples, value = Samples(*output), number * limits[0, row]
    if time < first_ns or time > last_ns:
        bad[0] += 1
    elif not np.isfinite(value):
        bad[1] += 1
    elif value < limits[1, row] or value > limits[2, row]:
        bad[2] += 1
    else:
        samples.times[at], samples.rows[at], samples.values[at] = time, row, value
        return at + 1
    return at


@compiled_uncounted
def read_numbered(
    columns: NumberedArrays,
    slots: NDArray[np.int32],
    slot_rows: NDArray[np.int32],
    limits: NDArray[np.float64],
    first_ns: int,
    last_ns: int,
    output: SampleArrays,
    others: NDArray[np.int64],
    bad: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Splits updates as ``split_updates`` does and appends the valid samples as ``append_valid`` does, in one pass.

    slots: int32[> paths], by path. Returns how many samples are in ``output``, how many indices in ``others``, and how
    many updates have a path without a slot, which are left out.
    """
    paths, kinds, numbers, times = columns
    at, rest, unknown = 0, 0, 0
    for i in range(paths.size):
        slot = slots[paths[i]]
        if slot < 0:
            unknown += 1
            continue
        row = slot_rows[slot]
        if row >= 0 and kinds[i] == _NUMBER:
            at = _append(times[i], row, numbers[i], limits, first_ns, last_ns, output, at, bad)
        elif row != IGNORED or kinds[i] == _JSON:
            others[rest] = i
            rest += 1
    return at, rest, unknown


def warm_up() -> None:
    """Compiles the passes, or loads them from the disk cache."""
    times, rows, values = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0)
    chunk = times, rows, values
    split_updates((*Scanned.allocate(0),), 0, rows, chunk, times)
    samples, limits = (times, np.zeros(0, np.uint32), values), np.zeros((3, 0))
    append_valid(chunk, limits, 0, 0, samples, 0, times)
    numbered = times, np.zeros(0, np.int8), values, times
    read_numbered(numbered, rows, rows, limits, 0, 0, samples, times, times)
