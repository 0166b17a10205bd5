"""Background work of a service: what becomes of it when it fails, and its end."""

import asyncio
from collections.abc import Iterable
from typing import Any

STOP_S_MAX = 5.0


async def first_failure(tasks: Iterable["asyncio.Task[Any]"]) -> None:
    """Waits until a task fails, and raises its error; returns when all have ended well. Cancels none of them."""
    done, _ = await asyncio.wait(list(tasks), return_when=asyncio.FIRST_EXCEPTION)
    for task in done:
        if not task.cancelled():
            task.result()


async def cancel(tasks: Iterable["asyncio.Task[Any]"]) -> None:
    """Ends tasks; returns when they have ended, at the latest after 5 s. Raises none of their errors."""
    cancelled = list(tasks)
    for task in cancelled:
        task.cancel()
    if cancelled:
        await asyncio.wait(cancelled, timeout=STOP_S_MAX)
