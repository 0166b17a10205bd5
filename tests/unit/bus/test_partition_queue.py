"""Batches of one partition, filled by aiokafka's own builder; and publishes over several partitions."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from bus.base import Message
from bus.config import KafkaConfig
from bus.kafka.partition_queue import PartitionQueue, Publish, Share
from bus.kafka.producer import Producer
from bus.kafka.producer_connection import BATCH_BYTES, ProducerConnection
from bus.partitions import partition_of
from common.errors import Unavailable
from telemetry.topics import Topic
from tests.waiting import DEADLINE_S

TOPIC = Topic("t", partitions=2)
THIRD = BATCH_BYTES // 3 - 100  # less what the batch adds to a record


@pytest.fixture
async def client() -> AsyncIterator[Any]:
    """An aiokafka producer that no broker has ever seen: it still makes batches."""
    made = AIOKafkaProducer(bootstrap_servers="127.0.0.1:1", enable_idempotence=True, max_batch_size=BATCH_BYTES)
    yield made
    made._closed = True
    await made.client.close()


def queue() -> PartitionQueue:
    config = KafkaConfig()
    return PartitionQueue(ProducerConnection(config, time.time_ns), config, TOPIC, 0)


def share(*sizes: int, publish: Publish | None = None) -> Share:
    return Share(publish or Publish(1), [Message(b"k", bytes(size)) for size in sizes])


@pytest.mark.parametrize(
    ("shares", "batches"),
    [
        ([[1]], [[1]]),
        ([[1, 1], [1]], [[2, 1]]),
        ([[THIRD, THIRD, THIRD, THIRD]], [[3], [1]]),
        ([[THIRD, THIRD], [THIRD, THIRD]], [[2, 1], [1]]),
        ([[4 * THIRD], [1]], [[1, 0], [1]]),  # one message above the size of a batch goes alone
        ([[1, 4 * THIRD, 1]], [[1], [1], [1]]),
    ],
)
async def test_batches_keep_the_order_and_are_at_most_full(
    client: Any, shares: list[list[int]], batches: list[list[int]]
) -> None:
    filled, waiting = queue(), [share(*sizes) for sizes in shares]
    for each in waiting:
        filled.add(each)
    found = []
    while filled.busy:
        _, counts = filled._fill(client)
        found.append(counts)
        filled._acknowledged(counts)
    assert found == batches
    assert all(each.publish.done.done() for each in waiting)
    assert filled.idle.is_set()


async def test_what_was_not_acknowledged_is_in_the_next_batch_again(client: Any) -> None:
    filled = queue()
    filled.add(share(1, 1, 1))
    assert filled._fill(client)[1] == [3]
    assert filled._fill(client)[1] == [3]
    filled._acknowledged([2])
    assert filled._fill(client)[1] == [1]


async def test_a_publish_that_nobody_waits_for_is_not_sent(client: Any) -> None:
    filled, abandoned = queue(), share(1)
    filled.add(abandoned)
    abandoned.publish.done.cancel()
    assert not filled.busy
    filled.add(share(1, 1))
    assert filled._fill(client)[1] == [2]


async def test_all_that_waits_fails_together() -> None:
    filled, waiting = queue(), [share(1), share(1)]
    for each in waiting:
        filled.add(each)
    filled.fail(Unavailable("stopped"))
    assert [str(each.publish.done.exception()) for each in waiting] == ["stopped", "stopped"]
    assert filled.idle.is_set()


async def test_a_publish_is_done_with_its_last_share_and_fails_with_the_first() -> None:
    done, failed = Publish(2), Publish(2)
    done.share_done()
    assert not done.done.done()
    done.share_done()
    assert done.done.result() is None
    failed.fail(Unavailable("no"))
    failed.share_done()
    failed.share_done()
    with pytest.raises(Unavailable):
        failed.done.result()


async def test_messages_go_to_the_queue_of_their_key() -> None:
    producer = Producer(KafkaConfig(), time.time_ns)
    messages = [Message(f"k{n}".encode(), str(n).encode()) for n in range(20)]
    publish = producer.submit(TOPIC, messages)
    for partition in range(2):
        (waiting,) = producer._queues[TOPIC, partition]._queue
        assert waiting.messages == [m for m in messages if partition_of(m.key, 2) == partition] != []
    await producer.stop(flush_s=0)
    with pytest.raises(Unavailable, match="stopped"):
        await asyncio.wait_for(publish.done, DEADLINE_S)
