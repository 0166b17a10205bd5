"""What one read of the embedded log brings, and where the next one begins."""

import pytest

from bus.base import Offsets
from bus.embedded import log_writer, retention
from bus.embedded.log_reader import FetchResult
from bus.partitions import partition_of
from telemetry.topics import Topic
from tests.unit.bus.embedded_log import Log, S, keyed, numbered

ONE = Topic("test.one.v1", retention_s=100)
TWO = Topic("test.two.v1", partitions=2)
FACTS = Topic("test.facts.v1", compacted=True, retention_s=0)


def read(
    log: Log, at: Offsets, *topics: Topic, records_min: int = 1000, bytes_max: int = 10**9, turn: int = 0
) -> FetchResult:
    names = [topic.name for topic in topics or (ONE,)]
    return log.reader.read(names, at, records_min=records_min, bytes_max=bytes_max, turn=turn)


def offsets(result: FetchResult) -> list[int]:
    return [record.offset for record in result.records]


def test_records_carry_their_offset_and_time_and_the_next_read_begins_behind_them(log: Log) -> None:
    log.append(ONE, numbered(0, 2), at_s=7)
    result = read(log, {})
    assert [(r.topic, r.partition, r.offset, r.appended_ns, r.key, r.value) for r in result.records] == [
        (ONE.name, 0, 0, 7 * S, b"k", b"0"),
        (ONE.name, 0, 1, 7 * S, b"k", b"1"),
    ]
    assert (result.positions, result.totals, result.gap) == ({(ONE.name, 0): 2}, {ONE.name: 2}, None)
    behind = read(log, result.positions)
    assert (offsets(behind), behind.gap) == ([], None)


@pytest.mark.parametrize(("at", "expected"), [(0, [0, 1, 2, 3, 4]), (1, [1, 2, 3, 4]), (3, [3, 4]), (5, [])])
def test_a_position_within_a_row_skips_what_is_before_it(log: Log, at: int, expected: list[int]) -> None:
    log.append(ONE, numbered(0, 3))
    log.append(ONE, numbered(3, 2))
    assert offsets(read(log, {(ONE.name, 0): at})) == expected


def test_a_read_ends_with_the_row_that_reaches_a_limit(log: Log) -> None:
    for n in range(4):
        log.append(ONE, numbered(10 * n, 10))
    assert len(read(log, {}, records_min=11).records) == 20
    row_bytes = read(log, {}, records_min=1).bytes
    assert len(read(log, {}, bytes_max=row_bytes).records) == 10
    assert len(read(log, {}, bytes_max=row_bytes + 1).records) == 20


def test_partitions_are_read_in_turn_so_that_a_busy_one_starves_none(log: Log) -> None:
    keys = {partition_of(f"k{n}".encode(), 2): f"k{n}" for n in range(9)}
    log.append(TWO, keyed((keys[0], "zero"), (keys[1], "one")))
    first = [read(log, {}, TWO, records_min=1, turn=turn).records[0].partition for turn in range(4)]
    assert first == [0, 1, 0, 1]


def test_topics_that_are_not_there_yet_are_empty(log: Log) -> None:
    result = read(log, {})
    assert (result.records, result.totals) == ([], {ONE.name: 0})
    assert log.reader.offsets_since([ONE.name], 0) == {}


def test_records_that_retention_has_deleted_are_a_gap(log: Log) -> None:
    log.append(ONE, numbered(0, 5), at_s=0)
    log.append(ONE, numbered(5, 5), at_s=50)
    retention.expire(log.db, 120 * S)
    result = read(log, {(ONE.name, 0): 2})
    assert result.gap is not None
    assert (result.gap.topic, result.gap.partition, result.gap.first, result.gap.last) == (ONE.name, 0, 2, 4)
    assert offsets(read(log, result.positions)) == [5, 6, 7, 8, 9]


def test_a_position_behind_the_end_is_a_gap_and_reading_begins_again(log: Log) -> None:
    log.append(ONE, numbered(0, 3))
    result = read(log, {(ONE.name, 0): 9})
    assert result.gap is not None
    assert (result.gap.first, result.gap.last) == (3, 8)
    assert offsets(read(log, result.positions)) == [0, 1, 2]


def test_a_damaged_row_is_a_gap_after_what_comes_before_it(log: Log) -> None:
    for n in range(3):
        log.append(ONE, numbered(2 * n, 2))
    log.db.execute("UPDATE log_1 SET records = zeroblob(40) WHERE first = 2")
    before = read(log, {})
    assert (offsets(before), before.gap) == ([0, 1], None)
    damaged = read(log, before.positions)
    assert damaged.gap is not None
    assert (damaged.gap.first, damaged.gap.last) == (2, 3)
    assert offsets(read(log, damaged.positions)) == [4, 5]


def test_holes_that_compaction_left_are_no_gaps(log: Log) -> None:
    log.append(FACTS, keyed(("a", "1"), ("b", "1"), ("a", "2"), ("b", "2")))
    log.append(FACTS, keyed(("b", None)))
    retention.compact(log.db, 1 * S, tombstone_s=0)
    result = read(log, {}, FACTS)
    assert (offsets(result), result.gap) == ([2], None)
    assert result.positions == {(FACTS.name, 0): 5}, "also over what is gone at the end"
    assert result.positions == log.reader.ends()


@pytest.mark.parametrize(("since_s", "expected"), [(0, 0), (10, 0), (10.5, 2), (20, 2), (20.5, 3), (99, 3)])
def test_the_first_offset_since_a_moment(log: Log, since_s: float, expected: int) -> None:
    log.append(ONE, numbered(0, 2), at_s=10)
    log.append(ONE, numbered(2, 1), at_s=20)
    assert log.reader.offsets_since([ONE.name], int(since_s * S)) == {(ONE.name, 0): expected}


def test_since_a_moment_before_retention_is_the_first_record_that_is_left(log: Log) -> None:
    log.append(ONE, numbered(0, 2), at_s=10)
    log.append(ONE, numbered(2, 2), at_s=100)
    retention.expire(log.db, 150 * S)
    assert log.reader.offsets_since([ONE.name], 0) == {(ONE.name, 0): 2}


def test_a_clock_that_was_set_back_does_not_put_rows_out_of_order(log: Log) -> None:
    log.append(ONE, numbered(0, 1), at_s=50)
    log.append(ONE, numbered(1, 1), at_s=10)
    assert [record.appended_ns for record in read(log, {}).records] == [50 * S, 50 * S]


def test_every_commit_changes_the_version_and_the_totals_grow(log: Log) -> None:
    log.append(TWO, keyed(("a", "1")))
    version, totals = log.reader.version(), log.reader.totals()
    assert log.reader.version() == version
    log.append(TWO, keyed(("a", "2"), ("b", "1"), ("c", "1")))
    assert log.reader.version() != version
    assert (totals, log.reader.totals()) == ({TWO.name: 1}, {TWO.name: 4})


@pytest.mark.parametrize(("sizes", "rows"), [([1, 1, 1], [3]), ([4, 4], [1, 1]), ([3, 2, 1], [2, 1]), ([9], [1])])
def test_many_small_records_share_a_row_and_large_ones_close_it(
    log: Log, monkeypatch: pytest.MonkeyPatch, sizes: list[int], rows: list[int]
) -> None:
    monkeypatch.setattr(log_writer, "ROW_BYTES", 4)
    log.append(ONE, [message for n, size in enumerate(sizes) for message in numbered(n, 1, size)])
    assert [last - first + 1 for first, last in log.rows()] == rows
    assert offsets(read(log, {})) == list(range(len(sizes)))
