"""Several targets of one device are asked few at a time: real collectors against a server that holds its answers."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from ingest.admission.device_pace import DevicePace
from ingest.admission.reasons import DeviceBusy
from ingest.collectors.base import CollectorContext
from ingest.collectors.exposition.collector import ExpositionCollector
from ingest.collectors.exposition.config import ScrapeConfig
from ingest.collectors.exposition.discovery import TargetGroup, resolve
from ingest.ledger import Ledger
from tests.waiting import until

PAGE = b'DCGM_FI_DEV_POWER_USAGE{UUID="GPU-1"} 300\n'
TARGETS, AT_ONCE = 6, 2
NOW_NS, LATER_NS = 7, 8


class HoldingServer:
    """Answers nobody until it is released. most: requests that it had at once."""

    def __init__(self) -> None:
        self.requests = self.most = 0
        self.released = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.requests += 1
        self.most = max(self.most, self.requests)
        await self.released.wait()
        self.requests -= 1
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(PAGE), PAGE))
        await writer.drain()
        writer.close()


def collectors(port: int, pace: DevicePace, timeout: str, devices: int = 1) -> list[ExpositionCollector]:
    job = ScrapeConfig.model_validate(
        {"job_name": "gpu", "source": "dcgm", "scrape_interval": "120s", "scrape_timeout": timeout}
    )
    context = CollectorContext(Ledger(0), lambda: LATER_NS, ThreadPoolExecutor(1), pace=pace)
    groups = [
        TargetGroup(targets=(f"127.0.0.{2 + number}:{port}",), labels={"device": f"node{number % devices}"})
        for number in range(TARGETS)
    ]
    return [ExpositionCollector(job, target, context) for target in resolve(job, groups)]


async def listen(server: HoldingServer) -> tuple[asyncio.Server, int]:
    listening = await asyncio.start_server(server.serve, "0.0.0.0", 0)
    return listening, listening.sockets[0].getsockname()[1]


async def test_a_device_has_few_requests_at_once_and_all_are_answered() -> None:
    server, pace = HoldingServer(), DevicePace(AT_ONCE)
    listening, port = await listen(server)
    running = [asyncio.create_task(each.collect(NOW_NS)) for each in collectors(port, pace, "120s")]
    await until(lambda: server.requests == AT_ONCE and pace.waiting == TARGETS - AT_ONCE)
    server.released.set()
    batches = await asyncio.gather(*running)
    assert server.most == AT_ONCE
    assert all(batch.collection.up for batch in batches)
    times = sorted(batch.collection.collected_ns for batch in batches)
    assert times == [NOW_NS] * AT_ONCE + [LATER_NS] * (TARGETS - AT_ONCE), "the time is that of the request"
    assert (len(pace), pace.waiting) == (0, 0)
    listening.close()


async def test_devices_do_not_wait_for_each_other() -> None:
    server, pace = HoldingServer(), DevicePace(AT_ONCE)
    listening, port = await listen(server)
    running = [asyncio.create_task(each.collect(NOW_NS)) for each in collectors(port, pace, "120s", TARGETS // AT_ONCE)]
    await until(lambda: server.requests == TARGETS)
    server.released.set()
    assert all(batch.collection.up for batch in await asyncio.gather(*running))
    listening.close()


async def test_who_finds_no_turn_is_left_out_and_not_down() -> None:
    server, pace = HoldingServer(), DevicePace(1)
    listening, port = await listen(server)
    patient = collectors(port, pace, "120s")[0]
    holding = asyncio.create_task(patient.collect(NOW_NS))
    await until(lambda: server.requests == 1)
    with pytest.raises(DeviceBusy):
        await collectors(port, pace, "100ms")[1].collect(NOW_NS)
    server.released.set()
    assert (await holding).collection.up
    listening.close()
