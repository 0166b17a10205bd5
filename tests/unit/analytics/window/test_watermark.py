"""Ticks: bounded lateness, duplicates, conservation."""

import pytest

from analytics.window.watermark import DropReason, TickWindow
from tests.unit.analytics.small_cluster import CONFIG, START_NS, batch, port_key, table

LEAF = table("leaf1", [port_key("fabric_port_up"), port_key("fabric_port_up", "Ethernet4")])


def closed(window: TickWindow) -> list[list[int]]:
    return [[b.collection.seq for b in batches] for _, batches in window.pop_closed() if batches]


def test_a_tick_waits_for_the_holdback() -> None:
    window = TickWindow(CONFIG)
    window.add(batch(LEAF, 0, [1, 1]))
    assert closed(window) == []
    window.add(batch(LEAF, 1, [1, 1]))
    assert closed(window) == [[0]]


def test_late_batches_are_counted_and_dropped() -> None:
    window = TickWindow(CONFIG)
    window.add(batch(LEAF, 9, [1, 1]))
    window.add(batch(LEAF, 0, [1, 1]))
    assert window.counts.dropped == {DropReason.LATE: 2}


def test_lateness_does_not_depend_on_when_ticks_were_closed() -> None:
    dropped = []
    for close_between in (False, True):
        window = TickWindow(CONFIG)
        window.add(batch(LEAF, 0, [1, 1]))
        window.add(batch(LEAF, 9, [1, 1]))
        if close_between:
            closed(window)
        window.add(batch(LEAF, 3, [1, 1]))
        dropped.append(dict(window.counts.dropped))
    assert dropped == [{DropReason.LATE: 2}] * 2


@pytest.mark.parametrize("close_between", [False, True])
def test_duplicates_are_counted_apart(close_between: bool) -> None:
    window = TickWindow(CONFIG)
    first = batch(LEAF, 0, [1, 1])
    window.add(first)
    if close_between:
        window.add(batch(LEAF, 5, [1, 1]))
        closed(window)
    window.add(first)
    assert window.counts.deduplicated == 2
    assert not window.counts.dropped


def test_batches_of_a_tick_come_in_canonical_order() -> None:
    other = table("aardvark", [port_key("fabric_port_up", device="aardvark")])
    window = TickWindow(CONFIG)
    for each in (batch(LEAF, 0, [1, 1], at_s=1), batch(other, 0, [1], at_s=2), batch(LEAF, 9, [1, 1])):
        window.add(each)
    devices = [[b.table.device for b in batches] for _, batches in window.pop_closed() if batches]
    assert devices == [["aardvark", "leaf1"]]


def test_a_long_silence_is_not_stepped_through_tick_by_tick() -> None:
    window = TickWindow(CONFIG)
    window.add(batch(LEAF, 0, [1, 1]))
    window.add(batch(LEAF, 100_000, [1, 1]))
    window.add(batch(LEAF, 100_002, [1, 1]))
    ticks = list(window.pop_closed())
    assert len(ticks) < 60
    assert ticks[-1][0] <= START_NS + 100_002 * 10 * 10**9


def test_held_samples_are_in_the_books() -> None:
    window = TickWindow(CONFIG)
    window.add(batch(LEAF, 0, [1, 1]))
    assert window.counts.held == 2
    window.add(batch(LEAF, 1, [1, 1]))
    closed(window)
    assert window.counts.held == 2
