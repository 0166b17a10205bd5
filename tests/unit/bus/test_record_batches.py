"""Batches as a broker sends them: whole, cut off, compressed, and with every kind of damage."""

import gzip
import struct
import zlib
from typing import Any

import cramjam
import pytest
import zstandard
from aiokafka.codec import gzip_encode, lz4_encode, snappy_encode, zstd_encode
from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException
from aiokafka.record import MemoryRecords
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as st

from bus.base import Message
from bus.kafka.record_batches import Damaged, RecordBatches, use_in_aiokafka
from bus.kafka.unpacking import GZIP, LZ4, SNAPPY, ZSTD, unpack
from common.errors import BadInput
from tests.record_batches import HEADER_BYTES, batch_of, compressed, with_sums

MESSAGES = [Message(f"key{i}".encode(), b"value" * i, {"name": b"x"} if i % 2 else {}) for i in range(5)]
BATCH = batch_of(MESSAGES, first=100)
COUNT_AT = 57
Read = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]


def read(data: bytes) -> list[Read | Damaged]:
    """What the fetcher of aiokafka would see."""
    found: list[Read | Damaged] = []
    batches = RecordBatches(data)
    while batches.has_next():
        batch = batches.next_batch()
        assert batch.validate_crc()
        for record in batch:
            damaged = isinstance(record.checksum, Damaged)
            found.append(record.checksum if damaged else _contents(record))
    return found


def _contents(record: Any) -> Read:
    return record.offset, record.key, record.value, record.headers


WHOLE: list[Read] = [_contents(record) for record in MemoryRecords(BATCH).next_batch()]


def test_aiokafka_reads_with_it():
    use_in_aiokafka()
    assert fetcher.MemoryRecords is RecordBatches


def test_an_aiokafka_that_reads_with_something_else_is_noticed(monkeypatch):
    async def other(self, response):
        return []

    monkeypatch.setattr(fetcher.Fetcher, "_proc_fetch_request", other)
    with pytest.raises(AssertionError, match="aiokafka"):
        use_in_aiokafka()


def test_whole_batches_give_their_records_and_the_rest_of_the_last_one_is_left():
    assert [offset for offset, *_ in WHOLE] == [100, 101, 102, 103, 104]
    second = batch_of(MESSAGES[:1], first=105)
    assert read(BATCH + second) == [*WHOLE, (105, b"key0", b"", [])]
    for cut in (1, 11, 12, 40, len(second) - 1):
        batches = RecordBatches(BATCH + second[:cut])
        assert batches.size_in_bytes() == len(BATCH) + cut
        assert read(BATCH + second[:cut]) == WHOLE
    assert not RecordBatches(b"").has_next()


def test_a_batch_knows_what_the_fetcher_asks_of_it():
    batch: Any = RecordBatches(BATCH).next_batch()
    original: Any = MemoryRecords(BATCH).next_batch()
    for name in ("producer_id", "is_control_batch", "is_transactional", "base_offset", "next_offset"):
        assert getattr(batch, name) == getattr(original, name)


@pytest.mark.parametrize(
    ("codec", "encode"), [(GZIP, gzip_encode), (SNAPPY, snappy_encode), (LZ4, lz4_encode), (ZSTD, zstd_encode)]
)
def test_every_codec_is_read(codec, encode):
    assert read(compressed(BATCH, codec, encode(BATCH[HEADER_BYTES:]))) == WHOLE


def test_a_record_that_cannot_be_read_is_alone_in_its_damage():
    bad = with_sums(BATCH.replace(b"name", b"\xff\xfeme", 1))
    assert read(bad) == [WHOLE[0], Damaged(101, 101, "record"), *WHOLE[2:]]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda batch: batch[:-1] + b"!", "checksum"),
        (lambda batch: compressed(batch, 5, b"?"), "compression"),
        (lambda batch: compressed(batch, ZSTD, b"?"), "compression"),
        (lambda batch: compressed(batch, ZSTD, zstandard.compress(bytes((64 << 20) + 1))), "too_large"),
        (lambda batch: compressed(batch, LZ4, b""), "compression"),
    ],
)
def test_a_batch_that_cannot_be_unpacked_is_lost_as_a_whole(damage, reason):
    assert read(damage(BATCH) + batch_of(MESSAGES[:1], first=105)) == [
        Damaged(100, 104, reason),
        (105, b"key0", b"", []),
    ]


def test_what_is_behind_a_record_without_an_end_is_lost():
    third = BATCH.index(b"key2") - 5  # its length, attributes, time, offset, and the length of the key
    wild = with_sums(BATCH[:third] + b"\xff" * (len(BATCH) - third))
    assert read(wild) == [*WHOLE[:2], Damaged(102, 104, "record")]


def test_a_number_of_records_that_is_too_large_loses_nothing():
    more = bytearray(BATCH)
    struct.pack_into(">i", more, COUNT_AT, 1 << 30)
    assert read(with_sums(bytes(more))) == WHOLE


