"""Answers of brokers as columns: what aiokafka reads of them record by record, and what neither of them can read."""

import struct
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import zstandard
from aiokafka import TopicPartition
from aiokafka.codec import gzip_encode, lz4_encode, snappy_encode, zstd_encode
from aiokafka.consumer import fetcher
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from aiokafka.record.util import calc_crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from bus.base import Message
from bus.kafka import scan_batches
from bus.kafka.record_batches import UNPACKED_BYTES_MAX, Damaged, RecordBatches
from bus.kafka.record_values import ValueReader, Values
from bus.kafka.unpacking import GZIP, LZ4, SNAPPY, ZSTD
from bus.kafka.whole_answers import Answer, as_answered, give_answers
from common.wire.crc32c import crc32c
from tests.memory import grows_by_less_than
from tests.record_batches import HEADER_BYTES, batch_of, compressed, with_sums

TP = TopicPartition("t", 3)
BYTES_MAX = 1000
CODECS: dict[int, Callable[[bytes], bytes]] = {
    0: bytes,
    GZIP: gzip_encode,
    SNAPPY: snappy_encode,
    LZ4: lz4_encode,
    ZSTD: zstd_encode,
}
ATTRIBUTES_AT, LAST_AT, COUNT_AT = 22, 23, 57
CONTROL = 0x20
Found = tuple[list[bytes], int, int, int, list[Damaged]]


@pytest.fixture(scope="module", autouse=True)
def _answers() -> None:
    give_answers()


def answer_of(data: bytes, first: int = 0) -> Answer:
    """As a consumer polls it."""
    answers = fetcher.PartitionRecords(TP, RecordBatches(data), [], first, None, as_answered, True, 0)
    answer: Answer = next(answers)
    return answer


def all_of(data: bytes, first: int = 0) -> Found:
    return together(list(ValueReader(BYTES_MAX).read([answer_of(data, first)])))


def together(parts: list[Values]) -> Found:
    values = []
    for part in parts:
        values += [part.data[begin:end] for begin, end in pairwise([0, *part.ends.tolist()])]
    damaged = [lost for part in parts for tp, lost in part.damaged if tp == TP]
    received, size, too_large = (
        sum(getattr(part, name) for part in parts) for name in ("received", "size", "too_large")
    )
    return values, received, size, too_large, damaged


def by_aiokafka(data: bytes, first: int = 0) -> Found:
    """What the consumer of an aiokafka gives, record by record."""
    return counted(fetcher.PartitionRecords(TP, RecordBatches(data), [], first, None, None, True, 0), first)


def by_record(data: bytes, first: int = 0) -> Found:
    """The records of one batch, those included that aiokafka leaves out behind one whose offset is too large."""
    records = RecordBatches(data).next_batch()
    return counted((record for record in records if record.offset >= first), first, answer_of(data).following - 1)


def counted(records: Iterable[Any], first: int, last: int = 2**63) -> Found:
    values: list[bytes] = []
    received = size = too_large = 0
    damaged: list[Damaged] = []
    for record in records:
        lost = record.checksum
        if isinstance(lost, Damaged):
            begin = max(first, lost.first)
            damaged.append(Damaged(begin, max(begin, min(lost.offset, last)), lost.reason))
            received += damaged[-1].offset - begin + 1
            continue
        value = record.value or b""
        received, size, too_large = received + 1, size + len(value), too_large + (len(value) > BYTES_MAX)
        values += [value] if len(value) <= BYTES_MAX else []
    return values, received, size, too_large, damaged


def with_control(batch: bytes) -> bytes:
    changed = bytearray(batch)
    changed[ATTRIBUTES_AT] |= CONTROL
    return with_sums(bytes(changed))


def with_offsets(batch: bytes, last: int) -> bytes:
    """As if the records behind were compacted away."""
    changed = bytearray(batch)
    struct.pack_into(">i", changed, LAST_AT, last)
    return with_sums(bytes(changed))


def packed(batch: bytes, codec: int) -> bytes:
    return compressed(batch, codec, CODECS[codec](batch[HEADER_BYTES:])) if codec else batch


