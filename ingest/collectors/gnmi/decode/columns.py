"""The two passes over all values of some messages: which are numbers of known series, and which may be handed on."""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled

IGNORED = -1
"""In slot_rows: nobody asked for this path."""
ASK = -3
"""In slot_rows: Python decides, whatever the kind of value."""

_NUMBER, _JSON = 0, 2  # of wire.ValueKind


@compiled
def sort_out(
    slots: NDArray[np.int32],
    kinds: NDArray[np.int8],
    slot_rows: NDArray[np.int32],
    times: NDArray[np.int64],
    numbers: NDArray[np.float64],
    known_times: NDArray[np.int64],
    known_rows: NDArray[np.int32],
    known_numbers: NDArray[np.float64],
    others: NDArray[np.int64],
) -> tuple[int, int]:
    """Scanned updates by what is to be done with them; all columns are as long as ``slots``.

    Numbers of known series go to the front of the known columns, the places of those for Python to ``others``; what
    nobody asked for goes nowhere. Returns how many of each.
    """
    known, other = 0, 0
    for i in range(slots.size):
        if slots[i] < 0:
            continue
        row = slot_rows[slots[i]]
        if row >= 0 and kinds[i] == _NUMBER:
            known_times[known], known_rows[known], known_numbers[known] = times[i], row, numbers[i]
            known += 1
        elif row != IGNORED or kinds[i] == _JSON:
            others[other] = i
            other += 1
    return known, other


@compiled
def take_usable(
    times: NDArray[np.int64],
    rows: NDArray[np.int32],
    values: NDArray[np.float64],
    scale: NDArray[np.float64],
    minimum: NDArray[np.float64],
    maximum: NDArray[np.float64],
    first_ns: int,
    last_ns: int,
    at: int,
    good_times: NDArray[np.int64],
    good_rows: NDArray[np.uint32],
    good_values: NDArray[np.float64],
    bad: NDArray[np.int64],
) -> int:
    """Writes what is usable behind ``at``, in the metric's unit; returns the place behind it.

    scale, minimum, maximum: by row. bad: how many came at an impossible time, were no numbers, were out of bounds.
    """
    for i in range(rows.size):
        row = rows[i]
        value = values[i] * scale[row]
        if times[i] < first_ns or times[i] > last_ns:
            bad[0] += 1
        elif not np.isfinite(value):
            bad[1] += 1
        elif value < minimum[row] or value > maximum[row]:
            bad[2] += 1
        else:
            good_times[at], good_rows[at], good_values[at] = times[i], row, value
            at += 1
    return at


def warm() -> None:
    """Compiles both passes, or loads them from the disk cache."""
    times, rows, values = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0)
    sort_out(rows, np.zeros(0, np.int8), rows, times, values, times, rows, values, times)
    good = times, np.zeros(0, np.uint32), values, times
    take_usable(times, rows, values, values, values, values, 0, 0, 0, *good)
