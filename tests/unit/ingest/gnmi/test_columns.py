"""The passes over scanned values: small arrays by hand."""

from math import inf, nan

import numpy as np
import pytest

from common.wire.hashed_bytes import UNKNOWN
from ingest.collectors.gnmi.decode.columns import (
    IGNORED,
    SLOW_PATH,
    Chunk,
    Samples,
    append_valid,
    read_numbered,
    split_updates,
)
from ingest.collectors.gnmi.decode.scan import Scanned, ValueKind

N, T, J = ValueKind.NUMBER, ValueKind.TEXT, ValueKind.JSON


def split(
    slots: list[int], kinds: list[ValueKind], slot_rows: list[int]
) -> tuple[list[tuple[int, int, float]], list[int]]:
    """Time, row and number of the known numbers, and the indices of the other values. Update i has time 10 i."""
    n = len(slots)
    scanned = Scanned.allocate(n + 3)  # the columns are longer than what is in them
    scanned.slots[:n], scanned.kinds[:n] = slots, kinds
    scanned.times[:], scanned.numbers[:] = np.arange(n + 3) * 10, np.arange(n + 3) + 0.5
    known = Chunk(np.zeros(n, np.int64), np.zeros(n, np.int32), np.zeros(n))
    others = np.zeros(n, np.int64)
    numbers, rest = split_updates((*scanned,), n, np.array(slot_rows, np.int32), (*known,), others)
    rows = zip(known.times.tolist(), known.rows.tolist(), known.values.tolist(), strict=True)
    return list(rows)[:numbers], others[:rest].tolist()


@pytest.mark.parametrize(
    ("slots", "kinds", "slot_rows", "known", "others"),
    [
        ([], [], [], [], []),
        ([0], [N], [7], [(0, 7, 0.5)], []),
        ([0, 0], [N, N], [7], [(0, 7, 0.5), (10, 7, 1.5)], []),
        # an unknown path is left out
        ([-1, 0], [N, N], [7], [(10, 7, 1.5)], []),
        # the value of a known series that is no number goes to Python
        ([0, 0], [T, N], [7], [(10, 7, 1.5)], [0]),
        # so does any value where Python decides
        ([0, 0], [N, T], [SLOW_PATH], [], [0, 1]),
        # a path outside the catalogue is left out unless it is a container, which may hold leaves inside it
        ([0, 0, 0], [N, T, J], [IGNORED], [], [2]),
        ([0, 1, 2, 1], [N, N, J, N], [3, IGNORED, 4], [(0, 3, 0.5)], [2]),
    ],
)
def test_scanned_updates_are_split(
    slots: list[int],
    kinds: list[ValueKind],
    slot_rows: list[int],
    known: list[tuple[int, int, float]],
    others: list[int],
) -> None:
    assert split(slots, kinds, slot_rows) == (known, others)


LIMITS = np.array([[1.0, 1000.0, 1.0], [-inf, 0.0, 0.0], [inf, 5000.0, 1.0]])
FIRST_NS, LAST_NS = 100, 200


def append(*samples: tuple[int, int, float]) -> tuple[list[tuple[int, int, float]], list[int]]:
    """The valid ones of (time, row, value), and the counts of the others."""
    times, rows, values = (list(column) for column in zip(*samples, strict=True))
    chunk = Chunk(np.array(times, np.int64), np.array(rows, np.int32), np.array(values, np.float64))
    output = Samples(np.zeros(9, np.int64), np.zeros(9, np.uint32), np.zeros(9))
    bad = np.zeros(3, np.int64)
    end = append_valid((*chunk,), LIMITS, FIRST_NS, LAST_NS, (*output,), 2, bad)
    found = zip(output.times.tolist(), output.rows.tolist(), output.values.tolist(), strict=True)
    return list(found)[2:end], bad.tolist()


@pytest.mark.parametrize(
    ("sample", "kept"),
    [
        ((100, 0, 1.5), (100, 0, 1.5)),
        ((200, 0, -1.5), (200, 0, -1.5)),
        ((150, 1, 2.5), (150, 1, 2500.0)),  # scaled before the bounds are applied
        ((150, 1, 5.0), (150, 1, 5000.0)),
        ((150, 2, 0.0), (150, 2, 0.0)),
        ((150, 2, 1.0), (150, 2, 1.0)),
    ],
)
def test_valid_samples(sample: tuple[int, int, float], kept: tuple[int, int, float]) -> None:
    assert append(sample) == ([kept], [0, 0, 0])


@pytest.mark.parametrize(
    ("sample", "bad"),
    [
        ((99, 0, 1.0), [1, 0, 0]),
        ((201, 0, 1.0), [1, 0, 0]),
        ((150, 0, nan), [0, 1, 0]),
        ((150, 0, inf), [0, 1, 0]),
        ((150, 0, -inf), [0, 1, 0]),
        ((150, 1, 5.001), [0, 0, 1]),
        ((150, 2, -1e-9), [0, 0, 1]),
        ((99, 2, nan), [1, 0, 0]),  # one reason for each sample: the time first
    ],
)
def test_dropped_samples_are_counted_by_reason(sample: tuple[int, int, float], bad: list[int]) -> None:
    assert append(sample) == ([], bad)


def test_valid_and_dropped_samples_keep_their_order() -> None:
    kept, bad = append((150, 0, 1.0), (99, 0, 2.0), (151, 1, 3.0), (150, 0, nan), (152, 2, 9.0), (153, 0, 4.0))
    assert kept == [(150, 0, 1.0), (151, 1, 3000.0), (153, 0, 4.0)]
    assert bad == [1, 1, 1]


def numbered(
    paths: list[int], kinds: list[ValueKind], slots: list[int], slot_rows: list[int], numbers: list[float]
) -> tuple[list[tuple[int, int, float]], list[int], int, list[int]]:
    """The samples, the indices of the other values, how many paths have no slot, and the counts of what is no sample.

    Update i has time 100 + 30 i.
    """
    n = len(paths)
    columns = (np.array(paths, np.int64), np.array(kinds, np.int8), np.array(numbers), 100 + 30 * np.arange(n))
    output, others, bad = Samples.allocate(n), np.zeros(n, np.int64), np.zeros(3, np.int64)
    tables = np.array(slots, np.int32), np.array(slot_rows, np.int32), LIMITS
    taken, rest, unknown = read_numbered(columns, *tables, FIRST_NS, LAST_NS, (*output,), others, bad)
    samples = zip(*(column.tolist() for column in output.first(taken)), strict=True)
    return list(samples), others[:rest].tolist(), unknown, bad.tolist()


def test_updates_by_number_are_split_and_checked_in_one_pass() -> None:
    paths, kinds, numbers = [2, 0, 2, 3, 1, 2], [N, N, T, N, N, N], [2.0, 1.5, 0.0, 1.0, 1.0, 3.0]
    # path 0 on row 0, path 1 without a slot, path 2 on row 1, path 3 where Python decides; the last one is too late
    found = numbered(paths, kinds, [1, UNKNOWN, 0, 2], [1, 0, SLOW_PATH], numbers)
    assert found == ([(100, 1, 2000.0), (130, 0, 1.5)], [2, 3], 1, [1, 0, 0])


def test_updates_by_number_outside_the_catalogue_or_their_bounds_are_no_samples() -> None:
    assert numbered([0, 1, 1], [N, N, N], [0, 1], [IGNORED, 2], [1.0, nan, 2.0]) == ([], [], 0, [0, 1, 1])
    assert numbered([], [], [], [], []) == ([], [], 0, [0, 0, 0])
