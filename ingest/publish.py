"""From collectors to the bus: a bounded queue that gathers for a moment, and survives a bus that is away."""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from bus.base import MESSAGE_BYTES_MAX, Message
from common.errors import BadInput, Unavailable
from ingest.collectors.base import Emission, News
from ingest.config import PublishConfig
from ingest.ledger import DropReason, Ledger
from ingest.metrics import BATCHES_DROPPED, FACTS_DROPPED, HELD, PUBLISH_SECONDS, UNAVAILABLE
from telemetry import topics
from telemetry.changes import Change
from telemetry.codec.batch import encode_batch
from telemetry.codec.records import encode_record
from telemetry.samples import SampleBatch
from telemetry.topology import TopologyFact

_log = logging.getLogger(__name__)
_RETRY_FIRST_S, _RETRY_MAX_S = 0.1, 30.0
_FLUSH_S = 3.0


class Publishes(Protocol):
    """The half of a bus that this stage needs."""

    async def publish(self, topic: topics.Topic, messages: Sequence[Message]) -> None: ...


class Publisher:
    """Publishes samples, topology facts and changes in the order in which they came, keyed so that the bus keeps it."""

    def __init__(self, config: PublishConfig, bus: Publishes, ledger: Ledger) -> None:
        self._config, self._bus, self._ledger = config, bus, ledger
        self._batches: deque[SampleBatch] = deque()
        self._news: dict[str, News] = {}
        self._queued = self._in_flight = 0
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def held(self) -> int:
        """Samples that are neither published nor dropped yet."""
        return self._queued + self._in_flight

    def emit(self, emission: Emission) -> None:
        """Takes it into the queue; pushes the oldest out when that is full."""
        if isinstance(emission, SampleBatch):
            self._batches.append(emission)
            self._queued += len(emission)
            config = self._config
            while len(self._batches) > config.spool_batches_max or self._queued > config.spool_samples_max:
                self._push_out()
        else:
            self._add_news(emission)
        self._wake.set()

    def _push_out(self) -> None:
        oldest = self._batches.popleft()
        self._queued -= len(oldest)
        self._ledger.dropped(DropReason.SPOOL_FULL, len(oldest))
        BATCHES_DROPPED.inc()

    def _add_news(self, news: Sequence[News]) -> None:
        """Only the newest fact of a key matters, so a newer one takes the place of one that still waits."""
        for one in news:
            key = _key(one)
            self._news.pop(key, None)
            self._news[key] = one
            if len(self._news) > self._config.spool_facts_max:
                del self._news[next(iter(self._news))]
                FACTS_DROPPED.inc()

    async def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    @property
    def tasks(self) -> list["asyncio.Task[None]"]:
        """What runs in the background."""
        return [self._task] if self._task is not None else []

    async def stop(self) -> None:
        """Publishes what is left if the bus takes it within a few seconds."""
        if self._task is None:
            return
        task, self._task = self._task, None
        try:
            async with asyncio.timeout(_FLUSH_S):
                while self.held or self._news or self._batches:
                    if task.done():
                        break
                    await asyncio.sleep(0.01)
        except TimeoutError:
            _log.warning("stopped with %d samples that the bus did not take", self.held)
        task.cancel()
        await asyncio.wait([task], timeout=1.0)

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            await asyncio.sleep(self._config.linger_s)
            self._wake.clear()
            while self._batches or self._news:
                await self._publish_news()
                await self._publish_batches()

    async def _publish_news(self) -> None:
        """Facts before changes: what a change is about is known by then."""
        while self._news:
            news = [self._news.pop(key) for key in list(self._news)[: self._config.messages_max]]
            for topic, kind in ((topics.TOPOLOGY, TopologyFact), (topics.CHANGES, Change)):
                messages = [Message(_key(one).encode(), encode_record(one)) for one in news if isinstance(one, kind)]
                if messages:
                    await self._send(topic, messages)

    async def _publish_batches(self) -> None:
        messages: list[Message] = []
        samples = too_large = 0
        while self._batches and len(messages) < self._config.messages_max:
            batch = self._batches.popleft()
            self._queued -= len(batch)
            self._in_flight += len(batch)
            value, headers = encode_batch(batch)
            if len(value) > MESSAGE_BYTES_MAX:
                too_large += len(batch)
                continue
            messages.append(Message(batch.table.device.encode(), value, headers))
            samples += len(batch)
            if len(messages) % 16 == 0:
                await asyncio.sleep(0)  # encoding a full queue must not hold up the loop
        if messages:
            await self._send(topics.SAMPLES, messages)
        self._in_flight -= samples + too_large
        self._ledger.published(samples)
        self._ledger.dropped(DropReason.TOO_LARGE, too_large)
        HELD.set(self.held)

    async def _send(self, topic: topics.Topic, messages: Sequence[Message]) -> None:
        """Returns when all are durable, however long the bus is away."""
        wait_s = _RETRY_FIRST_S
        loop = asyncio.get_running_loop()
        while True:
            started = loop.time()
            try:
                await self._bus.publish(topic, messages)
            except Unavailable as error:
                UNAVAILABLE.inc()
                _log.warning(
                    "bus does not take %d messages, next try in about %.1f s: %s", len(messages), wait_s, error
                )
                await asyncio.sleep(wait_s * random.uniform(0.5, 1.5))
                wait_s = min(2 * wait_s, _RETRY_MAX_S)
            except BadInput as error:
                raise AssertionError(f"the bus refuses what is within its limits: {error}") from error
            else:
                PUBLISH_SECONDS.observe(loop.time() - started)
                return


def _key(one: News) -> str:
    return one.id if isinstance(one, Change) else one.entity.key
