"""What ``bus.base`` promises, checked on every engine."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from bus import deadletter
from bus.base import MESSAGE_BYTES_MAX, Bus, Gap, Message, Record
from bus.config import BusConfig, EmbeddedConfig, KafkaConfig
from bus.open import open_bus
from bus.partitions import partition_of
from common.errors import BadInput, ConfigError, Unavailable
from telemetry.codec.batch import BatchDecoder, encode_batch
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.topics import Topic
from tests.conformance.bus.reading import fresh_topic, gap_of, numbered, numbers, read, read_until, running
from tests.waiting import DEADLINE_S, until


@pytest.fixture(params=["embedded", "kafka"])
def config(request: pytest.FixtureRequest, tmp_path: Path) -> BusConfig:
    if request.param == "embedded":
        embedded = EmbeddedConfig(path=tmp_path / "bus.sqlite", retention_interval_s=0.1)
        return BusConfig(embedded=embedded)
    broker = request.getfixturevalue("kafka")
    return BusConfig(kind="kafka", kafka=KafkaConfig(bootstrap=(broker.address,)))


@pytest.fixture
async def bus(config: BusConfig) -> AsyncIterator[Bus]:
    async with running(config) as bus:
        yield bus


def by_key(records: list[Record]) -> dict[bytes, list[int]]:
    found = defaultdict(list)
    for record in records:
        found[record.key].append(int(record.value or b"-1"))
    return found


async def test_records_of_a_key_keep_their_order_and_offsets_count_up(bus: Bus) -> None:
    topic = fresh_topic(partitions=3)
    for first in range(0, 300, 100):
        await bus.publish(topic, numbered(100, first=first))
    records = await read(bus.consume([topic], {}), 300)
    assert by_key(records) == {f"leaf{k}".encode(): list(range(k, 300, 5)) for k in range(5)}
    for partition in range(3):
        offsets = [record.offset for record in records if record.partition == partition]
        assert offsets == list(range(len(offsets)))


async def test_a_key_has_the_same_partition_on_every_engine(bus: Bus) -> None:
    topic = fresh_topic(partitions=4)
    await bus.publish(topic, numbered(50, keys=50))
    records = await read(bus.consume([topic], {}), 50)
    assert all(record.partition == partition_of(record.key, 4) for record in records)
    assert {record.partition for record in records} == {0, 1, 2, 3}


async def test_many_publishers_at_once_lose_nothing_and_keep_their_orders(bus: Bus) -> None:
    topic = fresh_topic(partitions=2)

    async def publisher(key: int) -> None:
        for i in range(10):
            await bus.publish(topic, [Message(f"node{key}".encode(), str(i).encode())])

    await asyncio.gather(*(publisher(key) for key in range(40)))
    found = by_key(await read(bus.consume([topic], {}), 400))
    assert len(found) == 40
    assert all(values == list(range(10)) for values in found.values())


async def test_a_reader_goes_on_from_its_offsets(bus: Bus) -> None:
    topic = fresh_topic(partitions=2)
    await bus.publish(topic, numbered(100))
    first = await read_until(bus.consume([topic], {}), lambda records: len(records) >= 30, records_max=10)
    offsets = {(record.topic, record.partition): record.offset + 1 for record in first}
    rest = await read(bus.consume([topic], offsets), 100 - len(first))
    assert sorted(numbers(first + rest)) == list(range(100))


async def test_reading_again_from_the_beginning_gives_the_same_records(bus: Bus) -> None:
    topic = fresh_topic()
    await bus.publish(topic, numbered(100))
    first, second = [await read(bus.consume([topic], {}), 100) for _ in range(2)]
    assert first == second


async def test_every_reader_gets_everything(bus: Bus) -> None:
    topic, other = fresh_topic(), fresh_topic()
    readers = [bus.consume([topic, other], {}) for _ in range(3)]
    await bus.publish(topic, numbered(20))
    await bus.publish(other, numbered(20, first=20))
    for reader in readers:
        assert sorted(numbers(await read(reader, 40))) == list(range(40))


async def test_a_reader_that_waits_gets_what_comes_later(bus: Bus) -> None:
    topic = fresh_topic()
    waiting = asyncio.create_task(read(bus.consume([topic], {}), 1))
    await asyncio.sleep(0)
    await bus.publish(topic, [Message(b"leaf1", b"1")])
    assert numbers(await waiting) == [1]


async def test_keys_values_headers_and_tombstones_come_back_as_they_were(bus: Bus) -> None:
    topic = fresh_topic()
    messages = [
        Message(b"a", b"\x00\xff" * 1000, {"table": b"\x00\x01", "empty": b"", "naïve": b"x"}),
        Message(b"", b""),
        Message(b"b", None),
        Message(b"c", None, {"why": b"gone"}),
    ]
    before_ns = time.time_ns()
    await bus.publish(topic, messages)
    records = await read(bus.consume([topic], {}), 4)
    assert [Message(record.key, record.value, record.headers) for record in records] == messages
    assert all(abs(record.appended_ns - before_ns) < 60 * 10**9 for record in records)


async def test_the_largest_message_passes_and_a_larger_one_is_refused(bus: Bus) -> None:
    topic = fresh_topic()
    largest = Message(b"k", bytes(MESSAGE_BYTES_MAX - 1), {"table": bytes(16)})
    with pytest.raises(BadInput):
        await bus.publish(topic, [Message(b"k", b"small"), Message(b"kk", bytes(MESSAGE_BYTES_MAX - 1))])
    with pytest.raises(BadInput):
        await bus.publish(topic, [Message(b"k", b"small", {"table": bytes(65 * 1024)})])
    await bus.publish(topic, [largest, largest, largest])
    records = await read(bus.consume([topic], {}), 3)
    assert all(record.value == largest.value for record in records)


async def test_a_poll_returns_no_more_than_asked_for(bus: Bus) -> None:
    topic = fresh_topic(partitions=2)
    await bus.publish(topic, numbered(50))
    reader = bus.consume([topic], {})
    sizes: list[int] = []
    while sum(sizes) < 50:
        sizes.append(len(await reader.poll(records_max=7, wait_s=0.2)))
    assert max(sizes) == 7


async def test_publishing_nothing_does_nothing(bus: Bus) -> None:
    await bus.publish(fresh_topic(), [])


async def test_at_end_only_when_everything_has_been_polled(bus: Bus) -> None:
    topic = fresh_topic(partitions=2)
    reader = bus.consume([topic], {})
    async with asyncio.timeout(DEADLINE_S):
        while not await reader.at_end():
            await reader.poll(wait_s=0.1)
    await bus.publish(topic, numbered(20))
    assert not await reader.at_end()
    await read(reader, 20, records_max=3)
    assert await reader.at_end()


async def test_what_waits_is_known_by_partition(bus: Bus) -> None:
    topic = fresh_topic(partitions=2)
    full, empty = (topic.name, partition_of(b"key", 2)), (topic.name, 1 - partition_of(b"key", 2))
    await bus.publish(topic, [Message(b"key", b"%d" % n) for n in range(20)])
    reader = bus.consume([topic], {})
    assert full in await reader.behind()
    await read(reader, 5, records_max=5)
    assert full in await reader.behind()
    await read(reader, 15)
    async with asyncio.timeout(DEADLINE_S):
        while {full, empty} & await reader.behind():
            await reader.poll(wait_s=0.1)


async def test_how_many_records_wait_is_known(bus: Bus) -> None:
    topic = fresh_topic(partitions=2)
    reader = bus.consume([topic], {})
    assert await reader.lag() == 0
    await bus.publish(topic, numbered(20))
    await read(reader, 1, records_max=1)
    async with asyncio.timeout(DEADLINE_S):
        while await reader.lag() != 19:  # noqa: ASYNC110  # Kafka reports the end with the first records
            await asyncio.sleep(0.05)
    await read(reader, 19)
    assert await reader.lag() == 0


async def test_duplicates_are_known_by_epoch_and_sequence(bus: Bus) -> None:
    topic = fresh_topic()
    messages = [sample_message(seq) for seq in range(5)]
    for _ in range(3):
        await bus.publish(topic, messages)
    decoder, seen, kept = BatchDecoder(), set[tuple[int, int]](), list[int]()
    for record in await read(bus.consume([topic], {}), 15):
        collection = decoder.decode(record.value or b"", record.headers).collection
        if (collection.epoch_ns, collection.seq) not in seen:
            seen.add((collection.epoch_ns, collection.seq))
            kept.append(collection.seq)
    assert kept == [0, 1, 2, 3, 4]


async def test_a_corrupt_record_goes_to_the_dead_letters_and_the_rest_passes(bus: Bus) -> None:
    topic, dead = fresh_topic(), fresh_topic()
    good = sample_message(0)
    broken = Message(good.key, (good.value or b"")[:-1] + b"!", good.headers)
    await bus.publish(topic, [good, broken, sample_message(1)])
    decoder, passed = BatchDecoder(), 0
    for record in await read(bus.consume([topic], {}), 3):
        try:
            decoder.decode(record.value or b"", record.headers)
            passed += 1
        except BadInput as error:
            await deadletter.dead_letter(bus, record, error, topic=dead)
    (letter,) = await read(bus.consume([dead], {}), 1)
    assert passed == 2
    assert (letter.key, letter.value) == (broken.key, broken.value)
    assert letter.headers["table"] == good.headers["table"]
    assert letter.headers[deadletter.TOPIC].decode() == topic.name
    assert (letter.headers[deadletter.PARTITION], letter.headers[deadletter.OFFSET]) == (b"0", b"1")
    assert letter.headers[deadletter.REASON] == b"checksum"


async def test_what_retention_has_taken_is_reported_once_as_a_gap(bus: Bus) -> None:
    topic = fresh_topic(retention_s=1)
    await bus.publish(topic, numbered(10))
    async with asyncio.timeout(DEADLINE_S):
        while (await bus.offsets_since([topic], 0))[topic.name, 0] < 10:
            with suppress(Gap):  # retention may take the records while they are read
                await bus.consume([topic], {}).poll(wait_s=0.1)
    late = bus.consume([topic], {(topic.name, 0): 4})
    gap = await gap_of(late)
    assert (gap.topic, gap.partition, gap.first, gap.last) == (topic.name, 0, 4, 9)
    await bus.publish(topic, numbered(3, first=10))
    assert [record.offset for record in await read(late, 3)] == [10, 11, 12]


async def test_an_offset_behind_the_end_is_a_gap_and_nothing_is_skipped(bus: Bus) -> None:
    topic = fresh_topic()
    await bus.publish(topic, numbered(5))
    reader = bus.consume([topic], {(topic.name, 0): 100})
    gap = await gap_of(reader)
    assert (gap.first, gap.last) == (5, 99)
    assert numbers(await read(reader, 5)) == [0, 1, 2, 3, 4]


async def test_a_compacted_topic_folds_to_the_newest_value_of_each_key(bus: Bus) -> None:
    topic = fresh_topic(compacted=True, retention_s=0)
    for i in range(20):
        await bus.publish(topic, [Message(f"k{i % 3}".encode(), str(i).encode())])
    await bus.publish(topic, [Message(b"k0", None)])
    reader, state = bus.consume([topic], {}), dict[bytes, bytes | None]()
    async with asyncio.timeout(DEADLINE_S):
        while not await reader.at_end() or not state:
            state |= {record.key: record.value for record in await reader.poll(wait_s=0.1)}
    assert state == {b"k0": None, b"k1": b"19", b"k2": b"17"}


async def test_offsets_since_a_moment(bus: Bus) -> None:
    topic = fresh_topic(partitions=2)
    places = [(topic.name, 0), (topic.name, 1)]
    assert await bus.offsets_since([topic], 0) == dict.fromkeys(places, 0)
    await bus.publish(topic, numbered(10))
    first = await read(bus.consume([topic], {}), 10)
    after_ns = max(record.appended_ns for record in first) + 2_000_000
    await until(lambda: time.time_ns() > after_ns + 2_000_000)
    await bus.publish(topic, numbered(10, first=10))
    middle = await bus.offsets_since([topic], after_ns)
    assert sorted(numbers(await read(bus.consume([topic], middle), 10))) == list(range(10, 20))
    assert await bus.offsets_since([topic], 0) == dict.fromkeys(places, 0)
    ends = await bus.offsets_since([topic], time.time_ns() + 3600 * 10**9)
    assert sum(ends.values()) == 20


async def test_a_topic_with_other_partitions_is_refused(bus: Bus) -> None:
    topic = fresh_topic(partitions=2)
    await bus.publish(topic, numbered(1))
    with pytest.raises(ConfigError, match=topic.name):
        await bus.publish(Topic(topic.name, partitions=3), numbered(1))
    await bus.publish(topic, numbered(1))


async def test_a_second_bus_reads_what_the_first_has_written(bus: Bus, config: BusConfig) -> None:
    topic = fresh_topic()
    async with running(config) as other:
        reader = other.consume([topic], {})
        await bus.publish(topic, numbered(10))
        assert numbers(await read(reader, 10)) == list(range(10))


async def test_stop_is_safe_before_start_and_twice(config: BusConfig) -> None:
    never_started = open_bus(config)
    await never_started.stop()
    bus = open_bus(config)
    await bus.start()
    reader = bus.consume([fresh_topic()], {})
    await reader.poll(wait_s=0)
    for _ in range(2):
        await reader.stop()
        await bus.stop()
    with pytest.raises(Unavailable):
        await bus.publish(fresh_topic(), numbered(1))


async def test_what_is_on_its_way_at_stop_is_flushed(config: BusConfig) -> None:
    topic = fresh_topic()
    async with running(config) as bus:
        await bus.publish(topic, numbered(1))
        publishing = asyncio.create_task(bus.publish(topic, numbered(9, first=1)))
        await asyncio.sleep(0)
    await publishing
    async with running(config) as bus:
        assert numbers(await read(bus.consume([topic], {}), 10)) == list(range(10))


async def test_healthy_once_it_has_published(config: BusConfig) -> None:
    bus = open_bus(config)
    assert bus.problem() is not None
    async with running(config) as bus:
        await bus.publish(fresh_topic(), numbered(1))
        assert bus.problem() is None
    assert bus.problem() is not None


def sample_message(seq: int) -> Message:
    table = SeriesTable("gpus/127.0.0.1:9400", "node1", (series_key("gpu_power_watts", {"device": "node1"}),))
    collection = Collection(epoch_ns=7, seq=seq, collected_ns=10**18 + seq, duration_s=0.1)
    times = np.array([10**18 + seq], dtype=np.int64)
    value, headers = encode_batch(
        SampleBatch(table, collection, times, np.zeros(1, dtype=np.uint32), np.array([300.0 + seq]))
    )
    return Message(b"node1", value, headers)
