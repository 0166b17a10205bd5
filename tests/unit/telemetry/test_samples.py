"""What a batch refuses."""

import math

import numpy as np
import pytest

from common.errors import BadInput
from telemetry.samples import Collection, DownReason, SampleBatch, all_rows
from telemetry.series import SeriesTable

TABLE = SeriesTable("job/node1:9100", "node1", ("a{}", "b{}"))
UP, DOWN = Collection(0, 0, 0, 0.1), Collection(0, 0, 0, 0.1, DownReason.TIMEOUT)


def batch(
    rows: list[int], values: list[float], *, times: int | None = None, collection: Collection = UP
) -> SampleBatch:
    n = len(values) if times is None else times
    return SampleBatch(TABLE, collection, np.zeros(n, np.int64), np.array(rows, np.uint32), np.array(values))


@pytest.mark.parametrize(
    ("rows", "values"), [([0, 2], [1.0, 2.0]), ([0, 1], [1.0, math.nan]), ([0, 1], [1.0]), ([], [])]
)
def test_broken_promises_are_refused(rows: list[int], values: list[float]) -> None:
    with pytest.raises(BadInput):
        batch(rows, values)


def test_columns_of_other_lengths_are_refused() -> None:
    with pytest.raises(BadInput):
        batch([0, 1], [1.0, 2.0], times=1)


def test_all_rows_of_another_table_are_refused() -> None:
    with pytest.raises(BadInput):
        SampleBatch(TABLE, UP, np.zeros(3, np.int64), all_rows(3), np.ones(3))


def test_infinite_values_any_order_and_nothing_from_a_target_that_is_down_are_fine() -> None:
    assert len(batch([1, 0], [math.inf, -math.inf])) == 2
    assert len(batch([], [], collection=DOWN)) == 0


def test_the_rows_that_batches_share_cannot_be_written() -> None:
    assert all_rows(4) is all_rows(4)
    with pytest.raises(ValueError, match="read-only"):
        all_rows(4)[0] = 1
