"""What retention and compaction delete, step by step."""

import pytest

from bus.embedded import retention
from telemetry.topics import Topic
from tests.unit.bus.embedded_log import Log, S, keyed, numbered

EVENTS = Topic("test.events.v1", retention_s=100)
FACTS = Topic("test.facts.v1", compacted=True, retention_s=100)


@pytest.mark.parametrize(
    ("last_s", "now_s", "due"),
    [
        (0, 10, True),
        (0, 9.999, False),
        (5, 10, False),
        (5, 15, True),
        (20, 10, True),  # the clock was set back
        (10, 10, False),
    ],
)
def test_one_run_an_interval_for_all_processes(log: Log, last_s: float, now_s: float, due: bool) -> None:
    log.db.execute("UPDATE upkeep SET at_ns = ?", (int(last_s * S),))
    assert retention.claim(log.db, int(now_s * S), 10 * S) is due
    assert retention.claim(log.db, int(now_s * S), 10 * S) is False, "another process has the turn"


def test_a_turn_that_is_given_back_is_due_at_once(log: Log) -> None:
    assert retention.claim(log.db, 1000 * S, 10 * S)
    retention.release(log.db)
    assert retention.claim(log.db, 1000 * S, 10 * S)


@pytest.mark.parametrize(("now_s", "left", "start"), [(110, [0, 3, 6], 0), (110.001, [3, 6], 3), (130.001, [], 9)])
def test_rows_past_the_retention_of_their_topic_go(log: Log, now_s: float, left: list[int], start: int) -> None:
    for n, at_s in enumerate((10, 20, 30)):
        log.append(EVENTS, numbered(3 * n, 3), at_s)
    assert retention.expire(log.db, int(now_s * S)) is False
    assert [first for first, _ in log.rows()] == left
    assert log.start(EVENTS) == start


def test_a_step_of_expiry_is_bounded_and_says_whether_there_is_more(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_ROWS", 2)
    for n in range(3):
        log.append(EVENTS, numbered(n, 1), at_s=n)
    assert [retention.expire(log.db, 1000 * S) for _ in range(2)] == [True, False]
    assert log.rows() == []


def test_expiry_spares_compacted_topics(log: Log) -> None:
    log.append(FACTS, keyed(("a", "1")))
    retention.expire(log.db, 10**6 * S)
    assert log.rows() == [(0, 0)]


def test_of_all_topics_the_oldest_rows_go_while_the_file_is_too_large(log: Log) -> None:
    other = Topic("test.other.v1", retention_s=100)
    log.append(other, numbered(0, 1, size=200_000), at_s=2)
    for n in range(9):
        log.append(EVENTS, numbered(n, 1, size=100_000), at_s=1 if n == 0 else 3)
    held = retention._bytes_held(log.db)
    assert retention.trim(log.db, held) is False
    assert retention.trim(log.db, held - 1) is True
    assert log.rows(2)[0] == (8, 8), "eight rows a step, from the log with the oldest row"
    assert log.rows(1) == [(0, 0)]
    assert retention.trim(log.db, 1000) is True
    assert log.rows(1) == []
    assert (log.start(EVENTS), log.start(other)) == (8, 1)


def test_a_file_of_compacted_topics_alone_is_not_trimmed(log: Log) -> None:
    log.append(FACTS, keyed(("a", "x" * 100_000)))
    assert retention.trim(log.db, 1) is False
    assert log.rows() == [(0, 0)]


@pytest.mark.parametrize(
    ("now_s", "left"),
    [
        (100, [0, 1, 2, 3, 4]),  # within the topic's retention everything stays
        (111, [2, 3, 4]),  # 0 and 1 are superseded by 2 and 3
        (10**6, [2, 4]),  # a tombstone goes after its own time, the newest value never
    ],
)
def test_compaction_keeps_the_newest_record_of_each_key(log: Log, now_s: float, left: list[int]) -> None:
    log.append(FACTS, keyed(("a", "1"), ("b", "1")), at_s=10)
    log.append(FACTS, keyed(("a", "2"), ("b", None), ("c", "1")), at_s=20)
    retention.compact(log.db, int(now_s * S), tombstone_s=1000)
    assert [first for first, _ in log.rows()] == left


def test_compaction_leaves_other_topics_alone(log: Log) -> None:
    log.append(EVENTS, numbered(0, 2))
    retention.compact(log.db, 10**6 * S, tombstone_s=0)
    assert log.rows() == [(0, 1)]


def test_an_empty_value_is_no_tombstone(log: Log) -> None:
    log.append(FACTS, keyed(("a", ""), ("b", None)))
    retention.compact(log.db, 10**6 * S, tombstone_s=0)
    assert [first for first, _ in log.rows()] == [0]
