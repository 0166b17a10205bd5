"""The messages that wait for one partition, and the one batch of them that is under way."""

import asyncio
import random
from collections import deque
from dataclasses import dataclass
from typing import Any

from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    TopicAuthorizationFailedError,
)

from bus.base import Message
from bus.config import KafkaConfig
from bus.kafka.producer_connection import BATCH_BYTES, ProducerConnection
from bus.kafka.topics import wrong_partitions
from common.errors import BadInput, ConfigError, Unauthorized, Unavailable
from common.retry import backoff_s
from telemetry.topics import Topic

_RESEND_S = 0.2  # before a batch is sent again; a new client has waits of its own


class Publish:
    """One call's messages on their way; ``done`` when every partition's share is durable."""

    def __init__(self, shares: int) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._shares = shares

    def share_done(self) -> None:
        self._shares -= 1
        if self._shares == 0 and not self.done.done():
            self.done.set_result(None)

    def fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)


@dataclass(slots=True, eq=False)
class Share:
    """The messages of one publish for one partition; those before ``sent`` are durable."""

    publish: Publish
    messages: list[Message]
    sent: int = 0


class PartitionQueue:
    """The queue of one partition. One batch is under way at a time, which keeps the order through every retry."""

    def __init__(self, connection: ProducerConnection, config: KafkaConfig, topic: Topic, partition: int) -> None:
        self._connection, self._config = connection, config
        self._topic, self._partition = topic, partition
        self._queue: deque[Share] = deque()
        self._filled = asyncio.Event()
        self._sending = False
        self.idle = asyncio.Event()
        self.idle.set()

    @property
    def busy(self) -> bool:
        """Whether somebody waits for what is in the queue."""
        return any(not share.publish.done.done() for share in self._queue)

    def add(self, share: Share) -> None:
        if not self._sending:
            self._drop_abandoned()  # during an outage nothing else would
        self._queue.append(share)
        self.idle.clear()
        self._filled.set()

    def fail(self, error: Exception) -> None:
        """All that wait."""
        while self._queue:
            self._queue.popleft().publish.fail(error)
        self._rest()

    def _rest(self) -> None:
        self._filled.clear()
        self.idle.set()

    async def run(self) -> None:
        while True:
            await self._filled.wait()
            await asyncio.shield(self._connection.turn())
            self._drop_abandoned()
            if not self._queue:
                self._rest()
                continue
            try:
                await self._send_batch()
            except (ConfigError, Unauthorized) as error:
                self.fail(error)
            except BadInput as error:
                self._queue.popleft().publish.fail(error)
            except Unavailable:
                await asyncio.sleep(backoff_s(1, first_s=_RESEND_S, most_s=_RESEND_S, chance=random.random()))

    def _drop_abandoned(self) -> None:
        while self._queue and self._queue[0].publish.done.done():
            self._queue.popleft()

    async def _send_batch(self) -> None:
        """Raises Unavailable when the batch was not acknowledged; it stays in the queue then."""
        client = await self._connection.client(self._topic)
        self._drop_abandoned()
        batch, counts = self._fill(client)
        self._sending = True
        try:
            async with asyncio.timeout(self._config.attempt_deadline_s):
                partitions = len(await client.partitions_for(self._topic.name))
                if partitions != self._topic.partitions:
                    raise wrong_partitions(self._topic, partitions)
                if counts:
                    sent = await client.send_batch(batch, self._topic.name, partition=self._partition)
                    self._connection.acknowledged(await sent)
        except ConfigError:
            raise
        except (TopicAuthorizationFailedError, ClusterAuthorizationFailedError) as error:
            raise Unauthorized(f"topic {self._topic.name}: {type(error).__name__}") from error
        except (MessageSizeTooLargeError, RecordListTooLargeError) as error:
            self._connection.invalidate(client, type(error).__name__)
            raise BadInput(f"topic {self._topic.name}: the broker accepts no record this large", "too_large") from error
        except Exception as error:  # time is up, the sequence is broken, …: only a new producer is known to be sound
            self._connection.invalidate(client, type(error).__name__)
            raise Unavailable(repr(error)) from error
        finally:
            self._sending = False
        self._acknowledged(counts)

    def _fill(self, client: Any) -> tuple[Any, list[int]]:
        """A batch of what waits, and how many messages of each share are in it."""
        batch, size = client.create_batch(), 0
        counts: list[int] = []
        for share in self._queue:
            n = 0
            for message in share.messages[share.sent :] if share.sent else share.messages:
                size += len(message.value or b"")
                headers = list(message.headers.items()) if message.headers else []
                full = size > BATCH_BYTES and (n or counts)
                if full or not batch.append(timestamp=None, key=message.key, value=message.value, headers=headers):
                    counts.append(n)
                    return batch, counts
                n += 1
            counts.append(n)
        return batch, counts

    def _acknowledged(self, counts: list[int]) -> None:
        for n in counts:
            share = self._queue[0]
            share.sent += n
            if share.sent == len(share.messages):
                self._queue.popleft()
                share.publish.share_done()
        if not self._queue:
            self._rest()
