"""Record batches as a broker sends them: one that cannot be read costs its own records and no others.

aiokafka raises an error for the whole fetch, and for ever, when one record has a header name that is not UTF-8 or one
batch a wrong checksum, and unpacks a compressed batch to any size. Its fetcher reads with ``RecordBatches`` instead,
which stands for what cannot be read with ``Damaged``, among the records and in their order. aiokafka still parses the
batches and records themselves.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException
from aiokafka.record import MemoryRecords
from aiokafka.record.util import decode_varint

from bus.kafka.unpacking import unpack
from common.errors import BadInput

UNPACKED_BYTES_MAX = 64 * 1024 * 1024
"""What a compressed batch may unpack to. Our own producers send at most 5 MB, and nothing compressed."""

CHECKSUM, RECORD = "checksum", "record"

# Layout of a batch: https://kafka.apache.org/documentation/#recordbatch
_HEAD = struct.Struct(">qi")  # offset of the first record, bytes of the batch behind this
_HEADER_BYTES = 61
_MAGIC_AT, _OLD_ATTRIBUTES_AT, _ATTRIBUTES_AT, _COUNT_AT = 16, 17, 22, 57
_MAGIC, _CODEC = 2, 0x07
_BEHIND = b"\xfe" * 64
"""Kept behind a batch: aiokafka reads numbers past its end, and none of those that begin or go on here is valid."""


@dataclass(frozen=True, slots=True)
class Damaged:
    """Records ``first``..``offset`` cannot be read. To aiokafka it is a record with that offset and no contents."""

    first: int
    offset: int
    reason: str
    key = value = None
    headers = ()
    timestamp = timestamp_type = 0

    @property
    def checksum(self) -> "Damaged":
        """How it reaches the consumer: nothing else uses this field of a record."""
        return self


class RecordBatches:
    """The batches of one partition in one answer, like ``aiokafka.record.MemoryRecords``."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def data(self) -> bytes:
        return self._data

    def size_in_bytes(self) -> int:
        return len(self._data)

    def has_next(self) -> bool:
        return self._end() <= len(self._data)  # a broker cuts off the last one where the answer is full

    def next_batch(self) -> "_Batch | _Unreadable":
        begin, self._at = self._at, self._end()
        data = self._data[begin : self._at]
        try:
            return _Batch(data)
        except Exception:  # whatever aiokafka raises for a head that breaks the format
            return _Unreadable(data)

    def _end(self) -> int:
        """Where the next batch ends; behind the data when there is no whole one."""
        if len(self._data) - self._at < _HEAD.size:
            return len(self._data) + 1
        length = _HEAD.unpack_from(self._data, self._at)[1]
        if length < 0:
            raise CorruptRecordException(f"batch of {length} bytes")
        return self._at + _HEAD.size + int(length)


class _Unreadable:
    """Stands for a batch of which not even the head can be read: nobody knows how many records it had."""

    producer_id = -1
    is_control_batch = is_transactional = False

    def __init__(self, data: bytes) -> None:
        self.base_offset: int = _HEAD.unpack_from(data)[0]
        self.next_offset = self.base_offset + 1

    def validate_crc(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Damaged]:
        yield Damaged(self.base_offset, self.base_offset, RECORD)


class _Batch:
    """One batch, with what aiokafka's fetcher asks of it."""

    def __init__(self, data: bytes) -> None:
        if data[_MAGIC_AT] > _MAGIC or (data[_MAGIC_AT] == _MAGIC and len(data) < _HEADER_BYTES):
            raise BadInput("batch of another format", RECORD)
        self._data = data
        self._batch = _parsed(data)
        self.producer_id = self._batch.producer_id
        self.is_control_batch: bool = self._batch.is_control_batch
        self.is_transactional: bool = self._batch.is_transactional
        self.base_offset: int = _HEAD.unpack_from(data)[0]
        self.next_offset: int = self._batch.next_offset

    def validate_crc(self) -> bool:
        """What is wrong is found while reading: here it would be an error for ever."""
        return True

    def __iter__(self) -> Iterator[Any]:
        try:
            data = self._checked_and_unpacked()
        except BadInput as error:
            yield Damaged(self.base_offset, self.next_offset - 1, error.reason)
            return
        batch, read = self._batch if data is self._data else _parsed(data), 0
        try:
            for record in batch:
                yield record
                read += 1
        except Exception:  # whatever aiokafka raises for a record that breaks the format
            if data[_MAGIC_AT] < _MAGIC:
                yield Damaged(self.base_offset, self.next_offset - 1, RECORD)
            else:
                yield from self._one_by_one(data, read)

    def _checked_and_unpacked(self) -> bytes:
        """The batch without compression. BadInput when all of it is lost."""
        data = self._data
        if not self._batch.validate_crc():
            raise BadInput("batch with a wrong checksum", CHECKSUM)
        if data[_MAGIC_AT] < _MAGIC:  # which brokers have not stored since Kafka 3.0
            if data[_OLD_ATTRIBUTES_AT] & _CODEC:
                raise BadInput("compressed batch of the old format", RECORD)
            return data
        codec = data[_ATTRIBUTES_AT] & _CODEC
        if codec == 0:
            return data
        plain = bytearray(data[:_HEADER_BYTES])
        plain[_ATTRIBUTES_AT] &= ~_CODEC
        plain += unpack(codec, data[_HEADER_BYTES:], UNPACKED_BYTES_MAX)
        return _with_length(plain)

    def _one_by_one(self, data: bytes, skip: int) -> Iterator[Any]:
        """The records behind the first ``skip``, each in a batch of its own, which aiokafka either reads or not."""
        following, at = self.base_offset, _HEADER_BYTES
        records = bytearray(data + _BEHIND)  # which is what aiokafka's decode_varint takes
        try:
            (count,) = struct.unpack_from(">i", data, _COUNT_AT)
            for i in range(count):
                length, begin = decode_varint(records, at)
                if length <= 0 or begin + length > len(data):
                    break
                following = self.base_offset + _offset_delta(records, begin) + 1
                if i >= skip:
                    yield self._read_alone(data, at, begin + length) or Damaged(following - 1, following - 1, RECORD)
                at = begin + length
        except (IndexError, ValueError, struct.error):  # a number that does not end: nothing behind it can be found
            pass
        if following < self.next_offset:
            yield Damaged(following, self.next_offset - 1, RECORD)

    def _read_alone(self, data: bytes, begin: int, end: int) -> Any | None:
        """The record at ``begin``..``end``; None when aiokafka cannot read it."""
        alone = bytearray(data[:_HEADER_BYTES])
        struct.pack_into(">i", alone, _COUNT_AT, 1)
        alone += data[begin:end]
        try:
            return next(iter(_parsed(_with_length(alone))))
        except Exception:
            return None


def _parsed(batch: bytes) -> Any:
    """aiokafka's reader of the batch."""
    return MemoryRecords(batch + _BEHIND).next_batch()


def _with_length(batch: bytearray) -> bytes:
    struct.pack_into(">i", batch, 8, len(batch) - _HEAD.size)
    return bytes(batch)


def _offset_delta(records: bytearray, begin: int) -> int:
    """Attributes, difference of time, then this."""
    _, at = decode_varint(records, begin + 1)
    return int(decode_varint(records, at)[0])


def use_in_aiokafka() -> None:
    """From here on every consumer of this process reads so; idempotent. AssertionError when aiokafka has changed."""
    assert "MemoryRecords" in fetcher.Fetcher._proc_fetch_request.__code__.co_names, "aiokafka: read with what?"
    fetcher.MemoryRecords = RecordBatches
