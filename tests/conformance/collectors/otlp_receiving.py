"""An OTLP receiver that runs, and requests of a port for it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import grpc
import grpc.aio

from ingest.collectors.otlp.collector import OtlpReceiver
from ingest.collectors.otlp.config import Config
from ingest.collectors.otlp.over_grpc import METHOD
from ingest.ledger import DropReason, Ledger
from tests.conformance.collectors.receiving import RunningReceiver, running
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


class Receiving(RunningReceiver[OtlpReceiver]):
    @property
    def values(self) -> dict[str, list[float]]:
        return self.emitted.values()

    async def hold(self) -> Held:
        """Requests that come from now on wait to be decoded."""
        held = self.receiver._exporting._decoding = Held()
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
    config = Config(**{"listen": "127.0.0.1:0", "allow": ("127.0.0.0/8",), "rules": (RULE,), **settings})
    async with running(lambda context: OtlpReceiver(config, context), _nobodys) as started:
        yield Receiving(*started)


def _nobodys(ledger: Ledger) -> int:
    return ledger.drops[DropReason.BAD_FORMAT] + ledger.drops[DropReason.NEW_SERIES]


def now(*metrics: Any, **resource: Any) -> bytes:
    return request(*metrics, **resource).SerializeToString()


def state(value: int = 1, port: str = "swp1", at_ns: int | None = None) -> Any:
    return gauge("state", ({"interface": port}, value), at_ns=at_ns or time.time_ns())
