"""What a reader knows after its process stood still, on every engine. The tests block the event loop itself."""

import asyncio
import subprocess
import sys
from pathlib import Path

from bus.base import Bus
from bus.config import BusConfig
from telemetry.topics import Topic
from tests.conformance.bus.reading import fresh_topic
from tests.waiting import DEADLINE_S

STILL_S = 1.2
PARTITIONS = 4
ROOT = Path(__file__).parents[3]


def publish_while_we_stand_still(config: BusConfig, topic: Topic) -> None:
    command = [sys.executable, "-m", "tests.conformance.bus.publisher", config.model_dump_json(), topic.name]
    subprocess.run([*command, str(PARTITIONS), str(STILL_S)], cwd=ROOT, check=True)


async def test_what_came_meanwhile_is_known_to_wait_in_every_partition(bus: Bus, config: BusConfig) -> None:
    topic = fresh_topic(partitions=PARTITIONS)
    reader = bus.consume([topic], {})
    everywhere = {(topic.name, partition) for partition in range(PARTITIONS)}
    for round_ in range(2):  # a second standstill is as good as the first
        async with asyncio.timeout(DEADLINE_S):
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
    async with asyncio.timeout(DEADLINE_S):
        while await reader.behind():
            read += len(await reader.poll(wait_s=0.1))
    assert read == PARTITIONS
