"""Reads topics as one of a consumer group. What was read is committed by the reader, when it has been taken."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from bus.kafka.client import connection_settings, discard_consumer, start_client, within
from bus.kafka.record_batches import Damaged, use_in_aiokafka
from common.errors import Unavailable
from common.units import NS_PER_MS
from ingest.collectors.event_time import accepted
from ingest.collectors.kafka_topics import metrics
from ingest.collectors.kafka_topics.config import Config

LOST = (KafkaError, Unavailable, OSError)
"""Errors after which a new consumer is the remedy."""

_POLL_S = 0.5
_RECORDS_MAX = 2_000  # of one poll

log = structlog.get_logger("ingest")


class GroupConsumer:
    """One membership of the group, from ``start`` to ``stop``. Its methods raise one of ``LOST`` when it is over."""

    def __init__(self, config: Config, clock: Callable[[], int]) -> None:
        use_in_aiokafka()
        self._config, self._clock = config, clock
        self._deadline_s = config.kafka.attempt_deadline_s
        self._offsets: dict[TopicPartition, int] = {}
        self._empty_since_s: float | None = None
        self._client: Any = AIOKafkaConsumer(
            **connection_settings(config.kafka),
            group_id=config.group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=config.limits.message_bytes_max,
            fetch_max_bytes=config.limits.fetch_bytes_max,
        )

    async def start(self) -> None:
        """Returns before partitions are assigned: the group may wait for a member that is gone."""
        await start_client(self._config.kafka, self._client.start())
        self._client.subscribe(self._config.topics, listener=_SinceAccepted(self._client, self._clock))

    async def stop(self) -> None:
        await asyncio.shield(discard_consumer(self._client))

    async def poll(self) -> list[bytes]:
        """Messages in the order of their partitions, after half a second without any an empty list."""
        if not self._client.assignment():  # who joins waits for members that are gone, longer than for an answer
            self._offsets = {}
            await asyncio.sleep(_POLL_S)
            return []
        wait_ms = int(_POLL_S * 1000)
        polling = self._client.getmany(timeout_ms=wait_ms, max_records=_RECORDS_MAX)
        found: dict[TopicPartition, Sequence[Any]] = await within(_POLL_S + self._deadline_s, polling)
        self._offsets = {tp: records[-1].offset + 1 for tp, records in found.items() if records}
        if not self._offsets:
            await self._look_whether_stuck()
            return []
        self._empty_since_s = None
        return self._contents([record for records in found.values() for record in records])

    async def commit(self) -> None:
        """What the last poll gave has been taken."""
        if not self._offsets:
            return
        try:
            await within(self._deadline_s, self._client.commit(self._offsets))
        except (CommitFailedError, IllegalStateError):
            metrics.COMMITS_FAILED.labels(self._config.job_name).inc()
        ends = {tp: self._client.highwater(tp) for tp in self._offsets if tp in self._client.assignment()}
        behind = sum(max(0, end - self._offsets[tp]) for tp, end in ends.items() if end is not None)
        metrics.MESSAGES_BEHIND.labels(self._config.job_name).set(behind)

    def _contents(self, records: Sequence[Any]) -> list[bytes]:
        """Those that can be read and are not too large. All are counted, together: one by one costs as much as to read
        them."""
        found: list[bytes] = []
        received, size, damaged, too_large = len(records), 0, 0, 0
        bytes_max = self._config.limits.message_bytes_max
        for record in records:
            lost = record.checksum
            if isinstance(lost, Damaged):
                damaged += lost.offset - lost.first + 1
                received += lost.offset - lost.first
                continue
            content: bytes = record.value or b""
            size += len(content)
            if len(content) > bytes_max:
                too_large += 1
            else:
                found.append(content)
        job = self._config.job_name
        metrics.MESSAGES_RECEIVED.labels(job).inc(received)
        metrics.RECEIVED_BYTES.labels(job).inc(size)
        for reason, count in (("damaged", damaged), ("too_large", too_large)):
            if count:
                metrics.MESSAGES_DROPPED.labels(job, reason).inc(count)
        return found

    async def _look_whether_stuck(self) -> None:
        """aiokafka may read nothing for ever after a broker was away. Unavailable when messages wait meanwhile."""
        now_s = asyncio.get_running_loop().time()
        self._empty_since_s = self._empty_since_s or now_s
        if now_s - self._empty_since_s < self._config.kafka.stall_s:
            return
        self._empty_since_s = None
        partitions = list(self._client.assignment())
        ends = await within(self._deadline_s, self._client.end_offsets(partitions)) if partitions else {}
        for tp, end in ends.items():
            if end > await within(self._deadline_s, self._client.position(tp)):
                raise Unavailable(f"{tp.topic}/{tp.partition}: nothing is read while messages wait")


class _SinceAccepted(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """A partition of which the group has read nothing begins with the first message whose samples may be accepted."""

    def __init__(self, client: Any, clock: Callable[[], int]) -> None:
        self._client, self._clock = client, clock

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """What was taken of them is committed; the rest is the next reader's."""

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        fresh = [tp for tp in assigned if await self._client.committed(tp) is None]
        if not fresh:
            return
        since_ms = accepted(self._clock())[0] // NS_PER_MS
        found = await self._client.offsets_for_times(dict.fromkeys(fresh, since_ms))
        ends = await self._client.end_offsets(fresh)
        for tp in fresh:
            first = found.get(tp)
            self._client.seek(tp, first.offset if first is not None else ends[tp])
