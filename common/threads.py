"""A thread of one's own for blocking calls, in the order they were asked for."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class OneThread:
    """Awaits blocking calls off the event loop, one at a time."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._open: set[Future[Any]] = set()

    @property
    def is_idle(self) -> bool:
        """Whether no call is in progress or waits: what the thread works on may be used by the event loop meanwhile."""
        return not self._open

    async def __call__(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        future = self._executor.submit(function, *args, **kwargs)
        self._open.add(future)
        future.add_done_callback(self._open.discard)
        return await asyncio.wrap_future(future)

    def stop(self) -> None:
        """Waits for the call in progress; idempotent."""
        self._executor.shutdown(wait=True, cancel_futures=True)
