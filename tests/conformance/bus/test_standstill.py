"""What a reader knows after its process stood still, on every engine. The tests block the event loop itself."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bus.base import Bus
from bus.config import BusConfig, EmbeddedConfig, KafkaConfig
from telemetry.topics import Topic
from tests.conformance.bus.reading import fresh_topic, running

STILL_S = 1.2
PARTITIONS = 4
ROOT = Path(__file__).parents[3]


@pytest.fixture(params=["embedded", "kafka"])
def config(request: pytest.FixtureRequest, tmp_path: Path) -> BusConfig:
    if request.param == "embedded":
        return BusConfig(embedded=EmbeddedConfig(path=tmp_path / "bus.sqlite"))
    broker = request.getfixturevalue("kafka")
    return BusConfig(kind="kafka", kafka=KafkaConfig(bootstrap=(broker.address,)))


@pytest.fixture
async def bus(config: BusConfig) -> AsyncIterator[Bus]:
    async with running(config) as bus:
        yield bus


def publish_while_we_stand_still(config: BusConfig, topic: Topic) -> None:
    command = [sys.executable, "-m", "tests.conformance.bus.publisher", config.model_dump_json(), topic.name]
    subprocess.run([*command, str(PARTITIONS), str(STILL_S)], cwd=ROOT, check=True)


async def test_what_came_meanwhile_is_known_to_wait_in_every_partition(bus: Bus, config: BusConfig) -> None:
    topic = fresh_topic(partitions=PARTITIONS)
    reader = bus.consume([topic], {})
    everywhere = {(topic.name, partition) for partition in range(PARTITIONS)}
    for round_ in range(2):  # a second standstill is as good as the first
        async with asyncio.timeout(60):
            while await reader.behind():
                await reader.poll(wait_s=0.1)
        publish_while_we_stand_still(config, topic)
        assert await reader.behind() == everywhere, round_
        read = await reader.poll(records_max=1, wait_s=10)
        assert await reader.behind() >= everywhere - {(record.topic, record.partition) for record in read}


async def test_what_was_known_to_wait_is_read_to_its_end(bus: Bus, config: BusConfig) -> None:
    topic = fresh_topic(partitions=PARTITIONS)
    reader, read = bus.consume([topic], {}), 0
    publish_while_we_stand_still(config, topic)
    async with asyncio.timeout(60):
        while await reader.behind():
            read += len(await reader.poll(wait_s=0.1))
    assert read == PARTITIONS
