"""Targets that take less than a hard disk may: slow by what is usual beside siblings, and where somebody waits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from analytics.detectors.storage.short_times import SHORT_TIMES, without_short_times
from analytics.detectors.storage.storage_slow import StorageSlow
from analytics.snapshot.stateful import State
from analytics.state.memory import Memory
from telemetry.findings import Finding, FindingKind
from telemetry.series import series_key
from tests.unit.analytics.small_cluster import SECOND, START_NS, judged

TARGETS, COLLECTIONS, SLOW_AT = 6, 40, 32
SIZE = 65536.0
Operations = Callable[[int, int], tuple[float, float, float]]  # (target, collection) -> a second, seconds each, bytes


def slow_targets(operations: Operations, system: str = "lustre", collections: int = COLLECTIONS) -> set[str]:
    return {str(each.object) for each in slow_findings(operations, system, collections)}


def slow_findings(operations: Operations, system: str = "lustre", collections: int = COLLECTIONS) -> list[Finding]:
    keys, rows = [], []
    for target in range(TARGETS):
        labels = {"system": system, "device": "oss1", "side": "server", "target": f"OST{target}"}
        labels |= {} if system == "block" else {"fs": "scratch"}
        keys += [
            series_key("storage_operation_duration_seconds_sum", {**labels, "op": "read"}),
            series_key("storage_operation_duration_seconds_count", {**labels, "op": "read"}),
            series_key("storage_read_bytes_total", labels),
        ]
    total = np.zeros(len(keys))
    for number in range(collections):
        for target in range(TARGETS):
            rate, seconds, size = operations(target, number)
            total[3 * target : 3 * target + 3] += 10.0 * rate * np.array([seconds, 1.0, size])
        rows.append(total.tolist())
    found = [each for each in judged(keys, rows, device="oss1") if isinstance(each, Finding)]
    return [each for each in found if each.kind is FindingKind.STORAGE_SLOW]


def one_is_slow(rate: float, seconds: float, slow_seconds: float, size: float = SIZE) -> Operations:
    def operations(target: int, number: int) -> tuple[float, float, float]:
        return (rate, slow_seconds, size) if target == 2 and number >= SLOW_AT else (rate, seconds, SIZE)

    return operations


@pytest.mark.parametrize(
    ("rate", "seconds", "slow_seconds"),
    [(2000.0, 1e-4, 1e-3), (200.0, 5e-4, 8e-3), (150.0, 1e-3, 1e-2), (200.0, 0.0, 8e-3)],
    ids=["0.1 to 1 ms", "0.5 to 8 ms", "1 to 10 ms", "less than is counted to 8 ms"],
)
@pytest.mark.parametrize("size", [SIZE, 1.5 * SIZE])
def test_a_target_of_a_fast_file_system_is_slow_at_times_that_a_disk_needs(
    rate: float, seconds: float, slow_seconds: float, size: float
) -> None:
    assert slow_targets(one_is_slow(rate, seconds, slow_seconds, size)) == {"storage_target:scratch/OST2"}


@pytest.mark.parametrize(
    "operations",
    [
        one_is_slow(100.0, 5e-4, 8e-3),
        one_is_slow(600.0, 5e-4, 8e-3, size=16 * SIZE),
        one_is_slow(600.0, 2e-3, 9e-3),
    ],
    ids=["hardly anybody waits", "larger requests", "4.5 times as long"],
)
def test_a_short_time_is_not_slow_where_nothing_shows_it(operations: Operations) -> None:
    assert not slow_targets(operations)


def test_a_target_on_another_medium_than_its_siblings_is_compared_with_what_is_usual_beside_them() -> None:
    """Of a file system of flash two targets are disks, as slow from the first sample on as they will be."""

    def operations(target: int, number: int) -> tuple[float, float, float]:
        return (200.0, 8e-3, SIZE) if target < 2 else (600.0, 5e-4, SIZE)

    assert not slow_targets(operations)


def test_disks_of_one_host_are_compared_too() -> None:
    assert slow_targets(one_is_slow(200.0, 5e-4, 8e-3), system="block") == {"device:oss1"}


def test_times_that_a_target_has_now_and_then_are_found_at_first_and_far_longer_ones_always() -> None:
    """Three samples of twenty at sixteen times the siblings'; the ninth time it is twice that."""

    def operations(target: int, number: int) -> tuple[float, float, float]:
        if target != 2 or number % 20 < 17:
            return 400.0, 5e-4, SIZE
        return (400.0, 18e-3, SIZE) if number > 170 else (400.0, 8e-3, SIZE)

    found = slow_findings(operations, collections=185)
    assert {str(each.object) for each in found} == {"storage_target:scratch/OST2"}
    began = sorted({(each.onset_ns - START_NS) // (10 * SECOND) for each in found})
    assert began[0] < 20
    assert [number for number in began if number > 60] == [177]


def ordinary(rng: np.random.Generator, collections: int, seconds: float, spread: float, rate: float) -> Operations:
    """Times and rates that vary by target and sample, and a common checkpoint of three samples in twenty."""
    shape = (TARGETS, collections)
    times = seconds * np.exp(spread * rng.normal(size=shape))
    rates = rate * np.exp(0.3 * rng.normal(size=(1, collections)) + 0.2 * rng.normal(size=shape))
    burst = np.arange(collections) % 20 >= 17
    times[:, burst] *= 6.0
    rates[:, burst] *= 3.0
    return lambda target, number: (rates[target, number], times[target, number], SIZE)


@pytest.mark.parametrize(
    ("seconds", "spread", "rate"),
    [(4e-4, 0.35, 2000.0), (2e-3, 0.4, 600.0), (9e-3, 0.4, 80.0)],
    ids=["flash", "a cache before disks", "disks"],
)
def test_what_varies_between_targets_is_not_slow(seconds: float, spread: float, rate: float) -> None:
    collections = 150
    operations = ordinary(np.random.default_rng(5), collections, seconds, spread, rate)
    assert not slow_targets(operations, collections=collections)


@pytest.mark.parametrize("system", ["lustre", "block"])
def test_disks_that_seek_for_some_of_few_operations_are_not_slow(system: str) -> None:
    """Each operation is in the cache (0.3 ms) or seeks (8 to 16 ms): seeks make a mean of few many times as long."""
    collections = 150
    rng = np.random.default_rng(6)
    done = rng.poisson(rng.uniform(10.0, 400.0, (TARGETS, collections))) + 10
    seeks = rng.binomial(done, rng.beta(0.6, 2.0, (TARGETS, collections)))
    times = (seeks * rng.uniform(8e-3, 16e-3, seeks.shape) + (done - seeks) * 3e-4) / done
    assert not slow_targets(
        lambda target, number: (done[target, number] / 10.0, times[target, number], SIZE),
        system,
        collections=collections,
    )


def test_a_memory_of_an_older_format_begins_to_learn_short_times() -> None:
    old: dict[str, NDArray[Any]] = {"sid": np.arange(3), "baseline": np.ones((3, 5)), "peak": np.full(3, 9.0)}
    memory = Memory(StorageSlow.memory)
    memory.restore(without_short_times(State(None, old)))
    rows = memory.rows(np.arange(3))
    assert memory["peak"][rows].tolist() == [9.0] * 3
    assert not any(memory[column.name][rows].any() for column in SHORT_TIMES)
