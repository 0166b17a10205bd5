"""Publishing to Kafka: one lane a partition, all over one idempotent producer that is built anew when it is broken.

aiokafka's idempotent producer retries for ever, dies of OutOfOrderSequenceNumber, and its stop() waits for a broker
that may never answer. So a batch has a deadline of its own, after which, or after any error,
the producer is thrown away and the lanes send what was not acknowledged through a new one: at least once, in order.
"""

import asyncio
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    TopicAuthorizationFailedError,
)

from bus.base import Message
from bus.config import KafkaConfig
from bus.kafka.client import CONNECT_FIRST_S, CONNECT_MOST_S, Closing, connection_settings, let_go, start_client
from bus.kafka.topics import ensure_topics, wrong_partitions
from bus.metrics import REBUILDS
from bus.partitions import partition_of
from common.errors import BadInput, ConfigError, Unauthorized, Unavailable
from common.retry import backoff_s, retry
from telemetry.topics import Topic

BATCH_BYTES = 1024 * 1024
_BATCH_WAIT_S = 0.2  # before a batch is sent again; a new client has waits of its own
log = structlog.get_logger()


class Publish:
    """One call's messages on their way; ``done`` when the last of its shares is durable."""

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
class _Share:
    """The messages of one publish for one partition; those before ``sent`` are durable."""

    publish: Publish
    messages: list[Message]
    sent: int = 0


class Producer:
    """The connection that the lanes share. trouble: why nothing can be published now, or None.

    refused: whether that is because the brokers do not take our credentials.
    """

    def __init__(self, config: KafkaConfig) -> None:
        self._config = config
        self._client: Any = None
        self._connected = asyncio.Event()
        self._broken = asyncio.Event()
        self._lanes: dict[tuple[Topic, int], _Lane] = {}
        self._ensured: set[Topic] = set()
        self._ensuring = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = Closing()
        self._turn: asyncio.Future[None] | None = None
        self._turn_at = 0.0
        self.trouble: str | None = "not connected yet"
        self.refused = False

    def start(self) -> None:
        self.spawn(self._keep_connected())

    def spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def submit(self, topic: Topic, messages: Sequence[Message]) -> Publish:
        shares: dict[int, list[Message]] = {}
        for message in messages:
            shares.setdefault(partition_of(message.key, topic.partitions), []).append(message)
        publish = Publish(len(shares))
        for partition, share in shares.items():
            lane = self._lanes.get((topic, partition))
            if lane is None:
                lane = self._lanes[topic, partition] = _Lane(self, self._config, topic, partition)
                self.spawn(lane.run())
            lane.add(_Share(publish, share))
        return publish

    async def client(self, topic: Topic) -> Any:
        """The producer in use, once it is connected and the topic is there."""
        while True:
            await self._connected.wait()
            async with self._ensuring:
                if topic not in self._ensured:
                    await ensure_topics(self._config, [topic])
                    self._ensured.add(topic)
            if self._client is not None:
                return self._client

    def turn(self) -> "asyncio.Future[None]":
        """Resolves when the lanes may send: together, because a request costs as much as fifty records."""
        if self._turn is None:
            loop = asyncio.get_running_loop()
            self._turn = loop.create_future()
            loop.call_at(self._turn_at + self._config.send_interval_ms / 1000, self._take_turn)
        return self._turn

    def _take_turn(self) -> None:
        turn, self._turn = self._turn, None
        self._turn_at = asyncio.get_running_loop().time()
        if turn is not None:
            turn.set_result(None)

    def break_(self, client: Any, reason: str) -> None:
        """That producer cannot be trusted any more: no lane uses it after this, and a new one is built."""
        if client is not None and client is self._client:
            REBUILDS.labels("producer", reason).inc()
            log.warning("bus producer rebuilt", reason=reason)
            self._client = None
            self._connected.clear()
            self._ensured.clear()
            self._broken.set()
            self.trouble = f"the producer is being rebuilt: {reason}"
            self._closing.soon(_discard(client, grace_s=0))

    async def stop(self, flush_s: float) -> None:
        busy = [lane.idle.wait() for lane in self._lanes.values() if lane.busy]
        if busy:
            await let_go(*busy, seconds=flush_s)
        client, self._client = self._client, None
        for task in list(self._tasks):
            task.cancel()
        for lane in self._lanes.values():
            lane.fail(Unavailable("the bus has been stopped"))
        if client is not None:
            await _discard(client, grace_s=0.5)
        await self._closing.wait(0.5)
        self.trouble = "not running"

    async def _keep_connected(self) -> None:
        while True:
            await self._connect()
            await self._broken.wait()
            self._broken.clear()

    async def _connect(self) -> None:
        self._client = await retry(
            self._started_client,
            on=Exception,  # whatever a client raises, and whichever file is in rotation, the bus goes on trying
            first_s=CONNECT_FIRST_S,
            most_s=CONNECT_MOST_S,
            failed=self._not_connected,
        )
        self.trouble, self.refused = None, False
        self._connected.set()

    async def _started_client(self) -> Any:
        client = AIOKafkaProducer(
            **connection_settings(self._config), enable_idempotence=True, acks="all", max_batch_size=BATCH_BYTES
        )
        try:
            await start_client(self._config, client.start())
        except asyncio.CancelledError:
            self._closing.soon(_discard(client, grace_s=0))
            raise
        except Exception:
            await _discard(client, grace_s=0)
            raise
        return client

    def _not_connected(self, error: Exception) -> None:
        self.refused = isinstance(error, Unauthorized)
        own = isinstance(error, ConfigError)  # it names our file; everything else is about the brokers
        self.trouble = str(error) if own else f"{', '.join(self._config.bootstrap)}: {error}"


