"""Record batches of Kafka, byte for byte: also those that no producer of ours would make."""

import struct
from collections.abc import Sequence

from aiokafka import TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import for_code
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c

from bus.base import Message

_CRC_AT, _ATTRIBUTES_AT = 17, 21
HEADER_BYTES = 61


def batch_of(messages: Sequence[Message], *, first: int = 0) -> bytes:
    """One batch without compression; ``first``: its first offset."""
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 30,
    )
    for i, message in enumerate(messages):
        builder.append(i, 1000 + i, message.key, message.value, list(message.headers.items()))
    return struct.pack(">q", first) + bytes(builder.build())[8:]


def compressed(batch: bytes, codec: int, packed: bytes) -> bytes:
    """The batch with ``packed`` in place of its records, marked as compressed with ``codec``."""
    header = bytearray(batch[:HEADER_BYTES])
    header[_ATTRIBUTES_AT + 1] |= codec
    return with_sums(bytes(header) + packed)


def with_sums(batch: bytes) -> bytes:
    """The batch with the length and the checksum that belong to its bytes."""
    fixed = bytearray(batch)
    struct.pack_into(">i", fixed, 8, len(batch) - 12)
    struct.pack_into(">I", fixed, _CRC_AT, calc_crc32c(bytes(fixed[_ATTRIBUTES_AT:])))
    return bytes(fixed)


async def send(address: str, topic: str, *batches: bytes, partition: int = 0) -> None:
    """Puts them on a topic that is there, as they are but for their offsets."""
    client = AIOKafkaClient(bootstrap_servers=address)
    await client.bootstrap()
    try:
        await client.set_topics([topic])
        leader = client.cluster.leader_for_partition(TopicPartition(topic, partition))
        for batch in batches:
            request = ProduceRequest(
                transactional_id=None, required_acks=-1, timeout=10_000, topics=[(topic, [(partition, batch)])]
            )
            response = await client.send(leader, request)
            ((_, ((_, code, *_rest),)),) = response.topics
            assert code == 0, for_code(code)
    finally:
        await client.close()
