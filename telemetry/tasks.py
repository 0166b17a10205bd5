"""Background work of a service: what becomes of it when it fails."""

import asyncio
from collections.abc import Iterable


async def first_failure(tasks: Iterable["asyncio.Task[None]"]) -> None:
    """Waits until a task fails, and raises its error; returns when all have ended well. Cancels none of them."""
    done, _ = await asyncio.wait(list(tasks), return_when=asyncio.FIRST_EXCEPTION)
    for task in done:
        if not task.cancelled():
            task.result()
