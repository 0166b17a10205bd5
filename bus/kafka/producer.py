"""Publishing to Kafka: one queue a partition, all over one connection. At least once, in order within a partition.

A batch has a deadline of its own; after it, or after any error, the queues send what was not acknowledged again.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence

from bus.base import Message
from bus.config import KafkaConfig
from bus.kafka.client import close_with_timeout
from bus.kafka.partition_queue import PartitionQueue, Publish, Share
from bus.kafka.producer_connection import ProducerConnection
from bus.partitions import partition_of
from common.errors import Unavailable
from telemetry.topics import Topic


class Producer:
    """Distributes messages over the queues of their partitions."""

    def __init__(self, config: KafkaConfig, wall: Callable[[], int]) -> None:
        self._config = config
        self._queues: dict[tuple[Topic, int], PartitionQueue] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.connection = ProducerConnection(config, wall)

    def start(self) -> None:
        self._spawn(self.connection.run())

    async def stop(self, flush_s: float) -> None:
        """Sends what waits for up to ``flush_s``; the rest is Unavailable."""
        busy = [queue.idle.wait() for queue in self._queues.values() if queue.busy]
        if busy:
            await close_with_timeout(*busy, seconds=flush_s)
        for task in list(self._tasks):
            task.cancel()
        for queue in self._queues.values():
            queue.fail(Unavailable("the bus has been stopped"))
        await self.connection.close()

    def submit(self, topic: Topic, messages: Sequence[Message]) -> Publish:
        shares: dict[int, list[Message]] = {}
        for message in messages:
            shares.setdefault(partition_of(message.key, topic.partitions), []).append(message)
        publish = Publish(len(shares))
        for partition, share in shares.items():
            queue = self._queues.get((topic, partition))
            if queue is None:
                queue = self._queues[topic, partition] = PartitionQueue(self.connection, self._config, topic, partition)
                self._spawn(queue.run())
            queue.add(Share(publish, share))
        return publish

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
