"""Reading from Kafka by manual assignment: no group, no commits, the position is the reader's own.

A task of the consumer connects, watches for progress, and rebuilds the client when nothing is read while records wait
(aiokafka can be stuck for ever after a broker restart), or when the brokers do not answer, which also resolves their
names again.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import OffsetOutOfRangeError

from bus.base import Gap, Offsets, Record
from bus.config import KafkaConfig
from bus.kafka.client import (
    CONNECT_FIRST_S,
    CONNECT_MOST_S,
    BackgroundClosings,
    connection_settings,
    discard_consumer,
    start_client,
    within,
)
from bus.kafka.fetched_records import FetchedRecords
from bus.kafka.log_identity import LogIdentity
from bus.kafka.record_batches import use_in_aiokafka
from bus.kafka.standstill import StandstillWatch
from bus.kafka.topics import RECORD_BYTES_MAX, ensure_topics, wrong_partitions
from bus.metrics import CONNECT_RETRIES, GAPS, REBUILDS
from common.errors import ConfigError
from common.retry import retry
from telemetry.topics import Topic

_ANSWER_S = 0.9
log = structlog.get_logger(__name__)


class KafkaConsumer:
    """``Consumer`` over one aiokafka consumer at a time. problem: why it cannot read now, or None."""

    def __init__(self, config: KafkaConfig, topics: list[Topic], start: Offsets) -> None:
        use_in_aiokafka()
        self._config, self._topics = config, topics
        self._positions = dict(start)
        self._fetched = FetchedRecords()
        self._identity = LogIdentity()
        self._partitions = [TopicPartition(t.name, partition) for t in topics for partition in range(t.partitions)]
        self._client: Any = None
        self._connected = asyncio.Event()
        self._config_error: ConfigError | None = None
        self._empty_since: float | None = None  # polls have been empty since then
        self._answered_at = time.monotonic()
        self._task: asyncio.Task[None] | None = None
        self._closing = BackgroundClosings()
        self._standstill = StandstillWatch()
        self._asked_after = 0  # standstills when the broker was asked for the ends last
        self._ends: dict[TopicPartition, int] = {}
        self.problem: str | None = "not connected yet"
        self.stopped = False

    async def poll(self, *, records_max: int = 1000, wait_s: float = 0.5) -> list[Record]:
        deadline = time.monotonic() + wait_s
        if self._fetched:
            return self._fetched.pop(records_max)
        client = await self._connection(wait_s)
        if self._config_error is not None:
            raise self._config_error
        if client is None:
            return []
        self._empty_since = self._empty_since or time.monotonic()
        wait_ms = max(0, int((deadline - time.monotonic()) * 1000))
        try:
            async with asyncio.timeout(deadline - time.monotonic() + _ANSWER_S):
                found = await client.getmany(timeout_ms=wait_ms, max_records=records_max)
        except OffsetOutOfRangeError as error:
            await self._skip_gap(client, next(iter(error.args[0])))
            return []
        except Exception as error:  # whatever the client raises, a new one is the remedy
            self._rebuild(client, type(error).__name__)
            return []
        if found:
            self._empty_since = None
        others = [tp for tp, messages in found.items() if not self._take(client, tp, messages)]
        self._begin_again(client, others)
        return self._fetched.pop(records_max)

    def _take(self, client: Any, tp: TopicPartition, messages: Sequence[Any]) -> bool:
        """False when they are of another log than what was read before."""
        unread = self._identity.unread(tp, messages)
        if unread:
            before = self._positions.get((tp.topic, tp.partition), 0)
            following = self._fetched.add(tp.topic, tp.partition, unread, before)
            if following != messages[-1].offset + 1:
                client.seek(tp, following)
            self._positions[tp.topic, tp.partition] = following
        return unread is not None

    def _begin_again(self, client: Any, partitions: list[TopicPartition]) -> None:
        """Their logs are new: what was not read of the old ones is lost, and all of the new ones is read."""
        for tp in partitions:
            position = self._positions[tp.topic, tp.partition]
            self._positions[tp.topic, tp.partition] = 0
            self._fetched.add_gap(Gap(tp.topic, tp.partition, 0, position - 1))
            client.seek(tp, 0)  # beyond what retention has left there, that is a gap of its own

    async def _skip_gap(self, client: Any, tp: TopicPartition) -> None:
        """Raises Gap and reads on behind it; reconnects when the broker does not say where that is."""
        try:
            begin, end = await within(_ANSWER_S, _bounds(client, tp))
        except Exception as error:
            self._rebuild(client, type(error).__name__)
            return
        position = self._positions.get((tp.topic, tp.partition), 0)
        client.seek(tp, begin)
        self._ends.clear()
        self._positions[tp.topic, tp.partition] = begin
        raise _gap(tp, position, begin, end)

    async def at_end(self) -> bool:
        client = await self._connection(1)
        if client is None or self._fetched:
            return False
        try:
            ends = await within(1, client.end_offsets(self._partitions))
            return not await self._behind(client, ends)
        except Exception:  # not known is not at the end
            return False

    async def behind(self) -> set[TopicPartition]:
        client = await self._connection(1)
        try:
            ends = await self._reported_ends(client) if client else {}
            partitions = [tp for tp, end in ends.items() if end is None or await self._behind(client, {tp: end})]
        except Exception:  # the client is just being rebuilt: nothing is known
            partitions = self._partitions
        unread = {(tp.topic, tp.partition) for tp in (partitions if client else self._partitions)}
        return unread | self._fetched.partitions()

    async def lag(self) -> int:
        client = await self._connection(0)
        try:
            ends = await self._reported_ends(client) if client else {}
            unread: list[int] = [
                end - await within(1, client.position(tp)) for tp, end in ends.items() if end is not None
            ]
        except Exception:  # the client is just being rebuilt: nothing is known
            unread = []
        return len(self._fetched) + sum(max(0, records) for records in unread)

    async def _reported_ends(self, client: Any) -> dict[TopicPartition, int | None]:
        """What the broker reported with the newest records of each partition, or with their absence; else None.

        After a standstill that is old, and one partition may be an hour ahead of the others by now: it is asked.
        """
        standstills = self._standstill.count()
        if standstills != self._asked_after:
            self._ends = await within(1, client.end_offsets(self._partitions))
            self._asked_after = standstills
        reported = {tp: client.highwater(tp) for tp in self._partitions}
        return {tp: None if end is None else max(end, self._ends.get(tp, 0)) for tp, end in reported.items()}

    async def stop(self) -> None:
        self.stopped = True
        self._standstill.stop()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
        client, self._client = self._client, None
        self._connected.set()
        if client is not None:
            await discard_consumer(client)
        await self._closing.wait(1)

    async def _connection(self, wait_s: float) -> Any:
        """The client, or None when there is none within ``wait_s``."""
        if self._task is None and not self.stopped:
            self._standstill.start()
            self._task = asyncio.ensure_future(self._keep_connected())
        if self._client is None and wait_s > 0 and not self.stopped and self._config_error is None:
            try:
                async with asyncio.timeout(wait_s):
                    await self._connected.wait()
            except TimeoutError:
                return None
        return self._client

    async def _keep_connected(self) -> None:
        while True:
            try:
                self._client = await retry(
                    self._connect,
                    on=Exception,  # whatever a client raises, the bus goes on trying
                    unless=ConfigError,
                    first_s=CONNECT_FIRST_S,
                    most_s=CONNECT_MOST_S,
                    failed=self._not_connected,
                )
            except ConfigError as error:
                self._config_error, self.problem = error, str(error)
                self._connected.set()
                return
            self.problem = None
            self._answered_at, self._empty_since = time.monotonic(), None
            self._connected.set()
            await self._watch(self._client)

    def _not_connected(self, error: Exception) -> None:
        CONNECT_RETRIES.labels("consumer").inc()
        self.problem = f"{', '.join(self._config.bootstrap)}: {error}"

    async def _connect(self) -> Any:
        await ensure_topics(self._config, self._topics)
        client = AIOKafkaConsumer(
            **connection_settings(self._config),
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            max_partition_fetch_bytes=RECORD_BYTES_MAX,
            fetch_max_wait_ms=500,
        )
        try:
            await start_client(self._config, client.start())
            client.assign(self._partitions)
            unknown = [tp for tp in self._partitions if (tp.topic, tp.partition) not in self._positions]
            begins = await within(self._config.attempt_deadline_s, client.beginning_offsets(unknown)) if unknown else {}
            for tp in self._partitions:
                position = self._positions.setdefault((tp.topic, tp.partition), begins.get(tp, 0))
                client.seek(tp, self._identity.resume(tp, position))
        except BaseException:
            await asyncio.shield(discard_consumer(client))
            raise
        return client

    async def _watch(self, client: Any) -> None:
        """Returns when the client is no longer in use."""
        while self._client is client:
            await asyncio.sleep(self._config.stall_s / 10)
            reason = await self._stall_reason(client)
            if reason is not None:
                self._rebuild(client, reason)

    async def _stall_reason(self, client: Any) -> str | None:
        """Why the client is not worth keeping, or None. A topic that was changed makes the next poll raise."""
        for topic in self._topics:
            partitions = client.partitions_for_topic(topic.name)
            if partitions is None:
                return "topic_gone"
            if len(partitions) != topic.partitions:
                self._config_error = wrong_partitions(topic, len(partitions))
                self.problem = str(self._config_error)
        try:
            ends = await within(self._config.stall_s / 6, client.end_offsets(self._partitions))
            behind = await self._behind(client, ends)
        except Exception as error:
            self.problem = f"{', '.join(self._config.bootstrap)}: {error!r}"
            return "no_answer" if time.monotonic() - self._answered_at > self._config.stall_s else None
        self._answered_at = time.monotonic()
        self.problem = str(self._config_error) if self._config_error else None
        if not behind:
            self._empty_since = None
        empty_since = self._empty_since or self._answered_at  # a reader that does not poll is not stuck
        return "stalled" if self._answered_at - empty_since > self._config.stall_s else None

    async def _behind(self, client: Any, ends: dict[TopicPartition, int]) -> bool:
        """Whether there are records to read. The client's position counts: compaction leaves holes."""
        return any([await within(1, client.position(tp)) < end for tp, end in ends.items()])

    def _rebuild(self, client: Any, reason: str) -> None:
        if client is self._client and not self.stopped:
            REBUILDS.labels("consumer", reason).inc()
            log.warning("bus consumer rebuilt", reason=reason)
            self._client = None
            self._ends.clear()
            self._connected.clear()
            self.problem = f"the consumer is being rebuilt: {reason}"
            self._closing.add(discard_consumer(client))


async def _bounds(client: Any, tp: TopicPartition) -> tuple[int, int]:
    begins, ends = await client.beginning_offsets([tp]), await client.end_offsets([tp])
    return begins[tp], ends[tp]


def _gap(tp: TopicPartition, position: int, begin: int, end: int) -> Gap:
    """position is outside begin..end: retention has passed it, or the log was cut or replaced by a shorter one."""
    first, last = (position, begin - 1) if position < begin else (end, position - 1)
    GAPS.labels(tp.topic).inc()
    return Gap(tp.topic, tp.partition, first, last)
