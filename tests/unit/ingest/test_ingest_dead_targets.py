"""The whole stage among targets that take a connection and never answer."""

import asyncio
from collections import Counter
from pathlib import Path

from bus.config import BusConfig, EmbeddedConfig
from bus.open import open_bus
from ingest.config import IngestConfig
from ingest.service import IngestService
from telemetry import topics
from telemetry.codec.batch import BatchDecoder
from tests.servers.process import free_port
from tests.waiting import DEADLINE_S, until

DEAD, UNHEALTHY_MAX = 400, 50
BODY = b'DCGM_FI_DEV_POWER_USAGE{UUID="GPU-1"} 300\n'


class Servers:
    """open: connections to dead targets."""

    def __init__(self) -> None:
        self.open = self.most = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def never_answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            while await reader.read(1000):
                pass
        except ConnectionError:
            pass
        finally:
            self.open -= 1
            writer.close()


async def test_hundreds_that_time_out_together_leave_the_others_and_no_connection_behind(tmp_path: Path) -> None:
    servers, port = Servers(), free_port()
    dead = [f"127.0.{1 + number // 250}.{number % 250 + 1}" for number in range(DEAD)]
    living = await asyncio.start_server(servers.answer, "127.0.0.1", port)
    silent = await asyncio.start_server(servers.never_answer, dead, port)
    job = {
        "job_name": "gpu",
        "source": "dcgm",
        "scrape_interval": "1s",
        "static_configs": [{"targets": [f"{address}:{port}" for address in ("127.0.0.1", *dead)]}],
    }
    bus = open_bus(BusConfig(embedded=EmbeddedConfig(path=tmp_path / "bus.sqlite")))
    await bus.start()
    scheduler = {"unhealthy_max": UNHEALTHY_MAX}
    service = IngestService(IngestConfig.model_validate({"scrape_configs": [job], "scheduler": scheduler}), bus)
    before = len(asyncio.all_tasks())
    await service.start()
    reader, decoder = bus.consume([topics.SAMPLES], {}), BatchDecoder()
    up, down = Counter[str](), Counter[str]()
    async with asyncio.timeout(DEADLINE_S):
        while up.total() < 5 or len(down) < DEAD:
            for record in await reader.poll(wait_s=0.05):
                batch = decoder.decode(record.value or b"", record.headers)
                (up if batch.collection.up else down)[batch.table.target] += 1
    await service.stop()
    await until(lambda: servers.open == 0 and len(asyncio.all_tasks()) <= before + 2)  # the servers of one target
    await reader.stop()
    await bus.stop()
    living.close()
    silent.close()
    assert set(up) == {f"gpu/127.0.0.1:{port}"}
    assert servers.most < DEAD
