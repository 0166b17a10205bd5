"""Waiting for a client that may never answer."""

import asyncio
import time

import pytest

from bus.kafka.client import close_with_timeout, within
from common.errors import Unavailable


async def deaf(started: float = 0) -> None:
    """Swallows cancellations, as parts of aiokafka do."""
    while time.monotonic() < started + 3:
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


async def test_closing_returns_whatever_the_tasks_do() -> None:
    async with asyncio.timeout(2.5):
        await close_with_timeout(deaf(time.monotonic()), failing(), seconds=0.01)


async def failing() -> None:
    raise ZeroDivisionError
