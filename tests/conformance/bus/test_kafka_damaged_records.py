"""Records on a real broker that aiokafka cannot read: they are gaps, and every other record is delivered."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable

import pytest
import zstandard
from aiokafka.codec import lz4_encode, snappy_encode
from aiokafka.record.util import encode_varint
from prometheus_client import REGISTRY

from bus.base import Bus, Consumer, Gap, Message
from bus.config import BusConfig, KafkaConfig
from bus.kafka.record_batches import UNPACKED_BYTES_MAX
from bus.kafka.unpacking import GZIP, LZ4, SNAPPY, ZSTD
from telemetry.topics import Topic
from tests.conformance.bus.reading import fresh_topic, gap_of, numbered, running
from tests.memory import grows_by_less_than
from tests.record_batches import HEADER_BYTES, batch_of, compressed, send, with_sums
from tests.servers.kafka import KafkaServer
from tests.waiting import DEADLINE_S

Place = tuple[int, int]


@pytest.fixture
async def bus(kafka: KafkaServer) -> AsyncIterator[Bus]:
    async with running(BusConfig(kind="kafka", kafka=KafkaConfig(bootstrap=(kafka.address,)))) as bus:
        yield bus


async def all_of(reader: Consumer, following: int) -> tuple[list[int], list[Place]]:
    """Offsets of the records of partition 0 before ``following``, and the gaps between them, in their order."""
    offsets: list[int] = []
    gaps: list[Place] = []
    async with asyncio.timeout(DEADLINE_S):
        while max([-1, *offsets, *(last for _, last in gaps)]) + 1 < following:
            try:
                offsets += [record.offset for record in await reader.poll(wait_s=0.2)]
            except Gap as gap:
                gaps.append((gap.first, gap.last))
    return offsets, gaps


def unreadable(n: int, *positions: int) -> bytes:
    """A batch of n records, of which some have a header whose name is not UTF-8."""
    messages = numbered(n)
    for position in positions:
        messages[position] = Message(b"k", b"7", {"table": b"t"})
    return with_sums(batch_of(messages).replace(b"table", b"\xff\xfeble"))


def rebuilds(reason: str) -> float:
    labels = {"client": "consumer", "reason": reason}
    return REGISTRY.get_sample_value("fabricscope_bus_client_rebuilds_total", labels) or 0.0


async def topic_on(bus: Bus) -> Topic:
    """With records 0..9."""
    topic = fresh_topic()
    await bus.publish(topic, numbered(10))
    return topic


async def test_a_header_name_that_is_not_utf_8_is_a_gap_of_one_record(kafka: KafkaServer, bus: Bus) -> None:
    topic = await topic_on(bus)
    await send(kafka.address, topic.name, unreadable(1, 0))
    await bus.publish(topic, numbered(10))
    before = rebuilds("UnicodeDecodeError")
    assert await all_of(bus.consume([topic], {}), 21) == ([*range(10), *range(11, 21)], [(10, 10)])
    assert rebuilds("UnicodeDecodeError") == before
    labels = {"topic": topic.name, "reason": "record"}
    assert REGISTRY.get_sample_value("fabricscope_bus_records_damaged_total", labels) == 1


async def test_the_others_of_its_batch_are_delivered(kafka: KafkaServer, bus: Bus) -> None:
    topic = await topic_on(bus)
    await send(kafka.address, topic.name, unreadable(8, 0, 3, 4, 7))
    await bus.publish(topic, numbered(1))
    gaps = [(10, 10), (13, 13), (14, 14), (17, 17)]
    offsets = [*range(10), 11, 12, 15, 16, 18]
    assert await all_of(bus.consume([topic], {}), 19) == (offsets, gaps)
    assert await all_of(bus.consume([topic], {(topic.name, 0): 13}), 19) == ([15, 16, 18], gaps[1:])


async def test_a_reader_with_unread_records_behind_a_gap_is_not_at_the_end(kafka: KafkaServer, bus: Bus) -> None:
    topic = await topic_on(bus)
    await send(kafka.address, topic.name, unreadable(2, 0))
    reader = bus.consume([topic], {(topic.name, 0): 10})
    assert (await gap_of(reader)).last == 10
    assert not await reader.at_end()
    assert await reader.behind() == {(topic.name, 0)}
    (record,) = await reader.poll(wait_s=0)
    assert record.offset == 11
    assert await reader.at_end()


async def test_a_header_without_a_value_has_an_empty_one(kafka: KafkaServer, bus: Bus) -> None:
    topic = await topic_on(bus)
    message = Message(b"k", b"7", {"empty": None})  # type: ignore[dict-item]  # which Kafka allows and we never write
    await send(kafka.address, topic.name, batch_of([message]))
    (record,) = await bus.consume([topic], {(topic.name, 0): 10}).poll(wait_s=20)
    assert record.headers == {"empty": b""}


CODECS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "gzip": (GZIP, gzip.compress),
    "snappy": (SNAPPY, snappy_encode),
    "lz4": (LZ4, lz4_encode),
    "zstd": (ZSTD, zstandard.compress),
}


@pytest.mark.parametrize("name", CODECS)
async def test_compressed_batches_are_read(kafka: KafkaServer, bus: Bus, name: str) -> None:
    codec, compress = CODECS[name]
    topic, plain = await topic_on(bus), unreadable(5, 3)
    await send(kafka.address, topic.name, compressed(plain, codec, compress(plain[HEADER_BYTES:])))
    assert await all_of(bus.consume([topic], {}), 15) == ([*range(13), 14], [(13, 13)])


@pytest.mark.parametrize("name", ["gzip", "lz4", "zstd"])
async def test_a_batch_that_unpacks_to_more_than_the_bound_is_a_gap(kafka: KafkaServer, bus: Bus, name: str) -> None:
    codec, compress = CODECS[name]
    topic = await topic_on(bus)
    large = batch_of([Message(b"k", bytes(UNPACKED_BYTES_MAX))])
    await send(kafka.address, topic.name, compressed(large, codec, compress(large[HEADER_BYTES:])))
    await bus.publish(topic, numbered(3))
    del large
    assert await all_of(bus.consume([topic], {}), 14) == ([*range(10), 11, 12, 13], [(10, 10)])


def packed_zeros(mebibytes: int) -> bytes:
    """One record of so many zeros, compressed with zstd, without ever being held."""
    record = bytearray(b"\0\0\0")  # attributes, difference of time, offset
    encode_varint(-1, record.append)  # no key
    encode_varint(mebibytes << 20, record.append)
    length = bytearray()
    encode_varint(len(record) + (mebibytes << 20) + 1, length.append)  # one more for the number of headers, 0
    packing = zstandard.ZstdCompressor().compressobj()
    zeros = (packing.compress(bytes(1 << 20)) for _ in range(mebibytes))
    return b"".join([packing.compress(bytes(length + record)), *zeros, packing.compress(b"\0"), packing.flush()])


async def test_a_batch_of_a_gigabyte_costs_the_bound_at_most(kafka: KafkaServer, bus: Bus) -> None:
    topic = await topic_on(bus)
    await send(kafka.address, topic.name, compressed(batch_of(numbered(1)), ZSTD, packed_zeros(867)))
    with grows_by_less_than(3 * UNPACKED_BYTES_MAX):
        assert await all_of(bus.consume([topic], {}), 11) == ([*range(10)], [(10, 10)])


async def test_a_batch_with_flipped_bits_is_a_gap(own_kafka: KafkaServer) -> None:
    """On the broker's disk: the checksum is wrong each time the batch is fetched."""
    async with running(BusConfig(kind="kafka", kafka=KafkaConfig(bootstrap=(own_kafka.address,)))) as bus:
        topic = await topic_on(bus)
        await send(own_kafka.address, topic.name, batch_of([Message(b"k", b"to be damaged")] * 3))
        await bus.publish(topic, numbered(2))
        (log,) = (own_kafka.folder / "data").glob(f"{topic.name}-0/*.log")
        with log.open("r+b") as file:
            file.seek(log.read_bytes().index(b"to be"))
            file.write(b"To")
        assert await all_of(bus.consume([topic], {}), 15) == ([*range(10), 13, 14], [(10, 12)])
