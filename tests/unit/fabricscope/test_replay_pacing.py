"""How fast a replay feeds the engine, and in which portions. No time passes in these tests."""

from collections.abc import Iterator

import numpy as np
import pytest

from fabricscope import replay
from fabricscope.replay import ReplayTotals, _chunks, _paced
from recordings.format import RecordedBatch
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable

NS = 1_000_000_000
TABLE = SeriesTable("t", "node1", ("up",))


def batch(at_s: float, samples: int = 1) -> SampleBatch:
    at_ns = int(at_s * NS)
    rows = np.zeros(samples, dtype=np.uint32)
    return SampleBatch(TABLE, Collection(1, 0, at_ns, 0.1), np.full(samples, at_ns), rows, np.ones(samples))


class Clock:
    """A clock that only waits move, and ``work`` between two batches."""

    def __init__(self, work_s: float = 0.0) -> None:
        self.now_s = 1000.0
        self.work_s = work_s

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, wait_s: float) -> None:
        assert wait_s >= 0
        self.now_s += wait_s


def recorded(at_s: float) -> RecordedBatch:
    one = batch(at_s)
    return RecordedBatch(0, one.collection.collected_ns, one)


@pytest.fixture
def clock(monkeypatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(replay, "time", made)
    return made


@pytest.mark.parametrize(
    ("speed", "work_s", "arrivals_s"),
    [
        (None, 0.0, [0, 0, 0, 0]),
        (1.0, 0.0, [0, 10, 10, 40]),
        (10.0, 0.0, [0, 1, 1, 4]),
        (0.5, 0.0, [0, 20, 20, 80]),
        (10.0, 2.0, [0, 2, 4, 6]),  # the engine is slower than that: no wait, and nothing is left out
        (1.0, 2.0, [0, 10, 12, 40]),  # the time of the work is not added to the waits
    ],
)
def test_event_time_passes_at_the_chosen_speed(clock, speed, work_s, arrivals_s):
    batches = [recorded(at_s) for at_s in (500, 510, 510, 540)]
    arrivals = []
    for given, expected in zip(_paced(batches, speed), batches, strict=True):
        assert given is expected
        arrivals.append(clock.now_s - 1000.0)
        clock.now_s += work_s
    assert arrivals == pytest.approx(arrivals_s)


def test_a_batch_that_is_late_does_not_wait(clock):
    assert len(list(_paced([recorded(10), recorded(5), recorded(11)], 1.0))) == 3
    assert clock.now_s == pytest.approx(1001.0)


@pytest.mark.parametrize(
    ("count", "size", "sizes"), [(0, 3, []), (1, 3, [1]), (3, 3, [3]), (4, 3, [3, 1]), (4, 1, [1, 1, 1, 1])]
)
def test_chunks_hold_every_batch_in_order(count, size, sizes):
    batches = [recorded(n) for n in range(count)]
    chunks = list(_chunks(batches, size))
    assert [len(chunk) for chunk in chunks] == sizes
    assert [one for chunk in chunks for one in chunk] == batches


def test_a_chunk_is_given_before_the_next_batch_is_read():
    read = []

    def source() -> Iterator[RecordedBatch]:
        for n in range(4):
            read.append(n)
            yield recorded(n)

    next(_chunks(source(), 2))
    assert read == [0, 1]


def test_totals_add_up():
    totals = ReplayTotals()
    for one in (batch(7, samples=3), batch(5, samples=2)):
        totals.add(one)
    assert (totals.collections, totals.samples, totals.at_ns) == (2, 5, 7 * NS)
