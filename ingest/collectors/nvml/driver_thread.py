"""Calls of a driver that may never return."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from ingest.collectors.command import NoAnswer
from telemetry.samples import DownReason

T = TypeVar("T")


class DriverThread:
    """Awaits blocking calls, one at a time.

    What hangs in the kernel can be neither cancelled nor joined. So each call has a daemon thread of its own, which
    nothing waits for when the process ends, unlike those of an executor; and no other one begins until it is back.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._last: Future[Any] | None = None

    async def __call__(self, function: Callable[[], T]) -> T:
        """NoAnswer while an earlier call has not returned."""
        if self._last is not None and not self._last.done():
            raise NoAnswer(DownReason.TIMEOUT, f"{self._name}: a call of an earlier collection has not returned")
        called: Future[T] = Future()
        called.set_running_or_notify_cancel()
        self._last = called
        threading.Thread(target=_run, args=(function, called), name=self._name, daemon=True).start()
        waiting = asyncio.wrap_future(called)
        waiting.add_done_callback(_forget_error)
        return await asyncio.shield(waiting)


def _run(function: Callable[[], T], called: "Future[T]") -> None:
    try:
        called.set_result(function())
    except BaseException as error:  # the one who waits gets it
        called.set_exception(error)


def _forget_error(waiting: "asyncio.Future[Any]") -> None:
    """Of a call that comes back after its collection has ended: nobody waits for it."""
    if not waiting.cancelled():
        waiting.exception()
