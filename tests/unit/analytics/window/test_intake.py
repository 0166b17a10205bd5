"""Ticks: bounded lateness, duplicates, conservation."""

import pytest

from analytics.window.watermark import DropReason, Intake
from tests.unit.analytics.small_cluster import CONFIG, START_NS, batch, port_key, table

LEAF = table("leaf1", [port_key("fabric_port_up"), port_key("fabric_port_up", "Ethernet4")])


def closed(intake: Intake) -> list[list[int]]:
    return [[b.collection.seq for b in batches] for _, batches in intake.closed() if batches]


def test_a_tick_waits_for_the_holdback() -> None:
    intake = Intake(CONFIG)
    intake.put(batch(LEAF, 0, [1, 1]))
    assert closed(intake) == []
    intake.put(batch(LEAF, 1, [1, 1]))
    assert closed(intake) == [[0]]


def test_late_batches_are_counted_and_dropped() -> None:
    intake = Intake(CONFIG)
    intake.put(batch(LEAF, 9, [1, 1]))
    intake.put(batch(LEAF, 0, [1, 1]))
    assert intake.counts.dropped == {DropReason.LATE: 2}


def test_lateness_does_not_depend_on_when_ticks_were_closed() -> None:
    dropped = []
    for close_between in (False, True):
        intake = Intake(CONFIG)
        intake.put(batch(LEAF, 0, [1, 1]))
        intake.put(batch(LEAF, 9, [1, 1]))
        if close_between:
            closed(intake)
        intake.put(batch(LEAF, 3, [1, 1]))
        dropped.append(dict(intake.counts.dropped))
    assert dropped == [{DropReason.LATE: 2}] * 2


@pytest.mark.parametrize("close_between", [False, True])
def test_duplicates_are_counted_apart(close_between: bool) -> None:
    intake = Intake(CONFIG)
    first = batch(LEAF, 0, [1, 1])
    intake.put(first)
    if close_between:
        intake.put(batch(LEAF, 5, [1, 1]))
        closed(intake)
    intake.put(first)
    assert intake.counts.deduplicated == 2
    assert not intake.counts.dropped


def test_batches_of_a_tick_come_in_canonical_order() -> None:
    other = table("aardvark", [port_key("fabric_port_up", device="aardvark")])
    intake = Intake(CONFIG)
    for each in (batch(LEAF, 0, [1, 1], at_s=1), batch(other, 0, [1], at_s=2), batch(LEAF, 9, [1, 1])):
        intake.put(each)
    devices = [[b.table.device for b in batches] for _, batches in intake.closed() if batches]
    assert devices == [["aardvark", "leaf1"]]


def test_a_long_silence_is_not_stepped_through_tick_by_tick() -> None:
    intake = Intake(CONFIG)
    intake.put(batch(LEAF, 0, [1, 1]))
    intake.put(batch(LEAF, 100_000, [1, 1]))
    intake.put(batch(LEAF, 100_002, [1, 1]))
    ticks = list(intake.closed())
    assert len(ticks) < 60
    assert ticks[-1][0] <= START_NS + 100_002 * 10 * 10**9


def test_held_samples_are_in_the_books() -> None:
    intake = Intake(CONFIG)
    intake.put(batch(LEAF, 0, [1, 1]))
    assert intake.counts.held == 2
    intake.put(batch(LEAF, 1, [1, 1]))
    closed(intake)
    assert intake.counts.held == 2
