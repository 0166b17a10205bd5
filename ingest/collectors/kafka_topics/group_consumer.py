"""Reads topics as one of a consumer group. What was read is committed by the reader, when it has been taken."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from bus.kafka.client import connection_settings, discard_consumer, start_client, within
from bus.kafka.record_values import ValueReader, Values
from bus.kafka.whole_answers import Answer, as_answered, give_answers
from common.errors import Unavailable
from common.units import NS_PER_MS
from ingest.collectors.event_time import accepted
from ingest.collectors.kafka_topics import metrics
from ingest.collectors.kafka_topics.config import Config
from ingest.collectors.kafka_topics.joined import Joined

LOST = (KafkaError, Unavailable, OSError)
"""Errors after which a new consumer is the remedy."""

_POLL_S = 0.5

log = structlog.get_logger("ingest")


class GroupConsumer:
    """One membership of the group, from ``start`` to ``stop``. Its methods raise one of ``LOST`` when it is over.

    is_behind: whether more messages may wait than the last poll could bring: an answer of it was more than half full.
    """

    def __init__(self, config: Config, clock: Callable[[], int]) -> None:
        give_answers()
        self._config, self._clock = config, clock
        self._deadline_s = config.kafka.attempt_deadline_s
        self._offsets: dict[TopicPartition, int] = {}
        self._empty_since_s: float | None = None
        self._values = ValueReader(config.limits.message_bytes_max)
        self.is_behind = False
        self._client: Any = AIOKafkaConsumer(
            **connection_settings(config.kafka),
            group_id=config.group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            value_deserializer=as_answered,
            max_partition_fetch_bytes=config.limits.message_bytes_max,
            fetch_max_bytes=config.limits.fetch_bytes_max,
        )

    async def start(self) -> None:
        """Returns before partitions are assigned: the group may wait for a member that is gone."""
        await start_client(self._config.kafka, self._client.start())
        self._client.subscribe(self._config.topics, listener=_SinceAccepted(self._client, self._clock))

    async def stop(self) -> None:
        await asyncio.shield(discard_consumer(self._client))

    async def poll(self) -> list[Answer]:
        """What brokers have answered, after half a second without any message an empty list."""
        if not self._client.assignment():  # who joins waits for members that are gone, longer than for an answer
            self._offsets = {}
            await asyncio.sleep(_POLL_S)
            return []
        polling = self._client.getmany(timeout_ms=int(_POLL_S * 1000))
        found: dict[TopicPartition, list[Answer]] = await within(_POLL_S + self._deadline_s, polling)
        answers = [answer for of_partition in found.values() for answer in of_partition]
        self._offsets = {answer.tp: answer.following for answer in answers}
        self.is_behind = any(2 * len(answer.data) > self._config.limits.message_bytes_max for answer in answers)
        if answers:
            self._empty_since_s = None
        else:
            await self._look_whether_stuck()
        return answers

    def messages(self, answers: Sequence[Answer]) -> Iterator[Joined]:
        """Those that can be read and are not too large, in the order of their partitions, some at a time.

        All are counted. Not for the event loop: it unpacks them.
        """
        for values in self._values.read(answers):
            self._count(values)
            yield Joined(values.data, values.ends)

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

    def _count(self, values: Values) -> None:
        """All together: one by one costs as much as to read them."""
        job = self._config.job_name
        metrics.MESSAGES_RECEIVED.labels(job).inc(values.received)
        metrics.RECEIVED_BYTES.labels(job).inc(values.size)
        lost = sum(damaged.offset - damaged.first + 1 for _, damaged in values.damaged)
        for reason, count in (("damaged", lost), ("too_large", values.too_large)):
            if count:
                metrics.MESSAGES_DROPPED.labels(job, reason).inc(count)
        for tp, damaged in values.damaged:
            log.warning(
                "messages of a topic cannot be read",
                topic=tp.topic,
                partition=tp.partition,
                first=damaged.first,
                last=damaged.offset,
                reason=damaged.reason,
            )

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