def test_a_number_of_records_that_is_too_small_loses_the_others():
    fewer = bytearray(BATCH)
    struct.pack_into(">i", fewer, COUNT_AT, 3)
    assert read(with_sums(bytes(fewer))) == [*WHOLE[:3], Damaged(103, 104, "record")]


def test_nothing_is_read_from_behind_a_batch():
    header = BATCH[:HEADER_BYTES]
    for end in (b"\x02\x00", b"\x04\x00\x80", b"\x0a\x00\x00\x00\x01", b"\x0c\x00\x00\x00\x01\x00", b"\x80"):
        assert read(with_sums(header + end)) == [Damaged(100, 104, "record")]


def test_a_record_that_goes_on_behind_its_batch_is_lost_once():
    for cut in (1, 2):
        assert read(with_sums(BATCH[:-cut])) == [*WHOLE[:4], Damaged(104, 104, "record")]


@pytest.mark.parametrize("magic", [3, 12, 128, 255])
def test_a_batch_of_an_unknown_format_is_damaged(magic):
    other = BATCH[:16] + bytes([magic]) + BATCH[17:]
    assert read(with_sums(other)) == [Damaged(100, 100, "record")]


def test_a_batch_that_ends_in_its_header_is_damaged():
    for size in range(26, HEADER_BYTES):
        assert read(with_sums(BATCH[:size])) == [Damaged(100, 100, "record")]


def test_an_old_record_without_the_length_of_its_value_is_damaged():
    builder = LegacyRecordBatchBuilder(magic=0, compression_type=0, batch_size=1 << 20)
    builder.append(7, timestamp=1000, key=b"key4", value=b"v")
    old = bytearray(bytes(builder.build())[:-5])
    struct.pack_into(">i", old, 8, len(old) - 12)
    struct.pack_into(">I", old, 12, zlib.crc32(bytes(old[16:])))
    assert read(bytes(old)) == [Damaged(7, 7, "record")]


def test_a_batch_with_a_negative_length_is_no_batch():
    with pytest.raises(CorruptRecordException):
        read(struct.pack(">qi", 0, -13) + bytes(100))


@given(st.integers(HEADER_BYTES, len(BATCH) - 1), st.integers(0, 255))
def test_any_byte_of_the_records_may_be_anything(at, byte):
    found = read(with_sums(BATCH[:at] + bytes([byte]) + BATCH[at + 1 :]))
    assert found
    assert all(isinstance(each, Damaged) or each[0] >= 0 for each in found)


@pytest.mark.parametrize(("codec", "offsets"), [(0, [0, 1]), (GZIP, [Damaged(0, 0, "record")])])
def test_the_old_format_is_read_where_it_is_not_compressed(codec, offsets):
    builder = LegacyRecordBatchBuilder(magic=1, compression_type=codec, batch_size=1 << 20)
    for i in range(2):
        builder.append(i, timestamp=1000, key=b"k", value=b"v")
    assert [each if isinstance(each, Damaged) else each[0] for each in read(bytes(builder.build()))] == offsets


ZEROS = bytes(1000)


@pytest.mark.parametrize(
    ("codec", "packed"),
    [
        (GZIP, gzip.compress(ZEROS, mtime=0)),
        (SNAPPY, bytes(cramjam.snappy.compress_raw(ZEROS))),
        (SNAPPY, snappy_encode(ZEROS, xerial_blocksize=300)),
        (LZ4, lz4_encode(ZEROS)),
        (ZSTD, zstandard.compress(ZEROS)),
        (ZSTD, zstandard.compress(ZEROS[:500]) + zstandard.compress(ZEROS[500:])),
    ],
)
def test_unpacks_up_to_the_bound_and_no_further(codec, packed):
    assert unpack(codec, packed, 1000) == ZEROS
    with pytest.raises(BadInput) as refused:
        unpack(codec, packed, 999)
    assert refused.value.reason == "too_large"


@pytest.mark.parametrize(
    ("codec", "packed"),
    [
        (GZIP, gzip.compress(ZEROS, mtime=0)[:-9]),
        (GZIP, b"no gzip"),
        (GZIP, gzip.compress(ZEROS, mtime=0) + gzip.compress(b"", mtime=0)),
        (SNAPPY, b"\xff" * 20),
        (SNAPPY, b"\x82SNAPPY\x00" + bytes(8) + struct.pack(">i", -4)),
        (SNAPPY, b"\x82SNAPPY\x00" + bytes(8) + b"\x01"),
        (LZ4, lz4_encode(ZEROS)[:-9]),
        (LZ4, b"no lz4"),
        (ZSTD, b"no zstd"),
        (7, b""),
    ],
)
def test_what_is_damaged_has_a_reason(codec, packed):
    with pytest.raises(BadInput) as refused:
        unpack(codec, packed, 1000)
    assert refused.value.reason == "compression"
