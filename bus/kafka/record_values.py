"""Values of the records in answers of brokers as columns, without an object for each record.

A compiled scan reads whole batches of today's format. Whatever it is not sure of (damage, the old format, header names
beyond ASCII) is read by ``RecordBatches``, record by record, so that what is lost is the same.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from aiokafka import TopicPartition
from numpy.typing import NDArray

from bus.kafka import scan_batches as scan
from bus.kafka.record_batches import UNPACKED_BYTES_MAX, Damaged, RecordBatches
from bus.kafka.unpacking import unpack
from bus.kafka.whole_answers import Answer
from common.errors import BadInput

_PART_BYTES = 4 << 20
_CODEC = 0x07  # of the attributes


@dataclass(frozen=True, slots=True)
class Values:
    """Some values in the order of their records.

    data: one after the other; ends: int64[values], where each ends in it. A record without a value has an empty one.
    received: records, those without use included. size: bytes of their values, of which ``too_large`` records had too
    many. damaged: records that cannot be read; they count as received.
    """

    data: bytes
    ends: NDArray[np.int64]
    received: int
    size: int
    too_large: int
    damaged: Sequence[tuple[TopicPartition, Damaged]]


class ValueReader:
    """Reads answers. bytes_max: of one value. Not shared between threads."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._totals = np.zeros(scan.TOTALS, np.int64)
        self._damaged: list[tuple[TopicPartition, Damaged]] = []
        self._begin(_PART_BYTES)

    def read(self, answers: Sequence[Answer]) -> Iterator[Values]:
        """All their values, some 4 MiB at a time, or as much as one batch unpacks to."""
        for answer in answers:
            yield from self._read(answer)
        yield self._taken()

    def _begin(self, size: int) -> None:
        """With room for what a batch of ``size`` bytes holds."""
        self._out, self._n = np.empty(size, np.uint8), 0
        self._ends = np.empty(size // scan.RECORD_BYTES_MIN + 1, np.int64)

    def _taken(self) -> Values:
        ends, damaged = self._ends[: self._n].copy(), self._damaged
        received, size, too_large = self._totals.tolist()
        lost = sum(each.offset - each.first + 1 for _, each in damaged)
        self._totals[:] = 0
        self._n, self._damaged = 0, []
        data = self._out[: ends[-1] if ends.size else 0].tobytes()
        if self._out.size > _PART_BYTES:
            self._begin(_PART_BYTES)
        return Values(data, ends, received + lost, size, too_large, damaged)

    def _read(self, answer: Answer) -> Iterator[Values]:
        """Reads all of an answer; yields what is there whenever there is no room for more."""
        buf, at = np.frombuffer(answer.data, np.uint8), 0
        while True:
            room = answer.first, self._bytes_max, self._out, self._ends, self._n, self._totals
            self._n, at, why = scan.scan_batches(buf, at, *room)
            if why == scan.DONE:
                return
            end = scan.batch_end(buf, at)
            if why == scan.FULL:
                yield from self._make_room(end - at)
                continue
            batch = answer.data[at:end]
            unpacked = _unpacked(batch) if why == scan.PACKED else None
            if unpacked is None or not (yield from self._scan(batch, unpacked, answer.first)):
                yield from self._read_plainly(answer, batch)
            at = end

    def _make_room(self, size: int) -> Iterator[Values]:
        if self._n:
            yield self._taken()
        self._begin(max(size, _PART_BYTES))

    def _has_room(self, size: int) -> bool:
        used = int(self._ends[self._n - 1]) if self._n else 0
        return size <= self._out.size - used and size // scan.RECORD_BYTES_MIN < self._ends.size - self._n

    def _scan(self, batch: bytes, records: bytes, first: int) -> Generator[Values, None, bool]:
        """Reads the records of a batch that was compressed; False where not all is right."""
        if not self._has_room(len(records)):
            yield from self._make_room(len(records))
        header, buf = np.frombuffer(batch, np.uint8), np.frombuffer(records, np.uint8)
        room = first, self._bytes_max, self._out, self._ends, self._n, self._totals
        n = scan.scan_records(buf, header, 0, 0, buf.size, *room)
        self._n = max(n, self._n)
        return n >= 0

    def _read_plainly(self, answer: Answer, batch: bytes) -> Iterator[Values]:
        """Reads a batch record by record. An offset that is too large loses nothing, as aiokafka's own reader would."""
        read = RecordBatches(batch).next_batch()
        for record in read:
            if record.offset < answer.first:
                continue
            if isinstance(record, Damaged):
                first = max(record.first, answer.first)
                last = max(first, min(record.offset, answer.following - 1))
                self._damaged.append((answer.tp, Damaged(first, last, record.reason)))
            elif not read.is_control_batch:
                yield from self._put(record.value or b"")

    def _put(self, value: bytes) -> Iterator[Values]:
        self._totals[scan.RECEIVED] += 1
        self._totals[scan.SIZE] += len(value)
        if len(value) > self._bytes_max:
            self._totals[scan.TOO_LARGE] += 1
            return
        if not self._has_room(len(value)):
            yield from self._make_room(len(value))
        begin = int(self._ends[self._n - 1]) if self._n else 0
        self._out[begin : begin + len(value)] = np.frombuffer(value, np.uint8)
        self._ends[self._n] = begin + len(value)
        self._n += 1


def _unpacked(batch: bytes) -> bytes | None:
    """The records of a compressed batch; None when they cannot be unpacked."""
    try:
        return unpack(batch[scan.ATTRIBUTES_AT + 1] & _CODEC, batch[scan.HEADER_BYTES :], UNPACKED_BYTES_MAX)
    except BadInput:
        return None
