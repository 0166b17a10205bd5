"""One idempotent aiokafka producer at a time, rebuilt when it is broken.

aiokafka's idempotent producer retries for ever, dies of OutOfOrderSequenceNumber, and its stop() waits for a broker
that may never answer. So after any error it is thrown away.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.structs import RecordMetadata

from bus.config import KafkaConfig
from bus.kafka.client import (
    CONNECT_FIRST_S,
    CONNECT_MOST_S,
    BackgroundClosings,
    close_with_timeout,
    connection_settings,
    start_client,
)
from bus.kafka.topics import ensure_topics
from bus.metrics import CONNECT_RETRIES, REBUILDS
from common.errors import ConfigError, Unauthorized
from common.retry import retry
from common.units import NS_PER_MS
from telemetry.topics import Topic

BATCH_BYTES = 1024 * 1024
_LOG_APPEND_TIME = 1  # RecordMetadata.timestamp_type
log = structlog.get_logger(__name__)


class ProducerConnection:
    """What the queues of all partitions send through. problem: why nothing can be published now, or None.

    refused: whether that is because the brokers do not accept our credentials. wall: Unix time in nanoseconds.
    """

    def __init__(self, config: KafkaConfig, wall: Callable[[], int]) -> None:
        self._config, self._wall = config, wall
        self._client: Any = None
        self._connected = asyncio.Event()
        self._broken = asyncio.Event()
        self._ensured: set[Topic] = set()
        self._ensuring = asyncio.Lock()
        self._closing = BackgroundClosings()
        self._turn: asyncio.Future[None] | None = None
        self._turn_at = 0.0
        self.clock_ahead_ns: int | None = None
        self.problem: str | None = "not connected yet"
        self.refused = False

    async def run(self) -> None:
        """Connects, and connects again whenever the producer was invalidated; until cancelled."""
        while True:
            self._client = await retry(
                self._started_client,
                on=Exception,  # whatever a client raises, and whichever file is in rotation, the bus goes on trying
                first_s=CONNECT_FIRST_S,
                most_s=CONNECT_MOST_S,
                failed=self._not_connected,
            )
            self.problem, self.refused = None, False
            self._connected.set()
            await self._broken.wait()
            self._broken.clear()

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await _discard(client, grace_s=0.5)
        await self._closing.wait(0.5)
        self.problem = "not running"

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

    def acknowledged(self, metadata: RecordMetadata) -> None:
        """Compares the clocks: topics carry the append time of the broker, as ``topics`` makes them."""
        if metadata.timestamp_type == _LOG_APPEND_TIME and metadata.timestamp is not None:
            self.clock_ahead_ns = metadata.timestamp * NS_PER_MS - self._wall()

    def turn(self) -> "asyncio.Future[None]":
        """Resolves when the queues may send: together, because a request costs as much as fifty records."""
        if self._turn is None:
            loop = asyncio.get_running_loop()
            self._turn = loop.create_future()
            loop.call_at(self._turn_at + self._config.send_interval_ms / 1000, self._begin_turn)
        return self._turn

    def _begin_turn(self) -> None:
        turn, self._turn = self._turn, None
        self._turn_at = asyncio.get_running_loop().time()
        if turn is not None:
            turn.set_result(None)

    def invalidate(self, client: Any, reason: str) -> None:
        """That producer cannot be trusted any more: no queue uses it after this, and it is rebuilt."""
        if client is not None and client is self._client:
            REBUILDS.labels("producer", reason).inc()
            log.warning("bus producer rebuilt", reason=reason)
            self._client = None
            self._connected.clear()
            self._ensured.clear()
            self._broken.set()
            self.problem = f"the producer is being rebuilt: {reason}"
            self._closing.add(_discard(client, grace_s=0))

    async def _started_client(self) -> Any:
        client = AIOKafkaProducer(
            **connection_settings(self._config), enable_idempotence=True, acks="all", max_batch_size=BATCH_BYTES
        )
        try:
            await start_client(self._config, client.start())
        except asyncio.CancelledError:
            self._closing.add(_discard(client, grace_s=0))
            raise
        except Exception:
            await _discard(client, grace_s=0)
            raise
        return client

    def _not_connected(self, error: Exception) -> None:
        CONNECT_RETRIES.labels("producer").inc()
        self.refused = isinstance(error, Unauthorized)
        about_us = isinstance(error, ConfigError)  # it names our file; everything else is about the brokers
        self.problem = str(error) if about_us else f"{', '.join(self._config.bootstrap)}: {error}"


async def _discard(client: Any, grace_s: float) -> None:
    """Closes it in a bounded time. Its sender is cancelled by hand: left alone it would retry for ever."""
    if grace_s:
        await close_with_timeout(client.stop(), seconds=grace_s)
    client._closed = True
    await close_with_timeout(client.client.close(), seconds=0.3)  # fails the requests under way
    await close_with_timeout(client._sender.close(), seconds=0.3)
    await close_with_timeout(client.client.close(), seconds=0.3)  # what the sender has opened in between
