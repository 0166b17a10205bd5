"""The whole stage when it is written to: what a sender was answered 2xx for is on the bus, whatever the bus does."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import pytest

from bus.base import Bus
from export.remote_write.config import RemoteWriteConfig
from export.remote_write.stage import ExportStage
from ingest.collectors.remote_write.decode.body import Message as Version
from ingest.config import IngestConfig
from ingest.service import IngestService
from telemetry import topics
from telemetry.codec.batch import BatchDecoder
from tests.servers.process import free_port
from tests.unit.export.batch_factory import S, batch, table
from tests.unit.ingest.remote_write.test_remote_write_body import encoded, gpu
from tests.unit.traffic import publish_batches
from tests.waiting import DEADLINE_S, until

Rows = list[tuple[str, int, float]]
FIRST = {"Content-Type": "application/x-protobuf"}


@pytest.fixture
async def start(bus: Bus) -> AsyncIterator[Callable[..., Awaitable[tuple[IngestService, str]]]]:
    running: list[IngestService] = []

    async def begin(receiver: dict[str, object], **settings: object) -> tuple[IngestService, str]:
        port = free_port()
        receiver = {"port": port, "gather_s": 0.02} | receiver
        service = IngestService(IngestConfig.model_validate({"remote_write_receivers": [receiver], **settings}), bus)
        await service.start()
        running.append(service)
        url = f"http://127.0.0.1:{port}/api/v1/write"
        await until_it_listens(port)
        return service, url

    yield begin
    for service in running:
        await service.stop()


async def until_it_listens(port: int) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.02)
            else:
                writer.close()
                return


async def on_the_bus(bus: Bus) -> Rows:
    """Series, time and value of all samples."""
    reader, decoder = bus.consume([topics.SAMPLES], {}), BatchDecoder()
    rows: Rows = []
    while not await reader.at_end():
        for record in await reader.poll(wait_s=0.5):
            found = decoder.decode(record.value or b"", record.headers)
            columns = found.series.tolist(), found.times_ns.tolist(), found.values.tolist()
            rows += [(found.table.keys[row], at, value) for row, at, value in zip(*columns, strict=True)]
    await reader.stop()
    return rows


async def test_what_our_own_export_writes_by_2_0_comes_back_as_it_was(start, bus, tmp_path):
    """Both directions of ours, one against the other: names are those of the catalogue, by a mapping of itself."""
    mapping = [{"metric": "gpu_power_watts", "name": "gpu_power_watts", "labels": {"gpu": "{gpu}"}}]
    rules = [{"source": "fabricscope", "device_from": ["device"], "mapping": mapping}]
    sent = [batch((int(time.time()) - 60 + n) * S, of=table(50), seq=n) for n in range(6)]
    await publish_batches(bus, *sent)
    service, url = await start({"rules": rules})
    stage = ExportStage([RemoteWriteConfig(url=url, folder=tmp_path / "rw", batch_wait_s=0.05)], bus)
    await stage.start()
    await until(lambda: service.report().samples_out == 300)
    assert stage.services[0].version == "2.0"
    await stage.stop()
    report = service.report()
    assert (report.balance, report.dropped) == (0, {})
    rows = await on_the_bus(bus)
    assert sorted(rows[:300]) == sorted(rows[300:600])


async def test_what_was_answered_2xx_is_on_the_bus_and_senders_wait_while_it_is_away(start, bus, monkeypatch):
    publish, is_back = bus.publish, asyncio.Event()

    async def flaky(topic, messages):
        if topic is topics.SAMPLES:
            await is_back.wait()
        await publish(topic, messages)

    monkeypatch.setattr(bus, "publish", flaky)
    settings = {"publish": {"queue_samples_max": 100, "spool": {"folder": None, "after_s": 0.1}}}
    service, url = await start({"rules": [{"source": "dcgm"}]}, **settings)
    begin_ms = time.time_ns() // 1_000_000 - 100_000
    accepted, refused, at = [], 0, 0
    async with aiohttp.ClientSession() as session:
        while refused < 3 or at < 30:
            body = encoded([(gpu(n), [(40.0, begin_ms + at)]) for n in range(10)], Version.FIRST)
            async with session.post(url, data=body, headers=FIRST) as answer:
                if answer.status == 204:
                    accepted.append(begin_ms + at)
                    at += 1
                else:
                    assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
                    refused += 1
                    if refused == 3:
                        is_back.set()
    await service.stop()
    report = service.report()
    assert (report.balance, report.held, report.dropped) == (0, 0, {})
    assert report.samples_out == 10 * len(accepted)
    times = sorted({at_ns // 1_000_000 for _, at_ns, _ in await on_the_bus(bus)})
    assert times == accepted
