"""How long work waits for this process: on the event loop, for the threads that decode, and for the interpreter."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor

INTERVAL_S = 0.05


class WaitProbe:
    """Sends nothing along the way of a page again and again: through the event loop and the decoding threads."""

    def __init__(self, workers: Executor, waited: Callable[[float], None]) -> None:
        self._workers, self._waited = workers, waited
        self._due_s: float | None = None

    def overdue_s(self) -> float:
        """How long the one under way has waited so far."""
        return max(0.0, asyncio.get_running_loop().time() - self._due_s) if self._due_s is not None else 0.0

    async def run(self) -> None:
        """Until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due_s = self._due_s = loop.time() + INTERVAL_S
            await asyncio.sleep(INTERVAL_S)
            await loop.run_in_executor(self._workers, _nothing)
            self._waited(loop.time() - due_s)


def _nothing() -> None:
    pass
