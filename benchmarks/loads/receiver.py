"""A receiver of ours in a process of its own, which counts the samples that come out of it."""

import asyncio
import ctypes
import multiprocessing
from collections.abc import Awaitable, Callable, Coroutine
from multiprocessing.synchronize import Event
from typing import Any

from benchmarks.loads.child import ServerProcess
from common.garbage import collect_less_often
from ingest.collectors.base import CollectorOutput, Emit
from telemetry.samples import SampleBatch

_START_S = 120.0


class ReceiverProcess(ServerProcess):
    """Runs ``serve(*arguments, received, ready)``, which is ``count_received`` of a receiver, inside ``with``."""

    def __init__(self, serve: Callable[..., None], *arguments: Any) -> None:
        self._received = multiprocessing.get_context("spawn").RawValue(ctypes.c_int64, 0)
        super().__init__(serve, *arguments, self._received, start_s=_START_S)

    def received(self) -> int:
        """Samples so far."""
        return int(self._received.value)


async def count_received(
    run: Callable[[Emit], Coroutine[Any, Any, None]],
    listening: Callable[[], Awaitable[object]],
    received: Any,
    ready: Event,
) -> None:
    """Runs a receiver as a stage does. Its samples are added to ``received``, a shared int64, and go nowhere."""
    collect_less_often()

    def count(output: CollectorOutput) -> None:
        received.value += len(output) if isinstance(output, SampleBatch) else 0

    running = asyncio.create_task(run(count))
    await listening()
    ready.set()
    await running