MESSAGES = [Message(f"key{i}".encode(), b"value" * i, {"name": b"x"} if i % 2 else {}) for i in range(5)]
BATCH = batch_of(MESSAGES, first=100)

texts = st.text(max_size=3) | st.just("name")
messages = st.builds(
    Message,
    st.none() | st.binary(max_size=70),
    st.none() | st.binary(max_size=200) | st.just(b"v" * (BYTES_MAX + 1)),
    st.dictionaries(texts, st.none() | st.binary(max_size=3), max_size=3),
)
batches = st.tuples(st.lists(messages, min_size=1, max_size=10), st.sampled_from(sorted(CODECS)), st.integers(0, 2))


@settings(deadline=None)
@given(st.lists(batches, min_size=1, max_size=4), st.integers(0, 20), st.integers(0, 100))
def test_any_batches_are_read_as_by_aiokafka(made: list[tuple[list[Message], int, int]], before: int, cut: int) -> None:
    """Of each codec, with holes between them; the first begins before the offset asked for, and the last is cut off."""
    data, following = b"", 7
    for sent, codec, hole in made:
        whole = batch_of(sent, first=following)
        data += packed(with_offsets(whole, len(sent) - 1 + hole), codec)
        following += len(sent) + hole
    data += BATCH[:cut]
    first = 7 + min(before, len(made[0][0]) + made[0][2] - 1)
    assert all_of(data, first) == by_aiokafka(data, first)
    assert answer_of(data, first).following == following


@settings(deadline=None)
@given(st.sampled_from(sorted(CODECS)), st.data())
def test_any_bytes_with_the_right_sum_are_read_as_by_aiokafka(codec: int, data: Any) -> None:
    records = bytearray(BATCH[HEADER_BYTES:])
    for _ in range(data.draw(st.integers(1, 4))):
        records[data.draw(st.integers(0, len(records) - 1))] = data.draw(st.integers(0, 255))
    changed = packed(with_sums(BATCH[:HEADER_BYTES] + bytes(records)), codec)
    assert all_of(changed, 101) == by_record(changed, 101)


@given(st.integers(16, HEADER_BYTES - 1), st.integers(0, 255))
def test_any_header_with_the_right_sum_loses_nothing_uncounted(at: int, byte: int) -> None:
    """But for control batches, whose records are no messages."""
    changed = with_sums(BATCH[:at] + bytes([byte]) + BATCH[at + 1 :])
    values, received, _, _, damaged = all_of(changed)
    if not changed[ATTRIBUTES_AT] & CONTROL:
        assert len(values) + sum(lost.offset - lost.first + 1 for lost in damaged) == received >= 1
    assert answer_of(changed).following > 100


@given(st.binary(max_size=300))
def test_the_checksum_is_that_of_aiokafka(data: bytes) -> None:
    assert crc32c(np.frombuffer(data, np.uint8), 0, len(data)) == calc_crc32c(data)


def test_several_partitions_are_read_in_their_order() -> None:
    other = Answer(TopicPartition("t", 4), 0, 105, BATCH)
    (part,) = ValueReader(BYTES_MAX).read([answer_of(BATCH, 103), other, answer_of(BATCH, 104)])
    assert part.ends.size == part.received == 2 + 5 + 1


def test_what_waits_is_given_in_parts() -> None:
    """Two batches of 3 MiB do not fit into one part, and one of 5 MiB is a part of its own."""
    large = [batch_of([Message(b"k", b"x" * (mib << 20))], first=n) for n, mib in enumerate((3, 3, 5, 1))]
    parts = list(ValueReader(8 << 20).read([answer_of(b"".join(large))]))
    assert [len(part.data) >> 20 for part in parts] == [3, 3, 5, 1]
    zipped = [packed(batch, ZSTD) for batch in large]
    again = ValueReader(8 << 20)
    for _ in range(2):
        assert [part.data for part in again.read([answer_of(b"".join(zipped))])] == [part.data for part in parts]


def test_a_wrong_checksum_is_counted_and_the_rest_read() -> None:
    for bad in (BATCH[:-1] + b"!", with_control(BATCH)[:-1] + b"!"):
        values, received, *_, damaged = all_of(bad + batch_of(MESSAGES[:2], first=105), first=102)
        assert (values, received) == ([b"", b"value"], 5)
        assert damaged == [Damaged(102, 104, "checksum")]


