"""Waiting for what another task, thread or process does."""

import asyncio
from collections.abc import Awaitable, Callable

# Of every wait. It ends as soon as what it waits for is there, so only what hangs comes near, busy as a machine may be.
DEADLINE_S = 300.0


async def until(condition: Callable[[], object]) -> None:
    """Returns once the condition holds, or what it awaits; TimeoutError when it never does.

    How long it takes is not tested.
    """
    async with asyncio.timeout(DEADLINE_S):
        while not await _result(condition()):  # noqa: ASYNC110  # not every condition can set an event
            await asyncio.sleep(0.01)


async def _result(found: object) -> object:
    return await found if isinstance(found, Awaitable) else found
