"""A real process of the ingest stage that may open fewer files than it has targets."""

import asyncio
import sys
from collections import Counter
from pathlib import Path

import yaml

from bus.config import BusConfig, EmbeddedConfig
from bus.open import open_bus
from telemetry import topics
from telemetry.codec.batch import BatchDecoder
from telemetry.codec.records import decode_record
from telemetry.ledger import StageReport
from tests.servers.process import free_port
from tests.waiting import DEADLINE_S

LIMIT, TARGETS = 160, 200
BODY = b'DCGM_FI_DEV_POWER_USAGE{UUID="GPU-1"} 300\n'


class Server:
    """closes: whether each connection is closed behind its page, which gives its descriptor back."""

    def __init__(self) -> None:
        self.closes = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                kept = b"close" if self.closes else b"keep-alive"
                head = b"HTTP/1.1 200 OK\r\nConnection: %b\r\nContent-Length: %d\r\n\r\n" % (kept, len(BODY))
                writer.write(head + BODY)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


async def test_out_of_descriptors_it_leaves_targets_out_and_goes_on_when_some_are_free(tmp_path: Path) -> None:
    addresses, port, pages = [f"127.0.0.{number + 1}" for number in range(TARGETS)], free_port(), Server()
    server = await asyncio.start_server(pages.serve, addresses, port)
    bus_path, settings = tmp_path / "bus.sqlite", tmp_path / "fabricscope.yaml"
    job = {
        "job_name": "gpu",
        "source": "dcgm",
        "scrape_interval": "1s",
        "static_configs": [{"targets": [f"{address}:{port}" for address in addresses]}],
    }
    document = {
        "global": {"data_dir": str(tmp_path), "metrics_ports": {"ingest": 0}},
        "bus": {"embedded": {"path": str(bus_path)}},
        "ingest": {"report_interval_s": 0.5},
        "scrape_configs": [job],
    }
    settings.write_text(yaml.safe_dump(document))
    bus = open_bus(BusConfig(embedded=EmbeddedConfig(path=bus_path)))
    await bus.start()
    reader, decoder = bus.consume([topics.SAMPLES, topics.LEDGER], {}), BatchDecoder()
    reports: list[StageReport] = []
    delivered, down = Counter[str](), Counter[str]()

    async def read() -> None:
        assert process.returncode is None, (tmp_path / "log").read_text()
        for record in await reader.poll(wait_s=0.05):
            if record.topic == topics.LEDGER.name:
                reports.append(decode_record(record.value or b"", StageReport))
                continue
            batch = decoder.decode(record.value or b"", record.headers)
            delivered[batch.table.target] += batch.collection.up
            if batch.collection.down:
                down[batch.collection.down] += 1

    with (tmp_path / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *("prlimit", f"--nofile={LIMIT}", sys.executable, "-m", "fabricscope", "ingest", "--config", str(settings)),
            stderr=log,
        )
    try:
        async with asyncio.timeout(DEADLINE_S):
            while not reports or reports[-1].details["collections_skipped_descriptors"] < TARGETS:
                await read()
            assert len(+delivered) < LIMIT
            pages.closes = True
            while len(+delivered) < TARGETS:
                await read()
    finally:
        if process.returncode is None:
            process.terminate()
        async with asyncio.timeout(DEADLINE_S):
            assert await process.wait() == 0
        await reader.stop()
        await bus.stop()
        server.close()
    assert not down  # no target is blamed
