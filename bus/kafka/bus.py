"""The Kafka bus: aiokafka underneath, and none of its waits without a bound."""

import asyncio
import time
from collections.abc import Callable, Sequence

import structlog

from bus.base import Consumer, Message, Offsets
from bus.config import KafkaConfig
from bus.kafka.client import close_with_timeout
from bus.kafka.consumer import KafkaConsumer
from bus.kafka.offsets import offsets_since
from bus.kafka.producer import Producer
from bus.limits import bytes_of
from bus.metrics import PUBLISH_FAILURES, PUBLISHED, PUBLISHED_BYTES
from common.errors import BadInput, ConfigError, Unauthorized, Unavailable
from telemetry.topics import Topic

_FLUSH_S, _STOP_S = 2.0, 4.5
log = structlog.get_logger(__name__)


class KafkaBus:
    """``Bus`` over Kafka 3.9 or 4.x. wall: this machine's Unix time, in nanoseconds."""

    def __init__(self, config: KafkaConfig, wall: Callable[[], int] = time.time_ns) -> None:
        self._config = config
        self._producer = Producer(config, wall)
        self._consumers: list[KafkaConsumer] = []
        self._queued_bytes = 0
        self._room = asyncio.Event()
        self._running = self._stopped = False

    async def start(self) -> None:
        if self._config.exposed:
            log.warning("the connection to Kafka is not encrypted", bootstrap=self._config.bootstrap)
        self._running = True
        self._producer.start()

    async def stop(self) -> None:
        if not self._running or self._stopped:
            self._stopped = True
            return
        self._stopped = True
        stops = [consumer.stop() for consumer in self._consumers]
        await close_with_timeout(self._producer.stop(_FLUSH_S), *stops, seconds=_STOP_S)

    def problem(self) -> str | None:
        if not self._running or self._stopped:
            return "not running"
        problems = (consumer.problem for consumer in self._consumers if not consumer.stopped)
        return self._producer.connection.problem or next((problem for problem in problems if problem), None)

    def clock_ahead_ns(self) -> int | None:
        return self._producer.connection.clock_ahead_ns

    async def publish(self, topic: Topic, messages: Sequence[Message]) -> None:
        size = bytes_of(messages)
        if not messages:
            return
        if self._stopped:
            raise Unavailable("the bus has been stopped")
        try:
            await self._publish(topic, messages, size)
        except (Unavailable, ConfigError, BadInput) as error:
            PUBLISH_FAILURES.labels(topic.name, type(error).__name__.lower()).inc()
            raise
        PUBLISHED.labels(topic.name).inc(len(messages))
        PUBLISHED_BYTES.labels(topic.name).inc(size)

    async def _publish(self, topic: Topic, messages: Sequence[Message], size: int) -> None:
        queued = False
        try:
            async with asyncio.timeout(self._config.publish_deadline_s):
                while self._queued_bytes and self._queued_bytes + size > self._config.queue_bytes_max:
                    self._room.clear()
                    await self._room.wait()
                self._queued_bytes += size
                queued = True
                await self._producer.submit(topic, messages).done
        except TimeoutError as error:
            reason = self.problem() or "the broker is slow"
            kind = Unauthorized if self._producer.connection.refused else Unavailable
            raise kind(f"not durable after {self._config.publish_deadline_s:g} s: {reason}") from error
        finally:
            if queued:
                self._queued_bytes -= size
                self._room.set()

    async def offsets_since(self, topics: Sequence[Topic], since_ns: int) -> Offsets:
        return await offsets_since(self._config, list(topics), since_ns)

    def consume(self, topics: Sequence[Topic], start: Offsets) -> Consumer:
        consumer = KafkaConsumer(self._config, list(topics), start)
        self._consumers = [each for each in self._consumers if not each.stopped] + [consumer]
        return consumer
