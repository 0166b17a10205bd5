"""The two compiled passes over the scanned values: which are numbers of known series, and which are valid samples."""

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


ChunkArrays = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]
SampleArrays = tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]
"""``Chunk`` and ``Samples`` as plain tuples, in which they enter compiled code."""


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
    chunk, samples = Chunk(*columns), Samples(*output)
    scale, minimum, maximum = limits[0], limits[1], limits[2]
    for i in range(chunk.rows.size):
        row, time = chunk.rows[i], chunk.times[i]
        value = chunk.values[i] * scale[row]
        if time < first_ns or time > last_ns:
            bad[0] += 1
        elif not np.isfinite(value):
            bad[1] += 1
        elif value < minimum[row] or value > maximum[row]:
            bad[2] += 1
        else:
            samples.times[at], samples.rows[at], samples.values[at] = time, row, value
            at += 1
    return at


def warm_up() -> None:
    """Compiles both passes, or loads them from the disk cache."""
    times, rows, values = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0)
    chunk = times, rows, values
    split_updates((*Scanned.allocate(0),), 0, rows, chunk, times)
    append_valid(chunk, np.zeros((3, 0)), 0, 0, (times, np.zeros(0, np.uint32), values), 0, times)
