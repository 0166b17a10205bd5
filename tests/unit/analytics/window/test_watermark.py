"""Ticks: bounded lateness, duplicates, conservation."""

import orjson
import pytest

from analytics.config import LIGHT_TICKS
from analytics.snapshot.stateful import State
from analytics.window.watermark import DropReason, TickWindow, from_format_1
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
    for each in (batch(LEAF, 0, [1, 1], at_s=0.5), batch(other, 0, [1], at_s=1), batch(LEAF, 9, [1, 1])):
        window.add(each)
    devices = [[b.table.device for b in batches] for _, batches in window.pop_closed() if batches]
    assert devices == [["aardvark", "leaf1"]]


def test_a_long_silence_is_not_stepped_through_tick_by_tick() -> None:
    window = TickWindow(CONFIG)
    window.add(batch(LEAF, 0, [1, 1]))
    window.add(batch(LEAF, 100_000, [1, 1]))
    window.add(batch(LEAF, 100_002, [1, 1]))
    ticks = list(window.pop_closed())
    assert len(ticks) < 60 * LIGHT_TICKS
    assert ticks[-1][0] <= START_NS + 100_002 * 10 * 10**9


def test_held_samples_are_in_the_books() -> None:
    window = TickWindow(CONFIG)
    window.add(batch(LEAF, 0, [1, 1]))
    assert window.counts.held == 2
    window.add(batch(LEAF, 1, [1, 1]))
    closed(window)
    assert window.counts.held == 2


def test_a_collection_that_took_long_counts_in_the_first_open_tick() -> None:
    """It began before the tick of another one closed, and arrives after that."""
    window = TickWindow(CONFIG)
    other = table("leaf2", [port_key("fabric_port_up", device="leaf2")])
    window.add(batch(LEAF, 0, [1, 1]))
    window.add(batch(other, 0, [1], at_s=6))
    assert closed(window) == [[0]]
    slow = table("node1", [port_key("nic_up", device="node1")])
    window.add(batch(slow, 0, [1], at_s=1))
    assert window.counts.dropped == {}
    window.add(batch(LEAF, 1, [1, 1], at_s=12))
    ticks = [[b.table.device for b in batches] for _, batches in window.pop_closed() if batches]
    assert ticks == [["leaf2", "node1"]]
    window.add(batch(slow, 0, [1], at_s=1))
    assert window.counts.deduplicated == 1


@pytest.mark.parametrize("seq", [0, 1])
def test_what_its_target_has_overtaken_is_late(seq: int) -> None:
    window = TickWindow(CONFIG)
    window.add(batch(LEAF, seq + 1, [1, 1], at_s=1 + 9 * seq))
    window.add(batch(table("leaf2", [port_key("fabric_port_up", device="leaf2")]), 0, [1], at_s=7 + 9 * seq))
    window.add(batch(LEAF, seq, [1, 1], at_s=0))
    assert window.counts.dropped == {DropReason.LATE: 2}


@pytest.mark.parametrize(("at_s", "dropped"), [(11.0, {DropReason.LATE: 1}), (10.9, {})])
def test_a_collection_lasts_an_interval_at_most(at_s: float, dropped: dict[DropReason, int]) -> None:
    """Later than that, and the holdback of a second, is late."""
    window = TickWindow(CONFIG)
    window.add(batch(LEAF, 0, [1, 1], at_s=at_s))
    window.add(batch(table("node1", [port_key("nic_up", device="node1")]), 0, [1], at_s=-0.1))
    assert window.counts.dropped == dropped


def test_a_late_collection_is_known_by_name_after_a_restart() -> None:
    window, again = TickWindow(CONFIG), TickWindow(CONFIG)
    slow = batch(table("node1", [port_key("nic_up", device="node1")]), 0, [1], at_s=1)
    window.add(batch(LEAF, 0, [1, 1]))
    window.add(batch(LEAF, 1, [1, 1], at_s=7))
    window.state()  # the names of what is closed are written once
    window.add(slow)
    head, arrays = window.state()
    again.restore(State(orjson.loads(orjson.dumps(head)), arrays))
    again.add(slow)
    assert again.counts.deduplicated == 1


@pytest.mark.parametrize(("appended_s", "tick"), [(2.2, 0), (5.9, 3), (6.0, 4), (12.5, 0)])
def test_what_took_longer_than_the_holdback_counts_when_the_bus_had_it(appended_s: float, tick: int) -> None:
    """Not by what else had come by then: live, caught up and replayed are the same. An outage of the bus, which takes
    longer than any collection, is no reason."""
    window = TickWindow(CONFIG)
    window.add(batch(LEAF, 0, [1, 1], at_s=1), START_NS + round(appended_s * 10**9))
    again = TickWindow(CONFIG)
    head, arrays = window.state()
    again.restore(State(orjson.loads(orjson.dumps(head)), arrays))
    for each in (window, again):
        each.add(batch(LEAF, 3, [1, 1]))
        ends_ns = [end_ns for end_ns, batches in each.pop_closed() if batches]
        assert ends_ns == [START_NS + (tick + 1) * CONFIG.light_tick_ns]


def test_what_was_overtaken_is_late_after_a_restart_too() -> None:
    window, again = TickWindow(CONFIG), TickWindow(CONFIG)
    for one in (batch(LEAF, 1, [1, 1], at_s=1), batch(LEAF, 2, [1, 1], at_s=7)):
        window.add(one)
    head, arrays = window.state()
    again.restore(State(orjson.loads(orjson.dumps(head)), arrays))
    for each in (window, again):
        each.add(batch(LEAF, 0, [1, 1], at_s=0))
        assert each.counts.dropped == {DropReason.LATE: 2}


def test_what_an_older_snapshot_holds_is_in_the_tick_of_its_collection() -> None:
    window, again = TickWindow(CONFIG), TickWindow(CONFIG)
    window.add(batch(LEAF, 0, [1, 1], at_s=6))
    head, arrays = window.state()
    before = orjson.loads(orjson.dumps(head))
    del before["held"]["ticks"]
    again.restore(from_format_1(State(before, arrays)))
    again.add(batch(LEAF, 3, [1, 1]))
    assert [end_ns for end_ns, batches in again.pop_closed() if batches] == [START_NS + 5 * CONFIG.light_tick_ns]
