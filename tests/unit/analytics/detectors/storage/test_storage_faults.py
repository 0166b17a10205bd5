"""A storage target that hardly moves anything while clients wait, and a storm of metadata operations."""

from collections.abc import Sequence

import pytest

from analytics.detectors.storage.storage_slow import ONE_CLIENT_CONFIDENCE
from telemetry import objects
from telemetry.findings import Finding, FindingKind
from telemetry.series import series_key
from tests.unit.analytics.small_cluster import INTERVAL_S, judged

TARGET = {"device": "oss1", "system": "lustre", "fs": "scratch", "target": "OST0000", "side": "server"}
READ, WRITTEN = (series_key(f"storage_{word}_bytes_total", TARGET) for word in ("read", "written"))
TIME = series_key("storage_operation_duration_seconds_sum", {**TARGET, "op": "write"})
COUNT = series_key("storage_operation_duration_seconds_count", {**TARGET, "op": "write"})
OPENS = series_key("storage_operations_total", {**TARGET, "target": "MDT0000", "op": "open"})


def found(keys: list[str], rates: Sequence[Sequence[float]], detector: str) -> list[Finding]:
    """Findings of one detector about counters that grow by these amounts a second."""
    rows, values = [[0.0] * len(keys)], [0.0] * len(keys)
    for row in rates:
        values = [before + rate * INTERVAL_S for before, rate in zip(values, row, strict=True)]
        rows.append(values)
    return [one for one in judged(keys, rows, device="oss1") if isinstance(one, Finding) and one.detector == detector]


def test_a_target_that_moves_a_twentieth_while_clients_wait_has_collapsed() -> None:
    rates = [(1e9, 3e9, 6.0)] * 20 + [(5e7, 1e8, 6.0)] * 4
    collapsed = found([READ, WRITTEN, TIME], rates, "storage_throughput")
    assert [(one.kind, one.object) for one in collapsed] == [
        (FindingKind.STORAGE_SLOW, objects.storage_target("scratch", "OST0000"))
    ]


def test_a_collapse_that_one_client_waits_for_has_less_confidence() -> None:
    busy = [(1e9, 3e9, 20.0)] * 20
    (of_one,), (of_many,) = (
        found([READ, WRITTEN, TIME], [*busy, *[(5e7, 1e8, waiting)] * 4], "storage_throughput")
        for waiting in (6.0, 20.0)
    )
    assert of_one.confidence == ONE_CLIENT_CONFIDENCE < of_many.confidence


@pytest.mark.parametrize(
    ("operations", "collapsed"), [(900.0, False), (100.0, True)], ids=["small operations", "slow operations"]
)
def test_a_target_whose_operations_take_as_long_as_usual_is_asked_for_less(operations: float, collapsed: bool) -> None:
    rates = [(1e9, 3e9, 6.0, 1000.0)] * 20 + [(5e7, 1e8, 6.0, operations)] * 4
    assert bool(found([READ, WRITTEN, TIME, COUNT], rates, "storage_throughput")) is collapsed


def test_times_without_operations_do_not_become_the_usual_ones() -> None:
    usual, none = (1e9, 3e9, 6.0, 1000.0), (1e9, 3e9, 6.0, 0.0)
    small_operations = [*[none] * 3, *[usual] * 30, *[(5e7, 1e8, 6.0, 900.0)] * 4]
    assert found([READ, WRITTEN, TIME, COUNT], small_operations, "storage_throughput") == []


def test_a_target_without_work_and_one_that_does_a_third_are_not_found() -> None:
    busy = [(1e9, 3e9, 6.0)] * 20
    assert found([READ, WRITTEN, TIME], [*busy, *[(1e5, 1e6, 0.01)] * 6], "storage_throughput") == []
    assert found([READ, WRITTEN, TIME], [*busy, *[(1e9, 3e8, 6.0)] * 6], "storage_throughput") == []


def test_ten_times_the_usual_opens_are_a_storm() -> None:
    storm = found([OPENS], [(800.0 + 20 * (n % 3),) for n in range(20)] + [(12_000.0,)] * 3, "metadata_storm")
    assert {(one.kind, one.object) for one in storm} == {
        (FindingKind.METADATA_STORM, objects.storage_target("scratch", "MDT0000"))
    }


def test_few_opens_and_usual_ones_are_none() -> None:
    assert found([OPENS], [(20.0 + n % 3,) for n in range(20)] + [(900.0,)] * 3, "metadata_storm") == []
    assert found([OPENS], [(15_000.0 + 3000 * (n % 4),) for n in range(30)], "metadata_storm") == []
