"""An OTLP receiver that runs, and requests of a port for it."""

import asyncio
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, Literal

import grpc
import grpc.aio

from ingest.collectors.base import CollectorContext
from ingest.collectors.otlp.collector import METHOD, OtlpReceiver
from ingest.collectors.otlp.config import Config
from ingest.ledger import DropReason, Ledger
from tests.conformance.collectors.gnmi_peer import Emitted
from tests.ledgers import assert_accounted
from tests.unit.ingest.otlp.requests import RULE, gauge, request

UP = 'fabric_port_up{device="leaf1",port="swp1"}'
OCTETS = 'fabric_port_receive_bytes_total{device="leaf1",port="swp1"}'
PORT = {"interface": "swp1"}


def export_on(channel: grpc.aio.Channel) -> Any:
    """The method for serialised messages."""
    return channel.unary_unary(METHOD)


class Held(asyncio.Lock):
    """A lock that is held. asked: has a place for each that waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Semaphore(0)

    async def acquire(self) -> Literal[True]:
        self.asked.release()
        return await super().acquire()


class Receiving:
    """A receiver that runs: what it emits, its ledger, and its address."""

    def __init__(self, receiver: OtlpReceiver, emitted: Emitted, ledger: Ledger) -> None:
        self.receiver, self.emitted, self.ledger = receiver, emitted, ledger

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.receiver.server.port}"

    @property
    def values(self) -> dict[str, list[float]]:
        return self.emitted.values()

    async def hold(self) -> Held:
        """Requests that come from now on wait to be decoded."""
        held = self.receiver._decoding = Held()
        await held.acquire()
        await held.asked.acquire()
        return held

    async def export(self, data: bytes, **options: Any) -> bytes:
        async with grpc.aio.insecure_channel(self.address, **options) as channel:
            return await self.call(channel, data)

    async def call(self, channel: grpc.aio.Channel, data: bytes) -> bytes:
        return bytes(await export_on(channel)(data))


@asynccontextmanager
async def receiving(**settings: Any) -> AsyncIterator[Receiving]:
    """Each sample that a receiver has seen is delivered or dropped with a reason, whatever its clients did."""
    config = Config(**{"listen": "127.0.0.1:0", "allow": ("127.0.0.0/8",), "rules": (RULE,), **settings})
    ledger, emitted, workers = Ledger(0), Emitted(), ThreadPoolExecutor(1)
    receiver = OtlpReceiver(config, CollectorContext(ledger, time.time_ns, workers))
    task = asyncio.create_task(receiver.run(emitted))
    try:
        await receiver.server.listening.wait()
        yield Receiving(receiver, emitted, ledger)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        workers.shutdown()
    nobodys = ledger.drops[DropReason.BAD_FORMAT] + ledger.drops[DropReason.NEW_SERIES]
    assert_accounted(ledger, emitted.batches, nobodys=nobodys)


def now(*metrics: Any, **resource: Any) -> bytes:
    return request(*metrics, **resource).SerializeToString()


def state(value: int = 1, port: str = "swp1", at_ns: int | None = None) -> Any:
    return gauge("state", ({"interface": port}, value), at_ns=at_ns or time.time_ns())
