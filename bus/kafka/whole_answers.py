"""What a broker answers of a partition as it came, from an aiokafka consumer that asks for it so.

aiokafka makes an object for each record. A consumer whose ``value_deserializer`` is ``as_answered`` polls one
``Answer`` for each partition in place of its records; positions, groups and errors are aiokafka's own as before.
``record_values`` reads it.
"""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from aiokafka import TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.consumer.fetcher import READ_UNCOMMITTED

from bus.kafka.record_batches import RecordBatches, use_in_aiokafka
from bus.kafka.scan_batches import following_offset

_PARAMETERS = [
    "self",
    "tp",
    "records",
    "aborted_transactions",
    "fetch_offset",
    "key_deserializer",
    "value_deserializer",
    "check_crcs",
    "isolation_level",
]
_original = fetcher.PartitionRecords


@dataclass(frozen=True, slots=True)
class Answer:
    """Record batches of one partition. first: the offset that was asked for, maybe within the first batch.

    following: the offset behind the last whole batch.
    """

    tp: TopicPartition
    first: int
    following: int
    data: bytes


def as_answered(value: bytes) -> bytes:
    """Says that a consumer polls answers: no value ever reaches it."""
    return value


class _OneAnswer:
    """In place of aiokafka's ``PartitionRecords``: iterates over all of an answer at once."""

    def __init__(self, tp: TopicPartition, records: RecordBatches, first: int) -> None:
        self.next_fetch_offset = first
        self._answers = self._all(tp, records, first)

    def __iter__(self) -> "Iterator[Answer]":
        return self._answers

    def __next__(self) -> Answer:
        return next(self._answers)

    def _all(self, tp: TopicPartition, records: RecordBatches, first: int) -> Iterator[Answer]:
        self.next_fetch_offset = following_offset(np.frombuffer(records.data, np.uint8), first)
        yield Answer(tp, first, self.next_fetch_offset, records.data)


def _partition_records(  # as aiokafka calls it
    tp: TopicPartition,
    records: Any,
    aborted_transactions: Any,
    fetch_offset: int,
    key_deserializer: Any,
    value_deserializer: Any,
    check_crcs: bool,
    isolation_level: int,
) -> Any:
    if value_deserializer is as_answered:
        assert isolation_level == READ_UNCOMMITTED, "aborted transactions are not left out"
        return _OneAnswer(tp, records, fetch_offset)
    return _original(
        tp,
        records,
        aborted_transactions,
        fetch_offset,
        key_deserializer,
        value_deserializer,
        check_crcs,
        isolation_level,
    )


def give_answers() -> None:
    """From here on consumers of this process can poll answers; idempotent. AssertionError when aiokafka has changed."""
    use_in_aiokafka()
    assert "PartitionRecords" in fetcher.Fetcher._proc_fetch_request.__code__.co_names, "aiokafka: iterates over what?"
    assert list(inspect.signature(_original.__init__).parameters) == _PARAMETERS, "aiokafka: other PartitionRecords"
    fetcher.PartitionRecords = _partition_records
