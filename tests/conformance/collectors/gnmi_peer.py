"""What the tests of the gNMI collector share: a job, what the collector emits, and a server with a given behaviour."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import pytest

from common.units import NS_PER_S
from ingest.collectors.base import CollectorOutput
from ingest.collectors.gnmi.collector import GnmiCollector
from ingest.collectors.gnmi.config import Config, GnmiTlsConfig, PathConfig, SubscriptionConfig, TargetConfig
from ingest.collectors.gnmi.paths.elements import parse_path
from ingest.ledger import Ledger
from telemetry.gnmi import gnmi_pb2, gnmi_pb2_grpc
from telemetry.samples import DownReason, SampleBatch
from telemetry.topology import TopologyFact
from tests.ledgers import assert_accounted
from tests.servers.certificates import Certificates
from tests.waiting import DEADLINE_S

COUNTERS = "/interfaces/interface[name=Ethernet1]/state/counters"
Requests = AsyncIterator[gnmi_pb2.SubscribeRequest]
Responses = AsyncIterator[gnmi_pb2.SubscribeResponse]
Behaviour = Callable[[Requests, Any], Responses]


class Emitted:
    """What a collector emitted, in order, and whatever waits for it."""

    def __init__(self) -> None:
        self.batches: list[SampleBatch] = []
        self.facts: list[TopologyFact] = []
        self._changed = asyncio.Event()

    def __call__(self, output: CollectorOutput) -> None:
        if isinstance(output, SampleBatch):
            self.batches.append(output)
        else:
            self.facts += (one for one in output if isinstance(one, TopologyFact))
        self._changed.set()

    @property
    def downs(self) -> list[DownReason]:
        return [batch.collection.down for batch in self.batches if batch.collection.down is not None]

    def values(self) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        for batch in self.batches:
            for row, value in zip(batch.series.tolist(), batch.values.tolist(), strict=True):
                found.setdefault(batch.table.keys[row], []).append(value)
        return found

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()


def response(*updates: tuple[str, int], prefix: str = COUNTERS, at_ns: int = 0) -> gnmi_pb2.SubscribeResponse:
    made = gnmi_pb2.SubscribeResponse()
    made.update.timestamp = at_ns or time.time_ns()
    made.update.prefix.CopyFrom(parse_path(prefix))
    for path, value in updates:
        made.update.update.add(path=parse_path(path)).val.uint_val = value
    return made


SYNC = gnmi_pb2.SubscribeResponse(sync_response=True)


def job(address: str, **changes: Any) -> Config:
    """A job of one target with one path, fast enough for a test."""
    paths = (PathConfig(path="/interfaces", interval_s=0.2),)
    settings: dict[str, Any] = {
        "job_name": "test",
        "interval_s": 0.2,
        "targets": (TargetConfig(address=address, device="leaf1"),),
        "subscriptions": (SubscriptionConfig(paths=paths),),
        "tls": GnmiTlsConfig(insecure=True),
        "connect_timeout_s": 60.0,
        "backoff_max_s": 0.2,
    }
    return Config(**{**settings, **changes})


@asynccontextmanager
async def collecting(config: Config) -> AsyncIterator[tuple[Emitted, Ledger]]:
    """Each sample that the collector has seen is delivered or dropped with a reason, whatever its device did."""
    emitted, ledger = Emitted(), Ledger(time.time_ns())
    collector = GnmiCollector(config, config.targets[0], ledger)
    task = asyncio.create_task(collector.run(emitted))
    try:
        yield emitted, ledger
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert_accounted(ledger, emitted.batches)


@asynccontextmanager
async def serving(
    behaviour: Behaviour,
    certificates: Certificates | None = None,
    *,
    client_certificate: bool = False,
    name: str = "server",
    host: str = "127.0.0.1",
) -> AsyncIterator[str]:
    """A gNMI server whose Subscribe is ``behaviour``; its address. name: of its certificate."""

    class Servicer(gnmi_pb2_grpc.gNMIServicer):
        async def Subscribe(self, request_iterator: Requests, context: Any) -> Responses:
            async for message in behaviour(request_iterator, context):
                yield message

    server = grpc.aio.server()
    gnmi_pb2_grpc.add_gNMIServicer_to_server(Servicer(), server)
    if certificates is None:
        port = server.add_insecure_port(f"{host}:0")
    else:
        pair = (certificates.key(name).read_bytes(), certificates.certificate(name).read_bytes())
        roots = certificates.authority.read_bytes() if client_certificate else None
        credentials = grpc.ssl_server_credentials([pair], roots, client_certificate)
        port = server.add_secure_port(f"{host}:0", credentials)
    await server.start()
    try:
        yield f"{host}:{port}"
    finally:
        await server.stop(None)


async def steady(requests: Requests, context: Any) -> Responses:
    """A device that does what it was asked for."""
    request = await anext(requests)
    interval_s = request.subscribe.subscription[0].sample_interval / NS_PER_S
    yield SYNC
    for n in range(10_000):
        yield response(("in-octets", n))
        await asyncio.sleep(interval_s)


async def steady_forever() -> Responses:
    while True:
        yield response(("in-octets", 7))
        await asyncio.sleep(0.1)
