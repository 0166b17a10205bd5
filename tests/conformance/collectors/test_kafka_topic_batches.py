"""What other producers do with a topic, on a real broker: codecs, transactions, compaction, headers, large messages."""

import asyncio
import struct
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
import zstandard
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from bus.base import Message
from bus.kafka import scan_batches
from bus.kafka.record_batches import UNPACKED_BYTES_MAX
from bus.kafka.unpacking import ZSTD
from ingest.collectors.kafka_topics.decode import scan_events
from tests.conformance.collectors.kafka_topic import Topic
from tests.conformance.collectors.test_kafka_topics import octets
from tests.record_batches import HEADER_BYTES, batch_of, compressed, send, with_sums
from tests.servers.kafka import KafkaServer

TIMES_AT = 27


@pytest.fixture(autouse=True, scope="module")
def _compiled() -> None:
    """What reads messages: on a busy machine that takes longer than a test waits."""
    scan_batches.warm_up()
    scan_events.warm_up()


@pytest.fixture
async def topic(kafka: KafkaServer) -> Topic:
    made = Topic(kafka, partitions=1)
    await made.make()
    return made


@asynccontextmanager
async def producer(topic: Topic, **settings: object) -> AsyncIterator[AIOKafkaProducer]:
    made = AIOKafkaProducer(**topic.connection(), acks="all", **settings)
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


async def put_together(made: AIOKafkaProducer, topic: Topic, messages: Sequence[bytes | None]) -> None:
    """In one batch, or as few as the producer makes, each with a key and a header."""
    headers = [("name", b"value"), ("naïve", b"")]
    sending = [await made.send(topic.name, each, key=b"key", partition=0, headers=headers) for each in messages]
    await asyncio.gather(*sending)


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
async def test_each_codec_is_read(topic: Topic, codec: str | None) -> None:
    async with producer(topic, compression_type=codec, linger_ms=50) as made:
        await put_together(made, topic, [octets(n) for n in range(200)])
    async with topic.read() as reading:
        await topic.until_committed(200)
    assert reading.octets == [float(n) for n in range(200)]
    assert topic.counted("messages_received_total") == 200


async def test_several_producers_of_which_some_end_their_transactions(topic: Topic) -> None:
    """What is aborted is read as what is committed, and their marks are no messages."""
    async with (
        producer(topic) as plain,
        producer(topic, transactional_id=f"{topic.name}-1") as commits,
        producer(topic, transactional_id=f"{topic.name}-2") as aborts,
    ):
        await commits.begin_transaction()
        await aborts.begin_transaction()
        for n, made in enumerate((plain, commits, aborts, plain, commits, aborts)):
            await made.send_and_wait(topic.name, octets(n), partition=0)
        await aborts.abort_transaction()
        await commits.commit_transaction()
        await plain.send_and_wait(topic.name, octets(6), partition=0)
    async with topic.read() as reading:
        await topic.until_committed(9)
    assert reading.octets == [float(n) for n in range(7)]
    assert topic.counted("messages_received_total") == 7


async def test_a_compacted_topic_is_read_over_its_holes(kafka: KafkaServer) -> None:
    topic = Topic(kafka, partitions=1)
    admin = AIOKafkaAdminClient(**topic.connection())
    await admin.start()
    settings = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.001", "segment.ms": "100"}
    await admin.create_topics([NewTopic(topic.name, 1, 1, topic_configs=settings)])
    await admin.close()
    async with producer(topic) as made:
        for n in range(3):
            await put_together(made, topic, [octets(n), octets(n + 10), octets(n + 20)])
        while await remaining(topic) > 3:  # a segment is cleaned when another one has begun
            await made.send_and_wait(topic.name, None, key=b"other", partition=0)
        await made.send_and_wait(topic.name, octets(99), key=b"last", partition=0)
    async with topic.read() as reading:
        await reading.until(lambda: 99.0 in reading.octets)
    assert reading.octets[-2:] == [22.0, 99.0]
    assert topic.counted("messages_dropped_total", reason="damaged") == 0


