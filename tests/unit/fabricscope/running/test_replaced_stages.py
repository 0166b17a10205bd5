"""A stage that was stopped while another process took over its role sends and publishes nothing more, and ends.

Real processes of the program, on every engine; the receivers and the target are servers of this process.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bus.base import Bus, Message
from bus.config import BusConfig
from bus.open import open_bus
from bus.owner.fence import EPOCH, ROLE, OwnerFence
from bus.owner.sending import EPOCH_HEADER
from common.errors import Unavailable
from fabricscope.running.stopping import SUPERVISED
from telemetry import topics
from tests.conformance.bus.reading import everything
from tests.servers.webhook import WebhookServer
from tests.unit.alerts.incident_factory import incident
from tests.unit.export.batch_factory import batch
from tests.unit.ingest.test_ingest_service import serve
from tests.unit.stage_process import ENGINES, StageProcess, bus_config
from tests.unit.traffic import publish_batches, publish_incidents
from tests.waiting import until

OWNS = "owns what it "
ONE_CALL = 1  # what may have been on its way to the bus when its process was stopped


class Process(StageProcess):
    """One stage with a folder of its own, as ``fabricscope STAGE`` runs it."""

    def __init__(self, folder: Path, bus: BusConfig, stage: str, settings: dict[str, Any]) -> None:
        document = {
            "global": {"data_dir": str(folder / "data"), "metrics_ports": {stage: 0}},
            "bus": bus.model_dump(mode="json"),
            **settings,
        }
        file = folder / "fabricscope.yaml"
        environment = {key: value for key, value in os.environ.items() if key != SUPERVISED}
        super().__init__(folder, [sys.executable, "-m", "fabricscope", stage, "--config", str(file)], environment)
        file.write_text(yaml.safe_dump(document))

    async def start(self) -> None:
        """Returns when it owns its role."""
        self.spawn()
        await until(lambda: OWNS in self.text)

    async def end(self) -> int:
        """Its exit status."""
        assert self.process is not None
        return await asyncio.to_thread(self.process.wait, 60)

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None


@pytest.fixture(params=ENGINES)
def config(request: pytest.FixtureRequest, tmp_path: Path) -> BusConfig:
    return bus_config(request, tmp_path)


@pytest.fixture
async def bus(config: BusConfig) -> AsyncIterator[Bus]:
    opened = open_bus(config)
    await opened.start()
    yield opened
    await opened.stop()


@pytest.fixture
def two(tmp_path: Path, config: BusConfig) -> Iterator[Callable[..., tuple[Process, Process]]]:
    """Two processes of a stage with the same settings, and folders of their own."""
    made: list[Process] = []

    def new(stage: str, settings: dict[str, Any]) -> tuple[Process, Process]:
        made.extend(Process(tmp_path / name, config, stage, settings) for name in ("first", "second"))
        return made[0], made[1]

    yield new
    for each in made:
        each.kill()


async def stop_while_the_bus_is_free(process: Process, bus: Bus) -> None:
    """One that holds the lock of the embedded bus's file is stopped again."""
    while True:
        process.send(signal.SIGSTOP)
        try:
            return await bus.publish(topics.DEADLETTER, [Message(b"free", b"")])
        except Unavailable:
            process.send(signal.SIGCONT)


async def goes_on_and_ends(first: Process, stage: str) -> None:
    first.send(signal.SIGCONT)
    assert await first.end() == 3
    assert f"fabricscope: {stage}: replaced by process" in first.text


def epochs(server: WebhookServer) -> list[int]:
    """Of the requests, in their order."""
    return [int(each.headers[EPOCH_HEADER.lower()]) for each in server.requests]


def firing(name: str) -> Any:
    now_ns = time.time_ns()
    return incident(id=name, onset_ns=now_ns - 10**10, updated_ns=now_ns)


async def test_alerts(bus: Bus, two: Callable[..., tuple[Process, Process]], webhook_server: WebhookServer) -> None:
    first, second = two("alerts", {"alerting": {"receivers": [{"type": "webhook", "url": webhook_server.url}]}})
    await first.start()
    await publish_incidents(bus, firing("inc-1"))
    await until(lambda: len(webhook_server.accepted) == 1)
    await stop_while_the_bus_is_free(first, bus)
    await publish_incidents(bus, firing("inc-2"))  # which the first one would send as well
    await second.start()
    await until(lambda: len(webhook_server.accepted) == 3)
    await goes_on_and_ends(first, "alerts")
    await publish_incidents(bus, firing("inc-3"))
    await until(lambda: len(webhook_server.accepted) == 4)
    keys = [each.headers["x-fabricscope-key"] for each in webhook_server.accepted]
    # the second one knows nothing of what the first has sent, and repeats it under its key
    assert (keys[0], sorted(keys[1:3]), keys[3]) == ("inc-1:1", ["inc-1:1", "inc-2:1"], "inc-3:1")
    old, *new = epochs(webhook_server)
    assert set(new) == {max(new)}
    assert old < max(new)
    assert second.runs


async def test_export(bus: Bus, two: Callable[..., tuple[Process, Process]], webhook_server: WebhookServer) -> None:
    target = {"url": webhook_server.base_url, "batch_wait_s": 0.05, "state_interval_s": 0.1}
    first, second = two("export", {"remote_write": [target]})
    await first.start()
    await publish_batches(bus, batch(time.time_ns()))
    await until(lambda: webhook_server.accepted)
    await stop_while_the_bus_is_free(first, bus)
    sent = len(webhook_server.accepted)
    await publish_batches(bus, batch(time.time_ns(), seq=1))  # which the first one would send as well
    await second.start()
    await until(lambda: len(webhook_server.accepted) > sent)
    await goes_on_and_ends(first, "export")
    before = epochs(webhook_server)
    await publish_batches(bus, batch(time.time_ns(), seq=2))
    await until(lambda: len(webhook_server.accepted) > len(before))
    assert before[:sent] == [min(before)] * sent
    assert set(epochs(webhook_server)[sent:]) == {max(before)}
    assert max(before) > min(before)
    assert second.runs


async def test_ingest(bus: Bus, two: Callable[..., tuple[Process, Process]]) -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    static = {"targets": [address], "labels": {"device": "node1"}}
    job = {"job_name": "gpu", "source": "dcgm", "scrape_interval": "200ms", "static_configs": [static]}
    first, second = two("ingest", {"scrape_configs": [job]})
    await first.start()
    while not await everything(bus, topics.SAMPLES):
        assert first.runs
    await stop_while_the_bus_is_free(first, bus)
    await second.start()
    await goes_on_and_ends(first, "ingest")
    ended = len(await everything(bus, topics.SAMPLES))
    while len(records := await everything(bus, topics.SAMPLES)) < ended + 3:
        assert second.runs
    fence = OwnerFence()
    newest = [record for record in records if fence.admits(record)]
    assert len(records) - len(newest) <= ONE_CALL
    assert len({record.headers[ROLE] for record in newest}) == 1
    assert len({record.headers[EPOCH] for record in newest}) == 2
    assert len({record.headers[EPOCH] for record in records[ended:]}) == 1
    server.close()
