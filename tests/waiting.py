"""Waiting for what another task, thread or process does."""

import asyncio
from collections.abc import Callable

DEADLINE_S = 60.0


async def until(condition: Callable[[], object]) -> None:
    """Returns once the condition holds; TimeoutError when it never does. How long it takes is not tested."""
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110  # not every condition can set an event
            await asyncio.sleep(0.01)
