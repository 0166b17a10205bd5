"""Waiting for a client that may never answer."""

import asyncio
from contextlib import suppress

import pytest

from bus.kafka.client import close_with_timeout, within
from common.errors import Unavailable


async def deaf(until: asyncio.Event) -> None:
    """Swallows cancellations, as parts of aiokafka do."""
    while not until.is_set():
        with suppress(asyncio.CancelledError):
            await until.wait()


async def test_within_gives_the_result_or_the_error() -> None:
    assert await within(5, asyncio.sleep(0, "done")) == "done"
    with pytest.raises(ZeroDivisionError):
        await within(5, failing())


async def test_within_leaves_a_task_behind_that_cannot_be_cancelled() -> None:
    released = asyncio.Event()
    with pytest.raises(Unavailable):
        await within(0.01, deaf(released))
    released.set()


async def test_closing_returns_whatever_the_tasks_do() -> None:
    released = asyncio.Event()
    await close_with_timeout(deaf(released), failing(), seconds=0.01)
    released.set()


async def failing() -> None:
    raise ZeroDivisionError
