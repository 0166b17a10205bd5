"""A process that was stopped finds what one that was awake finds, with and without a newer owner meanwhile.

Real processes, on every engine. SIGSTOP is sent again and again, each time while collections are published.
"""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest

from analytics.config import AnalyticsConfig
from bus.base import Bus, Message
from bus.config import BusConfig
from bus.open import open_bus
from bus.owner.fence import OwnerFence
from common.errors import Unavailable
from telemetry import topics
from telemetry.codec.records import decode_record, encode_record
from telemetry.incidents import Incident
from telemetry.ledger import StageReport
from telemetry.topics import Topic
from tests.unit.analytics.busy_cluster import CHANGES, FACTS, batches
from tests.unit.analytics.small_cluster import CONFIG
from tests.unit.analytics.test_service import expected
from tests.unit.stage_process import ENGINES, StageProcess, bus_config
from tests.unit.traffic import publish_batches
from tests.waiting import until

BATCHES = batches()
SAMPLES = sum(map(len, BATCHES))
STILL_S = 1.5  # over what a reader notices as a standstill
STOPS = 4


class Process(StageProcess):
    """One analytics stage with a state folder of its own."""

    def __init__(self, folder: Path, bus: BusConfig) -> None:
        config = AnalyticsConfig(
            engine=CONFIG, state_dir=folder / "state", report_every_s=0.1, snapshot_every_s=0.5, instance=folder.name
        )
        command = [sys.executable, "-m", "tests.unit.analytics.analytics_process"]
        super().__init__(folder, [*command, bus.model_dump_json(), config.model_dump_json()])


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
def first(tmp_path: Path, config: BusConfig) -> Iterator[Process]:
    made = Process(tmp_path / "first", config)
    yield made
    made.kill()


@pytest.fixture
def second(tmp_path: Path, config: BusConfig) -> Iterator[Process]:
    made = Process(tmp_path / "second", config)
    yield made
    made.kill()


async def admitted(bus: Bus, topic: Topic) -> list[bytes]:
    """Values of the owners' records."""
    reader, fence, values = bus.consume([topic], {}), OwnerFence(), list[bytes]()
    try:
        while not await reader.at_end():
            values += [each.value for each in await reader.poll(wait_s=0.1) if fence.admits(each) and each.value]
    finally:
        await reader.stop()
    return values


async def incidents(bus: Bus) -> dict[str, bytes]:
    """The newest version of each, as a reader sees it."""
    return {decode_record(value, Incident).id: value for value in await admitted(bus, topics.INCIDENTS)}


async def has_seen(bus: Bus, instance: str, samples: int) -> bool:
    reports = [decode_record(value, StageReport) for value in await admitted(bus, topics.LEDGER)]
    return any(report.instance == instance and report.samples_in >= samples for report in reports)


async def publish_part(bus: Bus, part: int, parts: int) -> None:
    """One of so many parts of the telemetry, its changes first."""
    size = -(-len(BATCHES) // parts)
    mine = BATCHES[part * size : (part + 1) * size]
    begin_ns, end_ns = (each.collection.collected_ns for each in (mine[0], mine[-1]))
    changes = [each for each in CHANGES if begin_ns <= each.starts_ns <= end_ns]
    await bus.publish(topics.CHANGES, [Message(each.id.encode(), encode_record(each)) for each in changes])
    await publish_batches(bus, *mine)


async def stop_and_publish(process: Process, bus: Bus, part: int, parts: int) -> None:
    """Publishes while the process is stopped. One that holds the lock of the embedded bus's file is stopped again."""
    while True:
        process.send(signal.SIGSTOP)
        try:
            return await publish_part(bus, part, parts)
        except Unavailable:
            process.send(signal.SIGCONT)


def newest_versions(values: list[bytes]) -> dict[str, bytes]:
    return {decode_record(value, Incident).id: value for value in values}


async def publish_facts(bus: Bus) -> None:
    await bus.publish(topics.TOPOLOGY, [Message(fact.entity.key.encode(), encode_record(fact)) for fact in FACTS])


async def test_a_process_that_was_stopped_finds_the_same(bus: Bus, first: Process) -> None:
    await publish_facts(bus)
    first.spawn()
    await publish_part(bus, 0, STOPS + 1)
    await until(partial(has_seen, bus, "first", 1))
    for part in range(1, STOPS + 1):
        await stop_and_publish(first, bus, part, STOPS + 1)
        await asyncio.sleep(STILL_S)  # how long it is stopped is the case, not a wait for something
        first.send(signal.SIGCONT)
    await until(partial(has_seen, bus, "first", SAMPLES))
    findings, found = expected()
    assert await admitted(bus, topics.FINDINGS) == findings
    assert await admitted(bus, topics.INCIDENTS) == found


async def test_a_process_that_was_replaced_while_it_was_stopped_publishes_nothing_more(
    bus: Bus, first: Process, second: Process
) -> None:
    await publish_facts(bus)
    first.spawn()
    await publish_part(bus, 0, 2)
    await until(partial(has_seen, bus, "first", 1))
    await stop_and_publish(first, bus, 1, 2)
    second.spawn()
    await until(partial(has_seen, bus, "second", SAMPLES))
    before = {topic: len(await admitted(bus, topic)) for topic in (topics.FINDINGS, topics.INCIDENTS)}
    first.send(signal.SIGCONT)
    assert first.process is not None
    assert await asyncio.to_thread(first.process.wait, 60) == 3
    assert "analytics has ended: analytics: replaced by process" in first.text
    assert {topic: len(await admitted(bus, topic)) for topic in before} == before
    assert await incidents(bus) == newest_versions(expected()[1])


async def test_a_restart_goes_on_at_once_here_and_elsewhere(bus: Bus, first: Process, second: Process) -> None:
    await publish_facts(bus)
    first.spawn()
    await publish_part(bus, 0, 2)
    await until(partial(has_seen, bus, "first", 1))
    first.kill()
    first.spawn()
    await publish_part(bus, 1, 2)
    await until(partial(has_seen, bus, "first", SAMPLES))
    assert await incidents(bus) == newest_versions(expected()[1])
    first.send(signal.SIGTERM)
    assert first.process is not None
    assert await asyncio.to_thread(first.process.wait, 60) == 0
    second.spawn()
    await until(partial(has_seen, bus, "second", SAMPLES))
    assert await incidents(bus) == newest_versions(expected()[1])
