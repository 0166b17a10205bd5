"""The pace of jobs from the samples of their GPUs, in whatever order targets are read."""

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from fabricscope.api.wall.pace import SM, TENSOR, Paces
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.topology import Topology, TopologyFact
from tests.unit.fabricscope.api.wall_cluster import EVERY_S, JOB, NS, facts, host_round, rounds

NOW_NS = 1_700_000_000 * NS
CLUSTER = Topology().with_facts(facts())
FALLEN = [*[0.4] * 12, *[0.1] * 6]


def of_job(batches: Sequence[SampleBatch], topology: Topology = CLUSTER) -> tuple[object, object]:
    """Now, and as usual."""
    found = Paces()
    for batch in batches:
        found.add(batch, topology)
    pace = found.of(JOB.job_id)
    return pace.now, pace.usual


def test_a_job_that_fell_is_compared_with_before() -> None:
    assert of_job(rounds(FALLEN, NOW_NS)) == (pytest.approx(0.1), pytest.approx(0.4))


@pytest.mark.parametrize("seed", range(5))
def test_targets_may_be_read_one_after_the_other(seed: int) -> None:
    """As partitions are after a restart."""
    batches = rounds(FALLEN, NOW_NS)
    targets = sorted({batch.table.target for batch in batches})
    random.Random(seed).shuffle(targets)
    of_each = [batch for target in targets for batch in batches if batch.table.target == target]
    assert of_job(of_each) == of_job(batches)


def test_a_job_most_of_whose_gpus_are_silent_has_no_pace() -> None:
    batches = [host_round(1, n, NOW_NS + n * EVERY_S * NS, 0.4) for n in range(12)]
    assert of_job(batches) == (pytest.approx(0.4), pytest.approx(0.4))
    larger = TopologyFact(replace(JOB, nodes=("node1", "node2", "node3")), 2, "inventory")
    assert of_job(batches, CLUSTER.with_facts([larger])) == (None, None)


def test_a_job_whose_gpus_fell_silent_has_no_pace_after_a_minute() -> None:
    others = host_round(3, 0, NOW_NS + 70 * NS, 0.4)
    assert of_job([*rounds([0.4] * 12, NOW_NS), others]) == (None, pytest.approx(0.4))


def test_samples_that_are_further_apart_count_for_the_rounds_between() -> None:
    """A collection every 40 seconds is enough for a usual level after a minute and a half."""
    every = 40 * NS
    batches = [host_round(host, n, NOW_NS + n * every, 0.4) for n in range(5) for host in (1, 2)]
    assert of_job(batches) == (pytest.approx(0.4), pytest.approx(0.4))


def test_tensor_cores_count_before_sms() -> None:
    of = [{"device": "node1", "gpu": gpu} for gpu in ("GPU-1-0", "GPU-1-1")]
    table = SeriesTable(
        "dcgm/node1", "node1", (series_key(SM, of[0]), series_key(TENSOR, of[0]), series_key(SM, of[1]))
    )
    rows, values = np.arange(3, dtype=np.uint32), np.array([0.8, 0.2, 0.4])
    batches = [
        SampleBatch(table, Collection(1, number, at_ns, 0.01), np.full(3, at_ns), rows, values)
        for number, at_ns in enumerate(range(NOW_NS, NOW_NS + 3 * EVERY_S * NS, EVERY_S * NS))
    ]
    assert of_job(batches)[0] == pytest.approx((0.2 + 0.4) / 2)