async def remaining(topic: Topic) -> int:
    """Records of the first nine that are left."""
    consumer = AIOKafkaConsumer(**topic.connection(), auto_offset_reset="earliest")
    partition = TopicPartition(topic.name, 0)
    await consumer.start()
    consumer.assign([partition])
    await consumer.seek_to_beginning(partition)
    end, found = (await consumer.end_offsets([partition]))[partition], 0
    while await consumer.position(partition) < end:
        for record in (await consumer.getmany(timeout_ms=200)).get(partition, []):
            found += record.offset < 9
    await consumer.stop()
    return found


async def test_a_message_without_content_is_one_of_no_use(topic: Topic) -> None:
    async with producer(topic) as made:
        await put_together(made, topic, [octets(1), None, b"", octets(2)])
    async with topic.read() as reading:
        await topic.until_committed(4)
    assert reading.octets == [1.0, 2.0]
    assert topic.counted("messages_received_total") == 4
    assert topic.counted("messages_dropped_total", reason="malformed") == 2


async def test_a_message_of_megabytes_is_read(topic: Topic) -> None:
    large = [octets(n) + b" " * (5 << 18) for n in range(6)]
    async with producer(topic, max_request_size=4 << 20, compression_type="zstd", linger_ms=50) as made:
        await put_together(made, topic, [octets(9), *large, octets(7)])
    async with topic.read() as reading:
        await topic.until_committed(8)
    assert reading.octets == [9.0, *map(float, range(6)), 7.0]


async def test_a_topic_without_messages_gives_none(topic: Topic) -> None:
    async with topic.read(kafka={"bootstrap": [topic.broker.address], "stall_s": 0.2}) as reading:
        await topic.put(octets(1))
        await reading.until(lambda: reading.octets == [1.0])
    assert topic.counted("reconnects_total") == 0


async def test_a_group_goes_on_within_a_batch(topic: Topic) -> None:
    await send(topic.broker.address, topic.name, batch_now([octets(n) for n in range(10)]))
    other = AIOKafkaConsumer(**topic.connection(), group_id=topic.name, enable_auto_commit=False)
    await other.start()
    other.assign([TopicPartition(topic.name, 0)])
    await other.commit({TopicPartition(topic.name, 0): 4})
    await other.stop()
    async with topic.read() as reading:
        await topic.until_committed(10)
    assert reading.octets == [4.0, 5.0, 6.0, 7.0, 8.0, 9.0]


async def test_a_backlog_is_read_without_pauses(topic: Topic) -> None:
    """Each answer brings a part of it."""
    async with producer(topic) as made:
        for n in range(20):
            await made.send_and_wait(topic.name, octets(n) + b" " * 3_000, partition=0)
    async with topic.read(gather_s=3600, limits={"message_bytes_max": 4_096}) as reading:
        await reading.until(lambda: len(reading.octets) == 20)
    assert reading.octets == [float(n) for n in range(20)]


async def test_damaged_messages_are_counted_and_the_others_read(own_kafka: KafkaServer) -> None:
    topic = Topic(own_kafka, 1)
    await topic.make()
    damaged = batch_now([b"to be damaged"] * 3)
    await send(own_kafka.address, topic.name, batch_now([octets(1)]), damaged, packed(UNPACKED_BYTES_MAX))
    await topic.put(octets(2))
    (log,) = (own_kafka.folder / "data").glob(f"{topic.name}-0/*.log")
    with log.open("r+b") as file:
        file.seek(log.read_bytes().index(b"to be"))
        file.write(b"To")
    async with topic.read() as reading:
        await reading.until(lambda: reading.octets == [1.0, 2.0])
    assert topic.counted("messages_received_total") == 6
    assert topic.counted("messages_dropped_total", reason="damaged") == 4


def batch_now(contents: Sequence[bytes]) -> bytes:
    """With times that the broker keeps."""
    batch = bytearray(batch_of([Message(b"k", content) for content in contents]))
    now_ms = time.time_ns() // 10**6
    struct.pack_into(">qq", batch, TIMES_AT, now_ms, now_ms + len(contents) - 1)
    return with_sums(bytes(batch))


def packed(size: int) -> bytes:
    """A message of so many bytes."""
    batch = batch_now([bytes(size)])
    return compressed(batch, ZSTD, zstandard.compress(batch[HEADER_BYTES:]))
