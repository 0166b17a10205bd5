"""The Kafka engine on three brokers, of which one is away or another one leads."""

import asyncio
from collections.abc import Callable
from typing import Any

from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from bus.base import Bus, Record
from bus.config import BusConfig, KafkaConfig
from telemetry.topics import Topic
from tests.conformance.bus.administration import administration
from tests.conformance.bus.reading import fresh_topic, numbered, numbers, read_until, running
from tests.servers.kafka import KafkaServer
from tests.waiting import DEADLINE_S, until


def at(brokers: list[KafkaServer]) -> BusConfig:
    bootstrap = tuple(broker.address for broker in brokers)
    return BusConfig(kind="kafka", kafka=KafkaConfig(bootstrap=bootstrap, attempt_deadline_s=3, stall_s=5))


async def partitions_of(brokers: list[KafkaServer], topic: Topic) -> list[dict[str, Any]]:
    async with administration(*brokers) as admin:
        (described,) = await admin.describe_topics([topic.name])
    return list(described["partitions"])


async def in_sync(brokers: list[KafkaServer], topic: Topic) -> None:
    """Returns when every broker has all of it again, of which there is no event."""
    async with asyncio.timeout(DEADLINE_S):
        while any(len(one["isr"]) < len(brokers) for one in await partitions_of(brokers, topic)):  # noqa: ASYNC110
            await asyncio.sleep(0.2)


class Publishing:
    """Publishes numbers until it is left; then everything that was acknowledged is on the bus, each key in order.

    A call that was not answered in time is repeated, as a whole: readers know by epoch and sequence what they have.
    """

    def __init__(self, bus: Bus, topic: Topic) -> None:
        self._bus, self._topic = bus, topic
        self.acknowledged = 0
        self._enough = False

    async def __aenter__(self) -> "Publishing":
        self._task = asyncio.create_task(self._publish())
        self._reading = asyncio.create_task(self._read(lambda _: self._task.done()))
        await self.goes_on()
        return self

    async def __aexit__(self, *error: object) -> None:
        self._enough = True
        await self._task
        live = await self._reading
        every = await self._read(lambda records: {*range(self.acknowledged)} <= {*numbers(records)})
        assert {*numbers(live)} <= {*numbers(every)}
        for key in {record.key for record in every}:
            firsts = list(dict.fromkeys(numbers([record for record in every if record.key == key])))
            assert firsts == sorted(firsts)

    async def goes_on(self) -> None:
        """Returns when two hundred more are acknowledged."""
        enough = self.acknowledged + 200
        await until(lambda: self.acknowledged >= enough)

    async def _publish(self) -> None:
        while not self._enough:
            await self._bus.publish(self._topic, numbered(20, first=self.acknowledged))
            self.acknowledged += 20

    async def _read(self, enough: Callable[[list[Record]], bool]) -> list[Record]:
        return await read_until(self._bus.consume([self._topic], {}), enough)


async def test_an_acknowledged_record_is_on_two_of_three_brokers(kafka_cluster: list[KafkaServer]) -> None:
    topic = fresh_topic()
    async with running(at(kafka_cluster)) as bus:
        await bus.publish(topic, numbered(1))
    (partition,) = await partitions_of(kafka_cluster, topic)
    assert len(partition["replicas"]) == 3
    async with administration(*kafka_cluster) as admin:
        (described,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic.name)])
    settings = {entry[0]: entry[1] for entry in described.resources[0][4]}
    assert settings["min.insync.replicas"] == "2"


async def test_brokers_that_restart_in_turn_lose_nothing(kafka_cluster: list[KafkaServer]) -> None:
    topic = fresh_topic(partitions=3)
    async with running(at(kafka_cluster)) as bus, Publishing(bus, topic) as publishing:
        for broker in kafka_cluster:
            await asyncio.to_thread(broker.restart)
            await publishing.goes_on()
            await in_sync(kafka_cluster, topic)


async def test_a_leader_that_stands_still_is_replaced_and_what_it_had_not_answered_is_sent_again(
    kafka_cluster: list[KafkaServer],
) -> None:
    topic = fresh_topic()
    async with running(at(kafka_cluster)) as bus, Publishing(bus, topic) as publishing:
        (partition,) = await partitions_of(kafka_cluster, topic)
        leader = kafka_cluster[partition["leader"] - 1]
        leader.freeze()
        await publishing.goes_on()
        (partition,) = await partitions_of([one for one in kafka_cluster if one is not leader], topic)
        assert kafka_cluster[partition["leader"] - 1] is not leader
        leader.thaw()
        await publishing.goes_on()
