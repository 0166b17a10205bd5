"""Remote write 2.0 with Prometheus 3 on the other side: both directions lose nothing, and what a receiver costs.

Needs ``build/bin/prometheus3``, which ``make bench`` builds.
"""

import asyncio
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.loads.child import ServerProcess, cpu_s
from benchmarks.remote_write import RECEIVED_SERIES, request_body
from benchmarks.rows import Row, print_rows, row
from bus.config import EmbeddedConfig
from bus.embedded.bus import EmbeddedBus
from common.units import NS_PER_S
from export.remote_write.config import RemoteWriteConfig
from export.remote_write.protocol import Version, headers_of
from export.remote_write.stage import ExportStage
from ingest.collectors.base import CollectorContext
from ingest.collectors.remote_write.collector import RemoteWriteCollector
from ingest.collectors.remote_write.config import Config
from ingest.collectors.remote_write.decode.body import Message
from ingest.ledger import Ledger
from telemetry.samples import SampleBatch
from tests.servers.process import free_port
from tests.servers.prometheus import Prometheus
from tests.unit.export.batch_factory import batch, table
from tests.unit.traffic import publish_batches
from tests.waiting import until

PROGRAM = Path(__file__).parents[1] / "build" / "bin" / "prometheus3"
REQUESTS = 200
_START_S = 120.0
_SECOND = headers_of(Version.SECOND)


def run() -> list[Row]:
    if not PROGRAM.exists():
        raise SystemExit(f"{PROGRAM} is missing: make bench builds it, or bash benchmarks/peers/prometheus3/build.sh")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asyncio.run(_check_what_we_send(folder / "sent"))
        asyncio.run(_check_what_we_receive(folder / "received"))
        theirs = _their_rate(folder / "their")
        ours = _our_rate()
    return [row("remote_write_receiver_2.0, beside Prometheus 3, which stores", ours, "samples/cpu-s", theirs)]


def _prometheus(folder: Path, config: str = "") -> Prometheus:
    return Prometheus(folder, config=config, program=str(PROGRAM))


async def _check_what_we_send(folder: Path) -> None:
    """All samples, by 2.0; of a request of which a part is refused, the rest."""
    server = _prometheus(folder / "prometheus")
    await asyncio.to_thread(server.start)
    bus = EmbeddedBus(EmbeddedConfig(path=folder / "bus.sqlite"))
    await bus.start()
    stage = ExportStage([RemoteWriteConfig(url=server.write_url, folder=folder / "position", batch_wait_s=0.05)], bus)
    await stage.start()
    (service,) = stage.services
    start_s = int(time.time()) - 60
    try:
        await publish_batches(bus, *(batch((start_s + n) * NS_PER_S, of=table(500), seq=n) for n in range(10)))
        await until(lambda: service.report().samples_out == 5000)
        assert service.version is Version.SECOND
        counts = server.query("count_over_time(gpu_power_watts[5m])", start_s + 10)
        assert [each["value"][1] for each in counts] == ["10"] * 500
    finally:
        await stage.stop()
        await bus.stop()
        server.kill()


async def _check_what_we_receive(folder: Path) -> None:
    """What Prometheus 3 scrapes of itself, it writes to us by 2.0, and the ledger balances."""
    emitted: list[SampleBatch] = []
    ledger = Ledger(0)
    mapping = [{"metric": "node_memory_total_bytes", "name": "go_memstats_sys_bytes"}]
    config = Config.model_validate({"port": 0, "rules": [{"source": "prometheus", "mapping": mapping}]})
    workers = ThreadPoolExecutor(1)
    receiver = RemoteWriteCollector(config, CollectorContext(ledger, time.time_ns, workers))
    running = asyncio.create_task(receiver.run(lambda output: emitted.append(output)))  # type: ignore[arg-type]
    port = await receiver.listening()
    own = free_port()
    server = _prometheus(
        folder,
        f"""
global: {{scrape_interval: 1s}}
scrape_configs: [{{job_name: own, static_configs: [{{targets: ['127.0.0.1:{own}']}}]}}]
remote_write: [{{url: 'http://127.0.0.1:{port}/api/v1/write', protobuf_message: io.prometheus.write.v2.Request}}]
""",
    )
    server.port = own
    try:
        await asyncio.to_thread(server.start)
        await until(lambda: sum(map(len, emitted)) >= 5)
        failed = server.query("prometheus_remote_storage_samples_failed_total")
        assert [each["value"][1] for each in failed] == ["0"]
    finally:
        await asyncio.to_thread(server.stop)
        running.cancel()
        await asyncio.wait([running])
        workers.shutdown()
    assert ledger.samples_in == sum(map(len, emitted)) + ledger.drops.total()


def _their_rate(folder: Path) -> float:
    server = _prometheus(folder)
    server.start()
    try:
        return _rate(server.write_url, server.pid)
    finally:
        server.kill()


def _our_rate() -> float:
    port = free_port()
    process = ServerProcess(_serve, port, start_s=_START_S)
    with process:
        return _rate(f"http://127.0.0.1:{port}/api/v1/write", process.pid)


def _serve(port: int, ready: Any) -> None:
    """Our receiver, in a process of its own; what it emits goes nowhere."""

    async def serve() -> None:
        config = Config.model_validate({"port": port, "rules": [{"source": "dcgm"}], "gather_s": 0.05})
        context = CollectorContext(Ledger(0), time.time_ns, ThreadPoolExecutor(1))
        receiver = RemoteWriteCollector(config, context)
        running = asyncio.create_task(receiver.run(lambda output: None))
        await receiver.listening()
        ready.set()
        await running

    asyncio.run(serve())


def _rate(url: str, pid: int) -> float:
    """Samples for each second of CPU that the process uses, user and system."""
    begin_ns = time.time_ns() - REQUESTS * NS_PER_S
    bodies = [request_body(Message.SECOND, number, begin_ns + number * NS_PER_S) for number in range(REQUESTS)]
    asyncio.run(_post(url, bodies[:1]))
    before_s = cpu_s(pid)
    asyncio.run(_post(url, bodies[1:]))
    return RECEIVED_SERIES * (REQUESTS - 1) / (cpu_s(pid) - before_s)


async def _post(url: str, bodies: Sequence[bytes]) -> None:
    """In their order: receivers take no older sample of a series."""
    async with aiohttp.ClientSession() as session:
        for body in bodies:
            async with session.post(url, data=body, headers=_SECOND) as answer:
                assert answer.status == 204, await answer.text()


if __name__ == "__main__":
    print_rows(run())
