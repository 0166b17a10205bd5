"""Records that were fetched and not polled yet, with the gaps between them."""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Any

import structlog

from bus.base import Gap, Record, TopicPartition
from bus.kafka.record_batches import CHECKSUM, Damaged
from bus.metrics import CONSUMED, DAMAGED, GAPS
from common.units import NS_PER_MS

log = structlog.get_logger(__name__)


class FetchedRecords:
    """What one fetch has brought, in its order: empty between polls, but for a fetch with gaps in it."""

    def __init__(self) -> None:
        self._queue: deque[Record | Gap] = deque()
        self._distrusted: dict[TopicPartition, int] = {}  # where a checksum was wrong at the first reading

    def __len__(self) -> int:
        return len(self._queue)

    def partitions(self) -> set[TopicPartition]:
        return {(each.topic, each.partition) for each in self._queue}

    def add(self, topic: str, partition: int, messages: Sequence[Any], position: int) -> int:
        """Returns the next offset to fetch. messages: as aiokafka gives them; position: the offset that was asked for.

        It is the one behind the last message, but for a wrong checksum: that batch is fetched a second time, as it may
        have been damaged on the way to us.
        """
        for message in messages:
            damaged = message.checksum
            if not isinstance(damaged, Damaged):
                self._queue.append(_record(topic, partition, message))
                position = message.offset + 1
                continue
            first = max(position, damaged.first)
            if damaged.reason == CHECKSUM and self._distrusted.get((topic, partition)) != first:
                self._distrusted[topic, partition] = first
                return position
            self._queue.append(Gap(topic, partition, first, damaged.offset))
            position = damaged.offset + 1
            DAMAGED.labels(topic, damaged.reason).inc(position - first)
            log.warning(
                "damaged records on the bus",
                topic=topic,
                partition=partition,
                first=first,
                last=damaged.offset,
                reason=damaged.reason,
            )
        return position

    def add_gap(self, gap: Gap) -> None:
        """It is raised behind what was fetched before it."""
        self._queue.append(gap)

    def pop(self, records_max: int) -> list[Record]:
        """The next records; raises the gap that comes instead of them."""
        following = self._queue[0] if self._queue else None
        if isinstance(following, Gap):
            self._queue.popleft()
            GAPS.labels(following.topic).inc()
            raise following
        records = list(self._pop_records(records_max))
        for topic, n in Counter(record.topic for record in records).items():
            CONSUMED.labels(topic).inc(n)
        return records

    def _pop_records(self, records_max: int) -> Iterator[Record]:
        while self._queue and records_max > 0 and isinstance(record := self._queue[0], Record):
            self._queue.popleft()
            records_max -= 1
            yield record


def _record(topic: str, partition: int, message: Any) -> Record:
    headers = {name: value or b"" for name, value in message.headers} if message.headers else {}  # Kafka has null ones
    appended_ns = message.timestamp * NS_PER_MS
    return Record(topic, partition, message.offset, appended_ns, message.key or b"", message.value, headers)
