"""Answers of Kafka with fitting sums and without: the compiled scan finds what is read record by record."""

import gzip
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import zstandard
from aiokafka import TopicPartition
from aiokafka.errors import CorruptRecordException

from bus.base import Message
from bus.kafka.record_batches import CHECKSUM, Damaged, RecordBatches
from bus.kafka.record_values import ValueReader
from bus.kafka.scan_batches import MAGIC, MAGIC_AT, batch_end, following_offset
from bus.kafka.unpacking import GZIP, ZSTD
from bus.kafka.whole_answers import Answer
from tests.record_batches import HEADER_BYTES, batch_of, compressed, with_sums

_FIRST, _BYTES_MAX = 6, 50
_SENT = [Message(b"k", b"v" * 20, {"table": b"digest"}), Message(b"k", None), Message(b"", b"w" * 60)]
_PLAIN = batch_of(_SENT, first=5)
SEEDS = (
    b"\0" + _PLAIN,
    b"\1" + _PLAIN + batch_of(_SENT, first=8),
    b"\0" + compressed(_PLAIN, GZIP, gzip.compress(_PLAIN[HEADER_BYTES:], mtime=0)),
    b"\0" + compressed(_PLAIN, ZSTD, zstandard.compress(_PLAIN[HEADER_BYTES:])),
)
_TP = TopicPartition("t", 0)


def target(data: bytes) -> None:
    """The first byte is odd for an answer as it is, even for one batch whose sums are put right."""
    has_sums, content = bool(data and data[0] & 1), data[1:]
    if not has_sums and len(content) >= HEADER_BYTES:
        content = with_sums(content)
    following = following_offset(np.frombuffer(content, np.uint8), _FIRST)
    parts = list(ValueReader(_BYTES_MAX).read([Answer(_TP, _FIRST, following, content)]))
    values: list[bytes] = []
    for part in parts:
        values += [part.data[begin:end] for begin, end in itertools.pairwise((0, *part.ends.tolist()))]
        assert part.received >= len(part.damaged) + part.ends.size
    read = list(_by_record(content))
    plain = [record.value or b"" for record in read if not isinstance(record, Damaged)]
    assert values == [value for value in plain if len(value) <= _BYTES_MAX]
    assert sum(part.too_large for part in parts) == len(plain) - len(values)
    assert sum(len(part.damaged) for part in parts) == len(read) - len(plain)


def _by_record(content: bytes) -> Iterator[Any]:
    batches, begin = RecordBatches(content), 0
    while True:
        try:
            if not batches.has_next():
                return
        except CorruptRecordException:  # a negative length, behind which nothing is found
            return
        batch = batches.next_batch()
        for record in batch:
            if record.offset >= _FIRST and not (batch.is_control_batch and _is_left_out(record, content[begin:])):
                yield record
        begin = batch_end(np.frombuffer(content, np.uint8), begin)


def _is_left_out(record: Any, batch: bytes) -> bool:
    """Of a control batch: what can be read, and all of it where the format is today's and the sum is right."""
    if not isinstance(record, Damaged):
        return True
    return batch[MAGIC_AT] == MAGIC and record.reason != CHECKSUM
