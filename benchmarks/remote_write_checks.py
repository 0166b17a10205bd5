"""Remote write with Prometheus 3 on the other side: both directions lose nothing.

Needs ``build/bin/prometheus3``, which ``make bench`` builds.
"""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bus.config import EmbeddedConfig
from bus.embedded.bus import EmbeddedBus
from common.units import NS_PER_S
from export.remote_write.config import RemoteWriteConfig
from export.remote_write.protocol import Version
from export.remote_write.stage import ExportStage
from ingest.collectors.base import CollectorContext
from ingest.collectors.remote_write.collector import RemoteWriteCollector
from ingest.collectors.remote_write.config import Config
from ingest.ledger import Ledger
from telemetry.samples import SampleBatch
from tests.servers.process import free_port
from tests.servers.prometheus import Prometheus
from tests.unit.export.batch_factory import batch, table
from tests.unit.traffic import publish_batches
from tests.waiting import until

PROGRAM = Path(__file__).parents[1] / "build" / "bin" / "prometheus3"


def prometheus_3(folder: Path, config: str = "") -> Prometheus:
    if not PROGRAM.exists():
        raise SystemExit(f"{PROGRAM} is missing: make bench builds it, or bash benchmarks/peers/prometheus3/build.sh")
    return Prometheus(folder, config=config, program=str(PROGRAM))


async def check_what_we_send(folder: Path) -> None:
    """All samples, by 2.0; of a request of which a part is refused, the rest."""
    server = prometheus_3(folder / "prometheus")
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


async def check_what_we_receive(folder: Path) -> None:
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
    server = prometheus_3(
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
