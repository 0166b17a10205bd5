"""Columns of series at one tick: some of their rows, and the values about objects."""

import numpy as np

from analytics.view.tick_view import TickView
from tests.unit.analytics.detectors.ticks import at_each_tick, collected
from tests.unit.analytics.small_cluster import port_key

METRIC = "fabric_port_up"
KEYS = [port_key(METRIC, f"Ethernet{n}") for n in range(3)]


def test_a_mask_that_leaves_no_row_out_gives_the_column_itself_and_others_their_rows() -> None:
    def rows_of(view: TickView) -> list[list[float]]:
        column = view.column(METRIC)
        assert column.only(np.ones(3, bool)) is column
        assert column.only(np.array([1, 1, 1])) is not column  # three times the second row
        chosen = (np.array([True, False, True]), np.zeros(3, bool), np.array([2, 0]))
        return [column.only(rows).values.tolist() for rows in chosen]

    assert at_each_tick(rows_of, collected(KEYS, [(1.0, 0.0, 0.5)] * 2))[-1] == [[1.0, 0.5], [], [0.5, 1.0]]


def test_the_value_about_an_object_is_that_of_its_row_and_nan_where_there_is_none() -> None:
    def about(view: TickView) -> list[float]:
        column = view.column(METRIC)
        asked = np.append(column.objects[::-1], len(view.index.objects))
        assert np.array_equal(column.only(np.array([1])).about(asked), [np.nan, 0.0, np.nan, np.nan], equal_nan=True)
        return list(map(float, column.about(asked)))

    found = at_each_tick(about, collected(KEYS, [(1.0, 0.0, 0.5)] * 2))[-1]
    assert found[:3] == [0.5, 0.0, 1.0]
    assert np.isnan(found[3])
