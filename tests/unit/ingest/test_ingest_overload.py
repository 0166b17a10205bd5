"""The whole stage with more to do than it can: pages with new lines each time, so that each costs many milliseconds."""

import asyncio
import itertools
from collections import Counter
from pathlib import Path

from bus.config import BusConfig, EmbeddedConfig
from bus.open import open_bus
from ingest.config import IngestConfig
from ingest.service import IngestService
from telemetry import topics
from telemetry.codec.batch import BatchDecoder
from tests.servers.process import free_port
from tests.waiting import DEADLINE_S

TARGETS, LINES = 30, 1200
_LINE = b'DCGM_FI_DEV_POWER_USAGE{UUID="GPU-%d",page="%d"} 300\n'
_pages = itertools.count()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            page = next(_pages)
            body = b"".join(_LINE % (line, page) for line in range(LINES))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def test_all_that_is_fetched_is_delivered_and_the_rest_is_left_out_in_turn(tmp_path: Path) -> None:
    addresses, port = [f"127.0.0.{number + 1}" for number in range(TARGETS)], free_port()
    server = await asyncio.start_server(serve, addresses, port)
    job = {
        "job_name": "gpu",
        "source": "dcgm",
        "scrape_interval": "1s",
        "static_configs": [{"targets": [f"{address}:{port}" for address in addresses]}],
    }
    bus = open_bus(BusConfig(embedded=EmbeddedConfig(path=tmp_path / "bus.sqlite")))
    await bus.start()
    service = IngestService(IngestConfig.model_validate({"scrape_configs": [job]}), bus)
    await service.start()
    reader, decoder = bus.consume([topics.SAMPLES], {}), BatchDecoder()
    turns, samples, most_running = Counter[str](), 0, 0.0

    async def read() -> None:
        nonlocal samples
        for record in await reader.poll(wait_s=0.05):
            batch = decoder.decode(record.value or b"", record.headers)
            samples += len(batch)
            turns[batch.table.target] += batch.collection.up

    async with asyncio.timeout(DEADLINE_S):
        while service.report().details["targets_up"] < TARGETS:
            await read()
        first = turns.copy()
        while len(turns) < TARGETS or min((turns - first).values(), default=0) < 3 or len(turns - first) < TARGETS:
            await read()
            most_running = max(most_running, service.report().details["collections_running"])
        after = turns - first
    await service.stop()
    report = service.report()
    async with asyncio.timeout(DEADLINE_S):
        while not await reader.at_end():
            await read()
    await reader.stop()
    await bus.stop()
    server.close()
    assert max(after.values()) - min(after.values()) <= 2
    assert report.details["collections_skipped_cpu"] > 0
    assert most_running < TARGETS / 2
    assert report.balance == 0
    assert (report.dropped, report.held) == ({}, 0)
    assert report.samples_out == samples
