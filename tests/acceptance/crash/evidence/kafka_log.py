"""The records that a Kafka broker has on its disk: its segment files, by no client at all.

The format is Kafka's record batch, magic 2 (https://kafka.apache.org/documentation/#recordbatch). Nothing here
compresses, and there are no transactions.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

from tests.acceptance.crash.evidence.records import RawRecord

_BATCH = struct.Struct(">qiibIhiqqqhii")  # offset, length, epoch, magic, crc, attributes, …, number of records
_CODEC, _CONTROL = 0x07, 0x20


def read_kafka_log(data: Path) -> list[RawRecord]:
    """All records of the topics of Fabricscope, in the order of each partition. data: the broker's ``log.dirs``."""
    found = []
    for folder in sorted(data.glob("fabricscope.*-*")):
        topic, _, partition = folder.name.rpartition("-")
        if not partition.isdecimal():
            continue  # a topic on its way to be deleted
        for segment in sorted(folder.glob("*.log")):
            found += [RawRecord(topic, int(partition), *record) for record in _records(segment.read_bytes())]
    return found


def _records(data: bytes) -> Iterator[tuple[bytes, bytes | None, dict[str, bytes]]]:
    at = 0
    while at + _BATCH.size <= len(data):
        _, length, _, magic, _, attributes, *_, count = _BATCH.unpack_from(data, at)
        if at + 12 + length > len(data):
            return  # the broker is still writing it
        assert magic == 2, f"magic {magic}"
        assert not attributes & (_CODEC | _CONTROL), f"attributes {attributes:#x}"
        reader = _Reader(data, at + _BATCH.size)
        for _ in range(count):
            yield reader.record()
        at += 12 + length


class _Reader:
    """Reads on from ``at``."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at

    def record(self) -> tuple[bytes, bytes | None, dict[str, bytes]]:
        end = self._number() + self._at
        self._at += 1  # attributes
        self._number(), self._number()  # time and offset, from those of the batch
        key, value = self._bytes(), self._bytes()
        headers = {(self._bytes() or b"").decode(): self._bytes() or b"" for _ in range(self._number())}
        assert self._at == end, f"a record ends at {self._at}, expected {end}"
        return key or b"", value, headers

    def _number(self) -> int:
        """A zigzag varint."""
        shift = found = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                return found >> 1 ^ -(found & 1)
            shift += 7

    def _bytes(self) -> bytes | None:
        length = self._number()
        if length < 0:
            return None
        self._at += length
        return self._data[self._at - length : self._at]
