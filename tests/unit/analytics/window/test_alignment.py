"""Partitions that arrive one after the other come back into one order of time."""

from analytics.window.alignment import AlignedRecord, Alignment
from tests.unit.analytics.small_cluster import batch, port_key, table

LEAF = table("leaf1", [port_key("fabric_port_up")])


def record(partition: int, seq: int) -> AlignedRecord:
    return AlignedRecord(("samples", partition), seq + 1, batch(LEAF, seq, [1.0]))


def seqs(taken: list[AlignedRecord]) -> list[tuple[int, int]]:
    return [(p.partition[1], p.batch.collection.seq) for p in taken if p.batch is not None]


def alignment(samples_max: int = 100) -> Alignment:
    return Alignment(samples_max)


BOTH = {("samples", 0), ("samples", 1)}


def test_one_partition_waits_for_the_other_that_has_more() -> None:
    aligned = alignment()
    for seq in range(3):
        aligned.add(record(0, seq))
    assert seqs(aligned.pop_ready(BOTH)) == []
    aligned.add(record(1, 1))
    assert seqs(aligned.pop_ready(BOTH)) == [(0, 0), (0, 1), (1, 1)]
    assert aligned.samples == 1


def test_nobody_waits_for_a_partition_that_has_nothing_more() -> None:
    aligned = alignment()
    for seq in range(3):
        aligned.add(record(0, seq))
    assert seqs(aligned.pop_ready({("samples", 0)})) == [(0, 0), (0, 1), (0, 2)]


def test_at_the_end_nothing_waits() -> None:
    aligned = alignment()
    aligned.add(record(0, 5))
    assert seqs(aligned.pop_ready(set())) == [(0, 5)]


def test_what_is_held_is_bounded() -> None:
    aligned = alignment(samples_max=2)
    for seq in range(5):
        aligned.add(record(0, seq))
    assert seqs(aligned.pop_ready(BOTH)) == [(0, 0), (0, 1), (0, 2)]


def test_unreadable_records_keep_their_place() -> None:
    aligned = alignment()
    aligned.add(record(0, 0))
    aligned.add(AlignedRecord(("samples", 0), 2, None))
    taken = aligned.pop_ready(set())
    assert [p.next_offset for p in taken] == [1, 2]
