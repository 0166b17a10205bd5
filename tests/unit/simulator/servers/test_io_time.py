"""Lustre's histogram of durations: operations and their time by hand."""

import dataclasses

import numpy as np
import pytest

from simulator.config import SimulatorConfig
from simulator.counters.readings import StorageReadings, blank_readings
from simulator.servers.io_time import BUCKETS_MS, IoTimes
from simulator.wiring import build_layout

LAYOUT = build_layout(SimulatorConfig(hosts=2, gpus_per_host=2))  # four targets


def storage(reads: float = 0.0, read_s: float = 0.0, writes: float = 0.0, write_s: float = 0.0) -> StorageReadings:
    """The same counters on all targets."""
    blank = blank_readings(LAYOUT, 0).storage
    values = {"reads": reads, "read_s": read_s, "writes": writes, "write_s": write_s}
    return dataclasses.replace(blank, **{name: np.full(4, value) for name, value in values.items()})


def counts(times: IoTimes, direction: int = 0) -> dict[int, float]:
    """Of the first target, by upper bound in ms; buckets without operations left out."""
    found = zip(BUCKETS_MS, np.round(times.counts[0, :, direction], 9).tolist(), strict=True)
    return {bucket: count for bucket, count in found if count}


@pytest.mark.parametrize(
    ("mean_ms", "expected"),
    [
        (3.0, {4: 8.0}),  # the midpoint of 2..4 ms
        (6.0, {8: 8.0}),
        (4.5, {4: 4.0, 8: 4.0}),  # half-way between the midpoints 3 and 6
        (3.75, {4: 6.0, 8: 2.0}),
        (0.1, {1: 8.0}),  # below the first midpoint 0.75 ms
        (1e6, {4096: 8.0}),  # beyond the last
    ],
)
def test_operations_are_shared_by_the_two_buckets_around_their_mean(mean_ms: float, expected: dict[int, float]) -> None:
    times = IoTimes(4)
    times.observe(storage(reads=8.0, read_s=8.0 * mean_ms / 1e3))
    assert counts(times) == expected
    assert counts(times, direction=1) == {}


def test_reads_and_writes_are_counted_apart() -> None:
    times = IoTimes(4)
    times.observe(storage(reads=2.0, read_s=2 * 0.003, writes=5.0, write_s=5 * 0.012))
    assert (counts(times), counts(times, direction=1)) == ({4: 2.0}, {16: 5.0})


def test_only_what_is_new_is_added() -> None:
    times = IoTimes(4)
    times.observe(storage(reads=2.0, read_s=0.006))
    times.observe(storage(reads=2.0, read_s=0.006))
    times.observe(storage(reads=5.0, read_s=0.006 + 3 * 0.006))
    assert counts(times) == {4: 2.0, 8: 3.0}


def test_midpoints_times_counts_are_the_measured_time() -> None:
    times, rng = IoTimes(4), np.random.default_rng(1)
    reads = read_s = 0.0
    for _ in range(50):
        count = float(rng.integers(1, 100))
        reads, read_s = reads + count, read_s + count * float(rng.uniform(0.001, 2.0))
        times.observe(storage(reads=reads, read_s=read_s))
    midpoints_s = 0.75e-3 * np.array(BUCKETS_MS)
    assert times.counts[0, :, 0].sum() == pytest.approx(reads)
    assert times.counts[0, :, 0] @ midpoints_s == pytest.approx(read_s)


def test_counters_that_went_back_start_the_histogram_again() -> None:
    times = IoTimes(4)
    times.observe(storage(reads=100.0, read_s=0.3, writes=7.0, write_s=0.021))
    times.observe(storage(reads=4.0, read_s=0.012))
    assert (counts(times), counts(times, direction=1)) == ({4: 4.0}, {})


def test_a_histogram_that_is_served_does_not_change() -> None:
    times = IoTimes(4)
    times.observe(storage(reads=2.0, read_s=0.006))
    served = times.counts
    before = served.copy()
    times.observe(storage(reads=9.0, read_s=0.1))
    assert np.array_equal(served, before)
