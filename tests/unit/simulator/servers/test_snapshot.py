"""Snapshots: copies of the readings, waiting for the next one, and exporters that froze."""

import asyncio
import dataclasses

import numpy as np
import pytest

from common.units import NS_PER_S
from simulator.servers.snapshot import Latest, copied
from tests.unit.simulator.servers.readings import filled_readings, later, small_layout
from tests.waiting import DEADLINE_S

LAYOUT = small_layout()


def test_a_copy_shares_no_array_and_no_job_with_the_model() -> None:
    readings = filled_readings(LAYOUT)
    copy = copied(readings)
    for group in ("ports", "nics", "gpus", "hosts", "storage", "devices"):
        arrays, others = getattr(readings, group), getattr(copy, group)
        for field in dataclasses.fields(arrays):
            mine, other = getattr(arrays, field.name), getattr(others, field.name)
            assert np.array_equal(mine, other)
            assert not np.shares_memory(mine, other), f"{group}.{field.name}"
    assert not np.shares_memory(readings.frozen, copy.frozen)
    readings.jobs[0].iterations = 99
    assert copy.jobs[0].iterations == 0


def test_every_publication_has_the_next_number() -> None:
    readings = filled_readings(LAYOUT)
    latest = Latest(readings)
    assert (latest().number, latest().now_ns) == (1, readings.now_ns)
    latest.publish(later(readings, 5, 10))
    assert (latest().number, latest().now_ns) == (2, readings.now_ns + 5 * NS_PER_S)


async def test_who_waits_for_a_change_gets_it_with_the_next_publication() -> None:
    readings = filled_readings(LAYOUT)
    latest = Latest(readings)
    waiting = [asyncio.create_task(latest.changed(1)) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    latest.publish(readings)
    async with asyncio.timeout(DEADLINE_S):
        await asyncio.gather(*waiting)
        await latest.changed(1)  # the newest is already another one
    assert latest().number == 2


async def test_who_stops_waiting_leaves_nothing_behind() -> None:
    latest = Latest(filled_readings(LAYOUT))
    waiting = asyncio.create_task(latest.changed(1))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert latest._waiters == set()
    latest.publish(filled_readings(LAYOUT))


def test_a_frozen_exporter_keeps_the_snapshot_of_the_moment_it_froze() -> None:
    readings = filled_readings(LAYOUT)
    latest = Latest(readings)
    frozen, other = latest.of_exporter(2), latest.of_exporter(3)
    numbers = []
    for freeze in (False, True, True, False):
        new = later(readings, 1, 1)
        new.frozen[2] = freeze
        latest.publish(dataclasses.replace(new, frozen=new.frozen.copy()))
        numbers.append((frozen().number, other().number))
    assert numbers == [(2, 2), (3, 3), (3, 4), (5, 5)]


def test_an_exporter_that_the_layout_does_not_have_never_freezes() -> None:
    latest = Latest(filled_readings(LAYOUT))
    assert latest.of_exporter(None)() is latest()
