"""The Kafka engine against a broker that is absent, killed, frozen or at odds with us."""

import asyncio
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from aiokafka.admin import NewPartitions
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from prometheus_client import REGISTRY

from bus.base import Bus, Message
from bus.config import BusConfig, KafkaConfig
from bus.kafka.bus import KafkaBus
from bus.kafka.consumer import KafkaConsumer
from bus.open import open_bus
from common.errors import ConfigError, Unavailable
from tests.conformance.bus.administration import administration
from tests.conformance.bus.reading import (
    STOP_S,
    fresh_topic,
    numbered,
    numbers,
    read,
    read_past_gaps,
    read_until,
    running,
    until_at_end,
)
from tests.servers.kafka import KafkaServer
from tests.waiting import DEADLINE_S, until


def at(broker: KafkaServer, **settings: Any) -> BusConfig:
    return BusConfig(kind="kafka", kafka=KafkaConfig(bootstrap=(broker.address,), **settings))


@pytest.fixture
def absent() -> Iterator[KafkaServer]:
    """A broker that is not running yet."""
    with tempfile.TemporaryDirectory() as folder:
        broker = KafkaServer(folder)
        yield broker
        broker.stop()


async def test_brokers_that_stand_still_are_passed_over_at_the_first_attempt(
    kafka: KafkaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aiokafka.conn.random.shuffle", lambda hosts: None)  # the one that answers is asked last
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        silent = tuple(f"127.0.0.1:{server.getsockname()[1]}" for server in (one, other))
        config = KafkaConfig(bootstrap=(*silent, kafka.address), attempt_deadline_s=1)
        before = _connect_retries("producer")
        async with running(BusConfig(kind="kafka", kafka=config)) as bus:
            await bus.publish(fresh_topic(), numbered(10))
        assert _connect_retries("producer") == before


async def test_a_broker_that_appears_late_gets_what_was_published_before(absent: KafkaServer) -> None:
    topic = fresh_topic()
    async with running(at(absent)) as bus:
        publishing = asyncio.create_task(bus.publish(topic, numbered(10)))
        reader = bus.consume([topic], {})
        assert await reader.poll(wait_s=0.2) == []
        assert not await reader.at_end()
        assert absent.address in (bus.problem() or "")
        await until(lambda: all(_connect_retries(client) for client in ("producer", "consumer")))
        await asyncio.to_thread(absent.start)
        async with asyncio.timeout(DEADLINE_S):
            await publishing
        assert numbers(await read(reader, 10)) == list(range(10))
        await until(lambda: bus.problem() is None)


def _connect_retries(client: str) -> float:
    return REGISTRY.get_sample_value("fabricscope_bus_connect_retries_total", {"client": client}) or 0.0


async def test_publishing_to_an_absent_broker_ends_at_the_deadline(absent: KafkaServer) -> None:
    async with running(at(absent, publish_deadline_s=0.3)) as bus:
        with pytest.raises(Unavailable, match=absent.address):
            await bus.publish(fresh_topic(), numbered(1))
        with pytest.raises(Unavailable):
            await bus.offsets_since([fresh_topic()], 0)


async def test_a_killed_broker_loses_nothing_that_was_acknowledged(own_kafka: KafkaServer) -> None:
    topic = fresh_topic(partitions=2)
    async with running(at(own_kafka, attempt_deadline_s=3)) as bus:
        acknowledged: list[int] = []
        enough = asyncio.Event()
        publishing = asyncio.create_task(_publish_until(enough, bus, topic_of=topic, acknowledged=acknowledged))
        reading = asyncio.create_task(read_until(bus.consume([topic], {}), lambda _: publishing.done()))
        await until(lambda: len(acknowledged) >= 200)
        await asyncio.to_thread(own_kafka.restart)
        at_restart = len(acknowledged)
        await until(lambda: len(acknowledged) >= at_restart + 200)
        enough.set()
        await publishing
        live = await reading
        every = await read_until(bus.consume([topic], {}), lambda records: {*acknowledged} <= {*numbers(records)})
    assert {*acknowledged} <= {*numbers(every)}
    assert {*numbers(live)} <= {*numbers(every)}
    for key in {record.key for record in every}:  # each key in order, but for repetitions
        firsts = list(dict.fromkeys(numbers([record for record in every if record.key == key])))
        assert firsts == sorted(firsts)


async def _publish_until(enough: asyncio.Event, bus: Bus, *, topic_of: Any, acknowledged: list[int]) -> None:
    n = 0
    while not enough.is_set():
        await bus.publish(topic_of, numbered(20, first=n))
        acknowledged.extend(range(n, n + 20))
        n += 20


async def test_a_reader_goes_on_after_the_broker_was_restarted(own_kafka: KafkaServer) -> None:
    topic = fresh_topic()
    async with running(at(own_kafka, stall_s=5)) as bus:
        reader = bus.consume([topic], {})
        await bus.publish(topic, numbered(5))
        await read(reader, 5)
        await asyncio.to_thread(own_kafka.restart)
        await bus.publish(topic, numbered(5, first=5))
        assert {*numbers(await read_until(reader, lambda records: 9 in numbers(records)))} == {5, 6, 7, 8, 9}


async def test_nothing_waits_for_a_frozen_broker(own_kafka: KafkaServer) -> None:
    topic = fresh_topic()
    bus = open_bus(at(own_kafka, publish_deadline_s=0.5))
    await bus.start()
    reader, idle = bus.consume([topic], {}), bus.consume([topic], {})
    await _publish_patiently(bus, topic)
    async with asyncio.timeout(DEADLINE_S):
        while not await reader.at_end():  # once or twice: an attempt that was given up may have succeeded
            await reader.poll(wait_s=0.1)
    own_kafka.freeze()
    with pytest.raises(Unavailable):
        await bus.publish(topic, numbered(1))
    late = asyncio.create_task(bus.publish(topic, numbered(1)))
    async with asyncio.timeout(STOP_S):  # the contract's second and a tenth, on a busy machine
        assert await reader.poll(wait_s=0.1) == []
    assert not await reader.at_end()
    await idle.poll(wait_s=0.1)
    async with asyncio.timeout(STOP_S):
        await bus.stop()
    with pytest.raises(Unavailable):
        await late


async def test_a_thawed_broker_is_used_again(own_kafka: KafkaServer) -> None:
    topic = fresh_topic()
    async with running(at(own_kafka, publish_deadline_s=2, attempt_deadline_s=1, stall_s=2)) as bus:
        reader = bus.consume([topic], {})
        await bus.publish(topic, numbered(1))
        await read(reader, 1)
        own_kafka.freeze()
        with pytest.raises(Unavailable):
            await bus.publish(topic, [Message(b"lost?", b"-5")])
        await until(lambda: bus.problem() is not None)
        own_kafka.thaw()
        await _publish_patiently(bus, topic)
        records = await read_until(reader, lambda records: 7 in numbers(records))
        assert {*numbers(records)} <= {-5, 7}
        await until(lambda: bus.problem() is None)


async def _publish_patiently(bus: Bus, topic: Any) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while True:
            try:
                return await bus.publish(topic, [Message(b"k", b"7")])
            except Unavailable:
                continue


async def test_a_broken_sequence_of_the_producer_is_survived(kafka: KafkaServer) -> None:
    """The broker answers OutOfOrderSequenceNumber, after which aiokafka's producer is of no more use."""
    topic = fresh_topic()
    async with running(at(kafka)) as bus:
        await bus.publish(topic, numbered(5))
        first = cast(KafkaBus, bus)._producer.connection._client
        (place,) = first._txn_manager._sequence_numbers
        first._txn_manager.increment_sequence_number(place, 3)
        await bus.publish(topic, numbered(5, first=5))
        assert cast(KafkaBus, bus)._producer.connection._client is not first
        assert numbers(await read(bus.consume([topic], {}), 10)) == list(range(10))


async def test_a_reader_that_reads_nothing_is_rebuilt(kafka: KafkaServer) -> None:
    topic = fresh_topic()
    async with running(at(kafka, stall_s=1)) as bus:
        reader = cast(KafkaConsumer, bus.consume([topic], {}))
        await bus.publish(topic, numbered(5))
        await read(reader, 5)
        stuck = reader._client
        stuck._fetcher._fetch_task.cancel()  # nothing fetches any more, without an error, as in the wild
        await bus.publish(topic, numbered(5, first=5))
        assert numbers(await read(reader, 5)) == [5, 6, 7, 8, 9]
        assert reader._client is not stuck


async def test_a_topic_that_was_deleted_is_made_again_and_is_a_gap(kafka: KafkaServer) -> None:
    """Also where the new one has as many records as the old one had: positions do not show it."""
    topic = fresh_topic(partitions=2)
    async with running(at(kafka, stall_s=1)) as bus:
        reader = cast(KafkaConsumer, bus.consume([topic], {}))
        await bus.publish(topic, numbered(20))
        await read(reader, 20)
        async with administration(kafka) as admin:
            await admin.delete_topics([topic.name])
        await until(lambda: reader._client is None)
        await bus.publish(topic, numbered(40, first=20))
        records, gaps = await read_past_gaps(reader, 40)
        assert sorted(numbers(records)) == [*range(20, 60)]
        assert sorted((gap.topic, gap.partition) for gap in gaps) == [(topic.name, 0), (topic.name, 1)]
        assert sum(gap.last + 1 for gap in gaps) == 20


async def test_a_rebuilt_reader_goes_on_where_it_was(kafka: KafkaServer) -> None:
    topic = fresh_topic(partitions=2)
    async with running(at(kafka, stall_s=1)) as bus:
        reader = cast(KafkaConsumer, bus.consume([topic], {}))
        for first in range(0, 40, 10):
            await bus.publish(topic, numbered(10, first=first))
            assert {*numbers(await read(reader, 10))} == {*range(first, first + 10)}
            reader._rebuild(reader._client, "test")
            await until(lambda: reader._client is not None)
        await until_at_end(reader)


async def test_more_partitions_are_found_while_it_runs(kafka: KafkaServer) -> None:
    topic = fresh_topic(partitions=2)
    async with running(at(kafka, stall_s=1)) as bus:
        reader = cast(KafkaConsumer, bus.consume([topic], {}))
        await bus.publish(topic, numbered(1))
        await read(reader, 1)
        async with administration(kafka) as admin:
            await admin.create_partitions({topic.name: NewPartitions(3)})
        await reader._client._client.force_metadata_update()  # which happens every five minutes
        await until(lambda: topic.name in (reader.problem or ""))
        with pytest.raises(ConfigError, match=f"{topic.name}: 3 partitions on the broker, expected 2"):
            await reader.poll(wait_s=0.1)


async def test_an_idle_reader_keeps_nothing_of_its_polls(kafka: KafkaServer) -> None:
    topic = fresh_topic()
    async with running(at(kafka)) as bus:
        reader = cast(KafkaConsumer, bus.consume([topic], {}))
        await bus.publish(topic, numbered(1))
        await read(reader, 1)
        tasks = len(asyncio.all_tasks())
        for _ in range(50):
            assert await reader.poll(wait_s=0.002) == []
        assert len(reader._client._fetcher._fetch_waiters) <= 1
        assert len(asyncio.all_tasks()) <= tasks + 2


async def test_topics_are_made_with_their_settings(kafka: KafkaServer) -> None:
    kept, compacted = fresh_topic(partitions=3, retention_s=600), fresh_topic(compacted=True)
    async with running(at(kafka)) as bus:
        await bus.publish(kept, numbered(1))
        await bus.publish(compacted, numbered(1))
    async with administration(kafka) as admin:
        partitions = await admin.describe_topics([kept.name])
        resources = [ConfigResource(ConfigResourceType.TOPIC, topic.name) for topic in (kept, compacted)]
        (described,) = await admin.describe_configs(resources)
    settings = {name: {entry[0]: entry[1] for entry in entries} for _, _, _, name, entries in described.resources}
    assert len(partitions[0]["partitions"]) == 3
    assert settings[kept.name]["cleanup.policy"] == "delete"
    assert settings[kept.name]["retention.ms"] == "600000"
    assert settings[compacted.name]["cleanup.policy"] == "compact"


async def test_the_older_broker_works_too(old_kafka: KafkaServer, tmp_path: Path) -> None:
    topic = fresh_topic(partitions=2)
    async with running(at(old_kafka)) as bus:
        reader = bus.consume([topic], {})
        await bus.publish(topic, [*numbered(10), Message(b"k", None, {"h": b"1"})])
        records = await read(reader, 11)
        assert [(record.value, record.headers) for record in records if record.key == b"k"] == [(None, {"h": b"1"})]
        assert await reader.at_end()
        again = await read(bus.consume([topic], {(topic.name, 0): 1}), 10)
        assert all(record in records for record in again)
