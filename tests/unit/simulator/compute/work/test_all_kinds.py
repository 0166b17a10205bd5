"""What holds for all kinds of work, and how the scheduler hands them out."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from common.errors import ConfigError
from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.compute.gpus import POWER_LIMIT_WATTS
from simulator.compute.work.kind import WorkKind
from simulator.compute.work.registry import WORK, flows_per_gpu
from simulator.config import JobMix, SimulatorConfig
from tests.unit.simulator.compute.work.clusters import after, doing

TRAINING = [kind for kind, work in WORK.items() if work.flows_per_gpu]
RATIOS = ("utilization", "sm_active", "sm_occupancy", "tensor_active", "dram_active", "memory_copy")


def arrays(cluster: SimulatedCluster) -> dict[str, bytes]:
    readings = cluster.readings
    groups = (readings.ports, readings.nics, readings.gpus, readings.hosts, readings.storage)
    return {
        f"{type(group).__name__}.{field.name}": getattr(group, field.name).tobytes()
        for group in groups
        for field in dataclasses.fields(group)
    }


def test_every_kind_but_idle_has_a_class() -> None:
    assert set(WORK) == set(WorkKind) - {WorkKind.IDLE}


@pytest.mark.parametrize("kind", WORK)
def test_readings_stay_within_what_a_gpu_can_do(kind: WorkKind) -> None:
    cluster = doing(kind, load_bytes=0.1e9)
    most = np.zeros(8)
    for second in range(10, 71, 10):
        gpus = after(cluster, second).readings.gpus
        for name in RATIOS:
            values = getattr(gpus, name)
            assert values.min() >= 0.0, name
            assert values.max() <= 1.0 + 1e-9, name
        assert gpus.framebuffer_free.min() > 0.0
        assert gpus.power_watts.max() < POWER_LIMIT_WATTS
        assert gpus.nvlink_rate.min() >= 0.0
        most = np.maximum(most, gpus.framebuffer_used)
    assert (most.max() > 1e9) == WORK[kind].uses_gpus


@pytest.mark.parametrize("kinds", [tuple(WORK)[at : at + 4] for at in range(0, len(WORK), 4)], ids=str)
def test_the_same_bytes_however_time_is_sliced(kinds: tuple[WorkKind, ...]) -> None:
    mix: dict[str, Any] = {"lifetime_s": 20.0, "gap_s": 2.0, "checkpoint_period_s": 10.0, "load_bytes": 0.1e9}
    whole, sliced = (doing(*kinds, hosts=8, step_ms=50, **mix) for _ in range(2))
    after(whole, 35)
    for seconds in (0.07, 3.0, 11.11, 11.12, 29.5, 35):
        after(sliced, seconds)
    assert arrays(sliced) == arrays(whole)
    assert sliced.changes == whole.changes
    assert len(whole.changes) >= len(kinds)


@pytest.mark.parametrize("kind", WORK)
def test_other_work_in_a_cluster_changes_nothing_in_the_numbers_of_the_shared_generator(kind: WorkKind) -> None:
    """Else a kind that is switched on elsewhere would change what data-parallel jobs compute."""
    alone, beside = doing(WorkKind.DATA_PARALLEL, WorkKind.IDLE), doing(WorkKind.DATA_PARALLEL, kind)
    for cluster in (alone, beside):
        after(cluster, 1.0)
        cluster.machine.jobs.step(cluster.now_ns + 20 * NS_PER_S, 0.02)
    assert alone.machine.jobs.rng.random() == beside.machine.jobs.rng.random()


@pytest.mark.parametrize("kind", TRAINING)
def test_training_fits_into_the_flow_table_on_any_hosts_and_gives_its_rows_back(kind: WorkKind) -> None:
    cluster = SimulatedCluster(
        SimulatorConfig(hosts=19, gpus_per_host=4, step_ms=50, jobs=JobMix(jobs=1, kinds=(kind,))), start_ns=0
    )
    used = cluster.machine.fabric.flows.used
    before = int(used.sum())
    after(cluster, 3)
    rows = int(used.sum()) - before
    assert 0 < rows <= 19 * 4 * flows_per_gpu(JobMix(kinds=(kind,)))
    (run,) = cluster.machine.jobs.running
    run.close()
    assert int(used.sum()) == before


@pytest.mark.parametrize("kind", TRAINING)
def test_training_goes_on_with_the_one_host_that_is_left(kind: WorkKind) -> None:
    cluster = doing(kind, hosts=2, compute_s=0.5)
    cluster.machine.drain("node2", True)
    (job,) = after(cluster, 30).jobs
    assert job.nodes == ("node1",)
    assert job.iterations >= 1


@pytest.mark.parametrize("kind", TRAINING)
def test_training_is_as_slow_as_its_slowest_gpu(kind: WorkKind) -> None:
    compute_s = 1.2 if kind is WorkKind.MIXTURE_OF_EXPERTS else 0.5  # it computes in eight parts of whole steps
    mix: dict[str, Any] = {
        "compute_s": compute_s,
        "load_bytes": 0.0,
        "allreduce_bytes": 1e9,
        "checkpoint_period_s": 1e6,
    }
    iterations = []
    for fault in ("", "straggler-gpu@0s:node3/1"):
        (job,) = after(doing(kind, fault=fault, **mix), 40).jobs
        iterations.append(job.iterations)
    healthy, slow = iterations
    assert healthy > 10
    assert slow < 0.75 * healthy


@pytest.mark.parametrize("kind", TRAINING)
def test_a_late_checkpoint_holds_up_any_training(kind: WorkKind) -> None:
    cluster = doing(kind, fault="late-checkpoint@12s:node2", compute_s=0.5, checkpoint_bytes=3e9)
    (job,) = after(cluster, 40).jobs
    before = job.iterations
    assert (after(cluster, 45).jobs[0].iterations, job.checkpoints) == (before, 0)


@pytest.mark.parametrize("kind", [kind for kind in WORK if kind not in TRAINING])
def test_a_late_checkpoint_is_refused_where_none_is_written(kind: WorkKind) -> None:
    cluster = doing(kind, fault="late-checkpoint@5s:node2")
    with pytest.raises(ConfigError, match="'node2', expected a host with a running job that writes checkpoints"):
        after(cluster, 6)


def test_slots_take_the_kinds_in_turn_and_keep_theirs() -> None:
    kinds = (WorkKind.TREE, WorkKind.DATA_PARALLEL)
    cluster = SimulatedCluster(
        SimulatorConfig(
            hosts=8, gpus_per_host=1, step_ms=50, jobs=JobMix(jobs=3, kinds=kinds, lifetime_s=10.0, gap_s=1.0)
        ),
        start_ns=0,
    )
    after(cluster, 45)
    names: dict[tuple[str, ...], set[str]] = {}
    for job in (*cluster.machine.jobs.ended, *cluster.jobs):
        names.setdefault(tuple(sorted(job.nodes)), set()).add(job.name)
    assert names == {
        ("node1", "node4", "node7"): {"tree"},
        ("node2", "node5", "node8"): {"data-parallel"},
        ("node3", "node6"): {"tree"},
    }
    assert len(cluster.machine.jobs.ended) >= 4


def test_idle_hosts_have_no_job() -> None:
    cluster = after(doing(WorkKind.IDLE, WorkKind.SMALL), 10)
    assert {node for job in cluster.jobs for node in job.nodes} <= {"node2", "node4"}
    idle = [i for i, gpu in enumerate(cluster.layout.gpus) if gpu.device in ("node1", "node3")]
    assert cluster.readings.gpus.utilization[idle].max() == 0.0


@pytest.mark.parametrize(
    ("kinds", "message"), [((), "kinds"), (("data-parallel", "mining"), "kinds.1")], ids=["none", "unknown"]
)
def test_a_mix_names_at_least_one_kind_that_exists(kinds: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        JobMix.model_validate({"kinds": kinds})
