"""The rows of a target's series: they begin with a value, end with a delete, and move up."""

from math import inf

import numpy as np
import pytest

from ingest.collectors.gnmi.paths.elements import Elements, elements_of, parse_path
from ingest.collectors.gnmi.paths.naming import Named
from ingest.collectors.gnmi.paths.series_rows import ENDED, Leaf, SeriesRows
from telemetry.catalogue import Kind, Metric, Origin

GAUGE = Metric("fabric_gauge", Kind.GAUGE, "", ("device", "port"), "For a test.")
BOUNDED = Metric("fabric_bounded", Kind.GAUGE, "", ("device", "port"), "For a test.", minimum=0.0, maximum=5.0)


def named(port: str, metric: Metric = GAUGE, scale: float = 1.0) -> Named:
    return Named(metric, Origin("test", "x", scale=scale), {"port": port})


def raw(port: str, leaf: str = "x") -> Elements:
    return elements_of(parse_path(f"/interfaces/interface[name={port}]/state/{leaf}"))


def add(rows: SeriesRows, *ports: str) -> list[Leaf]:
    leaves = [rows.new_leaf(named(port), raw(port)) for port in ports]
    assert all(leaf is not None for leaf in leaves)
    return [leaf for leaf in leaves if leaf is not None]


def key(port: str, metric: str = "fabric_gauge") -> str:
    return f'{metric}{{device="leaf1",port="{port}"}}'


@pytest.fixture
def rows() -> SeriesRows:
    return SeriesRows("gnmi/a:1", "leaf1", series_max=4)


def test_rows_are_given_in_order_and_the_table_is_the_same_until_one_is_new(rows: SeriesRows) -> None:
    first, second = add(rows, "a", "b")
    table = rows.table
    assert (first.row, second.row, table.keys) == (0, 1, (key("a"), key("b")))
    assert (table.target, table.device) == ("gnmi/a:1", "leaf1")
    assert rows.table is table
    add(rows, "c")
    assert rows.table is not table


def test_two_paths_of_one_series_share_its_row(rows: SeriesRows) -> None:
    one = rows.new_leaf(named("a"), raw("a", "x"))
    other = rows.new_leaf(named("a"), raw("a", "y"))
    assert one is not None
    assert other is not None
    assert (one.row, other.row, len(rows)) == (0, 0, 1)


def test_series_above_the_limit_are_refused_and_counted(rows: SeriesRows) -> None:
    add(rows, "a", "b", "c", "d")
    assert rows.new_leaf(named("e"), raw("e")) is None
    assert (rows.refused, len(rows)) == (1, 4)
    assert rows.new_leaf(named("a"), raw("a", "y")) is not None  # its series has a row


def test_limits_hold_scale_minimum_and_maximum_by_row(rows: SeriesRows) -> None:
    add(rows, "a")
    rows.new_leaf(named("a", BOUNDED, 1000.0), raw("a", "bounded"))
    assert rows.limits[:, 0].tolist() == [1.0, -inf, inf]
    assert rows.limits[:, 1].tolist() == [1000.0, 0.0, 5.0]


def test_limits_grow_with_the_rows() -> None:
    rows = SeriesRows("gnmi/a:1", "leaf1", series_max=1000)
    for n in range(200):
        rows.new_leaf(named(str(n), BOUNDED, float(n)), raw(str(n)))
    assert rows.limits[0, :200].tolist() == [float(n) for n in range(200)]
    assert set(rows.limits[2, :200].tolist()) == {5.0}


def test_without_a_delete_there_is_nothing_to_purge(rows: SeriesRows) -> None:
    add(rows, "a")
    assert not rows.ending
    assert rows.purge() is None


def test_a_delete_removes_rows_and_moves_the_others_up(rows: SeriesRows) -> None:
    a, b, c = add(rows, "a", "b", "c")
    rows.limits[0, :3] = 1.0, 2.0, 3.0
    rows.end(raw("b")[:2])
    assert rows.ending
    moved = rows.purge()
    assert moved is not None
    assert moved.tolist() == [0, ENDED, 1]
    assert (a.row, b.row, c.row) == (0, ENDED, 1)
    assert rows.table.keys == (key("a"), key("c"))
    assert rows.limits[0].tolist() == [1.0, 3.0]
    assert not rows.ending


def test_a_value_before_the_purge_keeps_the_row(rows: SeriesRows) -> None:
    add(rows, "a", "b")
    rows.end(raw("a")[:1])
    rows.keep(np.array([1], np.int32))
    moved = rows.purge()
    assert moved is not None
    assert moved.tolist() == [ENDED, 0]
    rows.end(raw("b")[:1])
    rows.keep(np.array([0], np.int32))
    assert rows.purge() is None


def test_all_series_may_end_and_one_come_back_on_a_new_row(rows: SeriesRows) -> None:
    a, b = add(rows, "a", "b")
    rows.end(())
    rows.purge()
    assert (len(rows), rows.table.keys) == (0, ())
    assert rows.assign_row(b)
    assert (a.row, b.row, rows.table.keys) == (ENDED, 0, (key("b"),))
    assert rows.limits[:, 0].tolist() == [1.0, -inf, inf]


def test_an_ended_series_finds_no_row_when_others_have_taken_all(rows: SeriesRows) -> None:
    a, *_ = add(rows, "a", "b", "c", "d")
    rows.end(raw("a")[:2])
    rows.purge()
    add(rows, "e")
    assert not rows.assign_row(a)
    assert (a.row, rows.refused) == (ENDED, 1)