async def _discard(client: Any, grace_s: float) -> None:
    """Closes it in a bounded time. Its sender is cancelled by hand: left alone it would retry for ever."""
    if grace_s:
        await let_go(client.stop(), seconds=grace_s)
    client._closed = True
    await let_go(client.client.close(), seconds=0.3)  # fails the requests under way
    await let_go(client._sender.close(), seconds=0.3)
    await let_go(client.client.close(), seconds=0.3)  # what the sender has opened in between


class _Lane:
    """The queue of one partition. One batch is under way at a time, which keeps the order through every retry."""

    def __init__(self, producer: Producer, config: KafkaConfig, topic: Topic, partition: int) -> None:
        self._producer, self._config = producer, config
        self._topic, self._partition = topic, partition
        self._queue: deque[_Share] = deque()
        self._filled = asyncio.Event()
        self._sending = False
        self.idle = asyncio.Event()
        self.idle.set()

    @property
    def busy(self) -> bool:
        """Whether somebody waits for what is in the queue."""
        return any(not share.publish.done.done() for share in self._queue)

    def add(self, share: _Share) -> None:
        if not self._sending:
            self._drop_given_up()  # during an outage nothing else would
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
            await asyncio.shield(self._producer.turn())
            self._drop_given_up()
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
                await asyncio.sleep(backoff_s(1, first_s=_BATCH_WAIT_S, most_s=_BATCH_WAIT_S, chance=random.random()))

    def _drop_given_up(self) -> None:
        while self._queue and self._queue[0].publish.done.done():
            self._queue.popleft()

    async def _send_batch(self) -> None:
        """Raises Unavailable when the batch was not acknowledged; it stays in the queue then."""
        client = await self._producer.client(self._topic)
        self._drop_given_up()
        batch, taken = self._fill(client)
        self._sending = True
        try:
            async with asyncio.timeout(self._config.attempt_deadline_s):
                partitions = len(await client.partitions_for(self._topic.name))
                if partitions != self._topic.partitions:
                    raise wrong_partitions(self._topic, partitions)
                if taken:
                    await (await client.send_batch(batch, self._topic.name, partition=self._partition))
        except ConfigError:
            raise
        except (TopicAuthorizationFailedError, ClusterAuthorizationFailedError) as error:
            raise Unauthorized(f"topic {self._topic.name}: {type(error).__name__}") from error
        except (MessageSizeTooLargeError, RecordListTooLargeError) as error:
            self._producer.break_(client, type(error).__name__)
            raise BadInput(f"topic {self._topic.name}: the broker takes no record this large", "too_large") from error
        except Exception as error:  # time is up, the sequence is broken, …: only a new producer is known to be sound
            self._producer.break_(client, type(error).__name__)
            raise Unavailable(repr(error)) from error
        finally:
            self._sending = False
        self._settle(taken)

    def _fill(self, client: Any) -> tuple[Any, list[int]]:
        """A batch of what waits, and how many messages of each share are in it."""
        batch, size = client.create_batch(), 0
        taken: list[int] = []
        for share in self._queue:
            n = 0
            for message in share.messages[share.sent :] if share.sent else share.messages:
                size += len(message.value or b"")
                headers = list(message.headers.items()) if message.headers else []
                full = size > BATCH_BYTES and (n or taken)
                if full or not batch.append(timestamp=None, key=message.key, value=message.value, headers=headers):
                    taken.append(n)
                    return batch, taken
                n += 1
            taken.append(n)
        return batch, taken

    def _settle(self, taken: list[int]) -> None:
        for n in taken:
            share = self._queue[0]
            share.sent += n
            if share.sent == len(share.messages):
                self._queue.popleft()
                share.publish.share_done()
        if not self._queue:
            self._rest()
