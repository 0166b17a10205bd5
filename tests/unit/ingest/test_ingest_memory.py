"""A real process of the ingest stage with 512 MiB, and targets whose pages and layouts are more than that.

In a cgroup where this test may make one (root, and a writable memory controller); else by the setting.
"""

import asyncio
import contextlib
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bus.config import BusConfig, EmbeddedConfig
from bus.open import open_bus
from telemetry import topics
from telemetry.codec.batch import BatchDecoder
from telemetry.codec.records import decode_record
from telemetry.ledger import StageReport
from tests.servers.process import free_port
from tests.waiting import DEADLINE_S

LIMIT_BYTES = 512 << 20
LARGE, SMALL = 200, 5
LARGE_BYTES = 2 << 20
_SAMPLE = b'DCGM_FI_DEV_POWER_USAGE{UUID="GPU-1"} 300\n'
_COMMENT = b"# " + 400 * b"x" + b"\n"


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    large = _SAMPLE + LARGE_BYTES // len(_COMMENT) * _COMMENT
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            body = large if b"/large" in head else _SAMPLE
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
            writer.write(body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


@pytest.fixture
def cgroup() -> Iterator[Path | None]:
    """A cgroup of either version with the limit; None where none can be made."""
    root = Path("/sys/fs/cgroup")
    for mount, name in ((root / "memory", "memory.limit_in_bytes"), (root, "memory.max")):
        folder = mount / f"fabricscope-test-{os.getpid()}"
        with contextlib.suppress(OSError):
            folder.mkdir()
            try:
                (folder / name).write_text(str(LIMIT_BYTES))
                yield folder
            finally:
                folder.rmdir()
            return
    yield None


def settings(tmp_path: Path, port: int, memory_bytes_max: int | None) -> Path:
    def job(name: str, priority: str, first: int, count: int) -> dict[str, Any]:
        targets = [f"127.0.{number // 250}.{number % 250 + 1}:{port}" for number in range(first, first + count)]
        return {
            "job_name": name,
            "source": "dcgm",
            "metrics_path": f"/{name}",
            "priority": priority,
            "scrape_interval": "2s",
            "enable_compression": False,
            "static_configs": [{"targets": targets}],
        }

    document = {
        "global": {"data_dir": str(tmp_path), "metrics_ports": {"ingest": 0}},
        "bus": {"embedded": {"path": str(tmp_path / "bus.sqlite")}},
        "ingest": {"report_interval_s": 0.5, "memory_bytes_max": memory_bytes_max},
        "scrape_configs": [job("large", "low", 0, LARGE), job("small", "normal", LARGE, SMALL)],
    }
    path = tmp_path / "fabricscope.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


async def test_short_of_memory_targets_of_low_priority_are_left_out_and_the_others_are_not(
    tmp_path: Path, cgroup: Path | None
) -> None:
    port = free_port()
    addresses = [f"127.0.{number // 250}.{number % 250 + 1}" for number in range(LARGE + SMALL)]
    server = await asyncio.start_server(serve, addresses, port)
    path = settings(tmp_path, port, None if cgroup is not None else LIMIT_BYTES)
    bus = open_bus(BusConfig(embedded=EmbeddedConfig(path=tmp_path / "bus.sqlite")))
    await bus.start()
    reader, decoder = bus.consume([topics.SAMPLES, topics.LEDGER], {}), BatchDecoder()
    delivered, reports = Counter[str](), list[StageReport]()

    async def read() -> None:
        assert process.returncode is None, (tmp_path / "log").read_text()
        for record in await reader.poll(wait_s=0.05):
            if record.topic == topics.LEDGER.name:
                reports.append(decode_record(record.value or b"", StageReport))
                continue
            batch = decoder.decode(record.value or b"", record.headers)
            delivered[batch.table.target] += batch.collection.up

    def small() -> int:
        return min(delivered[f"small/{address}:{port}/small"] for address in addresses[LARGE:])

    entered = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(cgroup / "cgroup.procs")] if cgroup is not None else []
    with (tmp_path / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *entered, sys.executable, "-m", "fabricscope", "ingest", "--config", str(path), stderr=log
        )
    try:
        async with asyncio.timeout(DEADLINE_S):
            while not reports or reports[-1].details["collections_skipped_memory"] < LARGE:
                await read()
            before = small()
            while small() < before + 3:
                await read()
    finally:
        if process.returncode is None:
            process.terminate()
        status = await process.wait()
        await reader.stop()
        await bus.stop()
        server.close()
    assert status == 0
    assert {report.details["memory_allowed_bytes"] for report in reports} == {LIMIT_BYTES}
    assert max(report.details["memory_used_bytes"] for report in reports) < LIMIT_BYTES
