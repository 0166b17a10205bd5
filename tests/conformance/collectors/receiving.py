"""A receiver that runs, of whatever protocol its clients speak."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from ingest.collectors.base import CollectorContext
from ingest.collectors.dialled import DialledReceiver
from ingest.collectors.otlp.collector import OtlpReceiver
from ingest.ledger import Ledger
from tests.conformance.collectors.gnmi_peer import Emitted
from tests.ledgers import assert_accounted

R = TypeVar("R", bound=DialledReceiver | OtlpReceiver)


@dataclass
class RunningReceiver(Generic[R]):
    """What it emits, its ledger, and its address."""

    receiver: R
    emitted: Emitted
    ledger: Ledger

    @property
    def port(self) -> int:
        return self.receiver.server.port

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


@asynccontextmanager
async def running(
    make: Callable[[CollectorContext], R], nobodys: Callable[[Ledger], int] = lambda ledger: 0
) -> AsyncIterator[tuple[R, Emitted, Ledger]]:
    """Each sample that a receiver has seen is delivered or dropped with a reason, whatever its clients did.

    nobodys: how many it dropped without knowing of which target they were.
    """
    ledger, emitted, workers = Ledger(0), Emitted(), ThreadPoolExecutor(1)
    receiver = make(CollectorContext(ledger, time.time_ns, workers))
    task = asyncio.create_task(receiver.run(emitted))
    try:
        await receiver.server.listening.wait()
        yield receiver, emitted, ledger
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        workers.shutdown()
    assert_accounted(ledger, emitted.batches, nobodys=nobodys(ledger))