def test_a_damaged_length_hides_no_other_batch() -> None:
    bad = bytearray(BATCH)
    struct.pack_into(">i", bad, LAST_AT, 1 << 30)
    data = bytes(bad) + batch_of(MESSAGES[:2], first=105)
    assert answer_of(data).following == 107
    assert all_of(data)[0] == [b"", b"value"]


def test_records_of_control_batches_are_no_messages() -> None:
    data = with_control(BATCH) + batch_of(MESSAGES[:2], first=105) + with_control(batch_of(MESSAGES[:1], first=107))
    assert all_of(data)[:2] == ([b"", b"value"], 2)
    assert answer_of(data).following == 108


def test_an_empty_batch_moves_on() -> None:
    """What compaction leaves of a producer's last batch."""
    empty = bytearray(BATCH[:HEADER_BYTES])
    struct.pack_into(">i", empty, COUNT_AT, 0)
    data = with_sums(bytes(empty))
    assert all_of(data) == ([], 0, 0, 0, [])
    assert answer_of(data).following == 105


def test_the_old_format_is_read_too() -> None:
    builder = LegacyRecordBatchBuilder(magic=1, compression_type=0, batch_size=1 << 20)
    for i in range(2):
        builder.append(i, timestamp=1000, key=b"k", value=b"v%d" % i)
    assert all_of(bytes(builder.build()))[:2] == ([b"v0", b"v1"], 2)


def test_a_batch_that_unpacks_to_too_much_is_lost_and_costs_the_bound() -> None:
    bomb = compressed(BATCH, ZSTD, zstandard.compress(bytes(4 * UNPACKED_BYTES_MAX)))
    with grows_by_less_than(3 * UNPACKED_BYTES_MAX):
        assert all_of(bomb) == ([], 5, 0, 0, [Damaged(100, 104, "too_large")])


@pytest.mark.parametrize("count", [-1, 6, 1 << 30])
def test_a_wrong_number_of_records_is_read_as_by_aiokafka(count: int) -> None:
    wrong = bytearray(BATCH)
    struct.pack_into(">i", wrong, COUNT_AT, count)
    data = with_sums(bytes(wrong))
    assert all_of(data) == by_record(data)


@pytest.mark.parametrize("number", [b"\xff" * 9 + b"\x01", b"\xff" * 12, b"\x80" * 9 + b"\x02", b"\xff" * 4 + b"\x0f"])
@pytest.mark.parametrize("field", [0, 2, 3, 4])
def test_numbers_that_are_too_long_are_read_as_by_aiokafka(number: bytes, field: int) -> None:
    """Length, time, offset and the length of the key of the third record."""
    third = BATCH.index(b"key2") - 5
    data = with_sums(BATCH[: third + field] + number + BATCH[third + field + 1 :])
    assert all_of(data) == by_record(data)


def test_an_aiokafka_with_other_records_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def other(self: object, response: object) -> list[object]:
        return []

    monkeypatch.setattr(fetcher.Fetcher, "_proc_fetch_request", other)
    with pytest.raises(AssertionError, match="aiokafka"):
        give_answers()


def test_others_are_not_read_so_and_transactions_are_not_asked_for() -> None:
    assert [
        record.value for record in fetcher.PartitionRecords(TP, RecordBatches(BATCH), [], 100, None, None, True, 0)
    ] == [message.value for message in MESSAGES]
    with pytest.raises(AssertionError, match="transactions"):
        fetcher.PartitionRecords(TP, RecordBatches(BATCH), [], 100, None, as_answered, True, 1)


def test_the_warm_up_compiles_what_reads() -> None:
    """The event loop waits for nothing that is compiled."""
    scan_batches.warm_up()
    names = ("scan_batches", "scan_records", "batch_end", "following_offset")
    warm = {name: list(getattr(scan_batches, name).signatures) for name in names}
    assert all(warm.values())
    for codec in CODECS:
        all_of(packed(BATCH, codec))
    assert {name: list(getattr(scan_batches, name).signatures) for name in names} == warm
