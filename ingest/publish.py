"""From collectors to the bus: a bounded queue that batches calls, and bridges times in which the bus is unavailable."""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Protocol

import structlog

from bus.base import MESSAGE_BYTES_MAX, Message
from common.errors import BadInput, Unavailable
from common.retry import retry
from ingest.collectors.base import ClusterEvent, CollectorOutput
from ingest.config import PublishConfig
from ingest.ledger import DropReason, Ledger
from ingest.metrics import BATCHES_DROPPED, PUBLISH_RETRIES, PUBLISH_SECONDS, RECORDS_DROPPED, SAMPLES_QUEUED
from telemetry import topics
from telemetry.changes import Change
from telemetry.codec.batch import encode_batch
from telemetry.codec.records import encode_record
from telemetry.samples import SampleBatch
from telemetry.topology import TopologyFact

log = structlog.get_logger("ingest")
_RETRY_FIRST_S, _RETRY_MAX_S = 0.1, 30.0
_FLUSH_S = 3.0


class PublishingBus(Protocol):
    """The half of a bus that this stage needs."""

    async def publish(self, topic: topics.Topic, messages: Sequence[Message]) -> None: ...


class Publisher:
    """Publishes samples, topology facts and changes in the order in which they came, keyed so that the bus keeps it."""

    def __init__(self, config: PublishConfig, bus: PublishingBus, ledger: Ledger) -> None:
        self._config, self._bus, self._ledger = config, bus, ledger
        self._batches: deque[SampleBatch] = deque()
        self._events: dict[str, ClusterEvent] = {}
        self._waiting = self._in_flight = 0
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def queued(self) -> int:
        """Samples that are neither published nor dropped yet."""
        return self._waiting + self._in_flight

    def enqueue(self, output: CollectorOutput) -> None:
        """Adds it to the queue; a full queue drops its oldest batches or events."""
        if isinstance(output, SampleBatch):
            self._batches.append(output)
            self._waiting += len(output)
            config = self._config
            while len(self._batches) > config.spool_batches_max or self._waiting > config.spool_samples_max:
                self._drop_oldest()
        else:
            self._enqueue_events(output)
        self._wake.set()

    def _drop_oldest(self) -> None:
        oldest = self._batches.popleft()
        self._waiting -= len(oldest)
        self._ledger.dropped(DropReason.SPOOL_FULL, len(oldest))
        BATCHES_DROPPED.inc()

    def _enqueue_events(self, events: Sequence[ClusterEvent]) -> None:
        """Only the newest fact of a key matters, so a newer one replaces one that still waits."""
        for event in events:
            key = _key(event)
            self._events.pop(key, None)
            self._events[key] = event
            if len(self._events) > self._config.spool_facts_max:
                del self._events[next(iter(self._events))]
                RECORDS_DROPPED.labels(reason=DropReason.SPOOL_FULL).inc()

    async def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    @property
    def tasks(self) -> list["asyncio.Task[None]"]:
        """The background work."""
        return [self._task] if self._task is not None else []

    async def stop(self) -> None:
        """Publishes what is queued if the bus accepts it within a few seconds."""
        if self._task is None:
            return
        task, self._task = self._task, None
        try:
            async with asyncio.timeout(_FLUSH_S):
                while self.queued or self._events or self._batches:
                    if task.done():
                        break
                    await asyncio.sleep(0.01)
        except TimeoutError:
            log.warning("stopped before all samples were published", samples=self.queued)
        task.cancel()
        await asyncio.wait([task], timeout=1.0)

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            await asyncio.sleep(self._config.linger_s)
            self._wake.clear()
            while self._batches or self._events:
                await self._publish_events()
                await self._publish_batches()

    async def _publish_events(self) -> None:
        """Facts before changes, so that consumers know the objects of a change."""
        while self._events:
            events = [self._events.pop(key) for key in list(self._events)[: self._config.messages_max]]
            for topic, kind in ((topics.TOPOLOGY, TopologyFact), (topics.CHANGES, Change)):
                messages = [Message(_key(one).encode(), encode_record(one)) for one in events if isinstance(one, kind)]
                if messages:
                    await self._publish_with_retry(topic, messages)

    async def _publish_batches(self) -> None:
        messages: list[Message] = []
        samples = too_large = 0
        while self._batches and len(messages) < self._config.messages_max:
            batch = self._batches.popleft()
            self._waiting -= len(batch)
            self._in_flight += len(batch)
            value, headers = encode_batch(batch)
            if len(value) > MESSAGE_BYTES_MAX:
                too_large += len(batch)
                continue
            messages.append(Message(batch.table.device.encode(), value, headers))
            samples += len(batch)
            if len(messages) % 16 == 0:
                await asyncio.sleep(0)  # encoding a full queue must not block the loop
        if messages:
            await self._publish_with_retry(topics.SAMPLES, messages)
        self._in_flight -= samples + too_large
        self._ledger.published(samples)
        self._ledger.dropped(DropReason.TOO_LARGE, too_large)
        SAMPLES_QUEUED.set(self.queued)

    async def _publish_with_retry(self, topic: topics.Topic, messages: Sequence[Message]) -> None:
        """Returns when all are durable, however long the bus is unavailable."""

        async def publish() -> None:
            started_s = asyncio.get_running_loop().time()
            await self._bus.publish(topic, messages)
            PUBLISH_SECONDS.observe(asyncio.get_running_loop().time() - started_s)

        def failed(error: Exception) -> None:
            PUBLISH_RETRIES.inc()
            log.warning("publishing failed and is repeated", topic=topic.name, messages=len(messages), error=str(error))

        try:
            await retry(publish, on=Unavailable, first_s=_RETRY_FIRST_S, most_s=_RETRY_MAX_S, failed=failed)
        except BadInput as error:
            raise AssertionError(f"the bus refuses what is within its limits: {error}") from error


def _key(event: ClusterEvent) -> str:
    return event.id if isinstance(event, Change) else event.entity.key
