"""Waiting for a client that may never answer."""

import asyncio
import time
from itertools import islice

import pytest

from bus.kafka.client import let_go, waits, within
from common.errors import Unavailable


def test_waits_grow_with_jitter_and_stay_short_enough_to_find_a_broker_within_ten_seconds() -> None:
    first = list(islice(waits(), 12))
    assert first[0] <= 0.1
    assert all(2.5 <= wait_s <= 5 for wait_s in first[7:])
    assert len({round(wait_s, 6) for wait_s in first[7:]}) > 1


async def deaf(started: float = 0) -> None:
    """Swallows cancellations, as parts of aiokafka do."""
    while time.monotonic() < started + 1:
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            continue


async def test_within_gives_the_result_or_the_error() -> None:
    assert await within(5, asyncio.sleep(0, "done")) == "done"
    with pytest.raises(ZeroDivisionError):
        await within(5, failing())


async def test_within_leaves_a_task_behind_that_cannot_be_cancelled() -> None:
    with pytest.raises(Unavailable):
        await within(0.01, deaf(time.monotonic()))


async def test_let_go_returns_whatever_the_tasks_do() -> None:
    async with asyncio.timeout(0.9):
        await let_go(deaf(time.monotonic()), failing(), seconds=0.01)


async def failing() -> None:
    raise ZeroDivisionError
