"""Batches of several partitions back into one order of time, while a reader catches up.

A reader that is behind may get an hour of one partition before the first record of the next. Handed on like that, all
of the second would be late. So a batch waits until every partition that has more to read has come as far.
"""

import heapq
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass

from bus.base import TopicPartition
from bus.owner.fence import Stamp
from telemetry.samples import SampleBatch


@dataclass(frozen=True, slots=True)
class AlignedRecord:
    """What one record holds, and the offset that follows it. batch None: nothing that could be read.

    appended_ns: when the bus took it; None where that says nothing about event time. stamp: who published it.
    """

    partition: TopicPartition
    next_offset: int
    batch: SampleBatch | None
    appended_ns: int | None = None
    stamp: Stamp | None = None


class Alignment:
    """samples_max: samples held at most; beyond that the oldest batches go on without waiting."""

    def __init__(self, samples_max: int = 4_000_000) -> None:
        self._held: dict[TopicPartition, deque[tuple[int, AlignedRecord]]] = {}
        self._newest: dict[TopicPartition, int] = {}
        self._samples_max, self.samples = samples_max, 0

    def add(self, record: AlignedRecord) -> None:
        queue = self._held.setdefault(record.partition, deque())
        at_ns = _time_of(record, self._newest.get(record.partition, 0))
        self._newest[record.partition] = at_ns  # not the maximum: clocks may go back
        self.samples += len(record.batch) if record.batch is not None else 0
        queue.append((at_ns, record))

    def pop_ready(self, behind: Collection[TopicPartition]) -> list[AlignedRecord]:
        """What may go on now, oldest first; records of one partition keep their order.

        behind: partitions of which more waits on the bus.
        """
        limit_ns = min((self._newest.get(place, 0) for place in behind), default=None)
        heads = [(queue[0][0], partition) for partition, queue in self._held.items() if queue]
        heapq.heapify(heads)
        taken = []
        while heads and (limit_ns is None or heads[0][0] <= limit_ns or self.samples > self._samples_max):
            _, partition = heapq.heappop(heads)
            _, record = self._held[partition].popleft()
            self.samples -= len(record.batch) if record.batch is not None else 0
            taken.append(record)
            if self._held[partition]:
                heapq.heappush(heads, (self._held[partition][0][0], partition))
        return taken


def _time_of(record: AlignedRecord, otherwise_ns: int) -> int:
    """A collector with a clock that is ahead must not let the others of its partition appear read already."""
    if record.batch is None:
        return otherwise_ns
    collected_ns = record.batch.collection.collected_ns
    return collected_ns if record.appended_ns is None else min(collected_ns, record.appended_ns)
