"""Work that exchanges nothing between hosts: inference, evaluation, shared hosts, preprocessing; and rollout."""

import numpy as np
import pytest

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.compute.storage import READ
from simulator.compute.work.inference import daily_load
from simulator.compute.work.kind import WorkKind
from simulator.compute.work.local import SmallJob, SubNodeJob
from simulator.compute.work.rollout import UPDATES
from simulator.config import JobMix
from simulator.fabric.state import Floats
from simulator.servers.pages.slurm import jobs_document
from tests.unit.simulator.compute.work.clusters import NOON_NS, after, doing

HOUR_NS = 3600 * NS_PER_S


def sampled(cluster: SimulatedCluster, seconds: range) -> dict[str, Floats]:
    """[t, G] readings of the GPUs."""
    found: dict[str, list[Floats]] = {"utilization": [], "sm_active": [], "framebuffer_used": []}
    for second in seconds:
        gpus = after(cluster, second).readings.gpus
        for name, rows in found.items():
            rows.append(getattr(gpus, name).copy())
    return {name: np.array(rows) for name, rows in found.items()}


def test_load_follows_the_hour_of_the_day() -> None:
    loads = [daily_load(hour * HOUR_NS) for hour in range(24)]
    assert (int(np.argmax(loads)), int(np.argmin(loads))) == (14, 2)
    assert max(loads) / min(loads) == pytest.approx(5.0)
    assert daily_load(NOON_NS) == pytest.approx(daily_load(NOON_NS + 24 * HOUR_NS))


def test_replicas_differ_and_leave_the_network_alone() -> None:
    cluster = doing(WorkKind.INFERENCE, hosts=8, gpus=8)
    found = sampled(cluster, range(30, 90, 5))["utilization"]
    assert 0.4 < found.mean() < 0.95
    assert np.std(found.mean(axis=0)) > 0.05
    fabric = cluster.machine.fabric
    after(cluster, 100)
    nics = [fabric.egress(nic) for host in cluster.layout.hosts for nic in cluster.layout.device_nics[host]]
    assert fabric.queues.sent[nics].sum() == 0.0
    assert cluster.readings.gpus.framebuffer_used.min() == pytest.approx(77e9)


def test_a_straggler_slows_no_replica_but_its_own() -> None:
    healthy, slow = (
        doing(WorkKind.INFERENCE, gpus=8),
        doing(WorkKind.INFERENCE, gpus=8, fault="straggler-gpu@0s:node3/1"),
    )
    found = [sampled(cluster, range(20, 60, 5))["utilization"] for cluster in (healthy, slow)]
    (run,) = slow.machine.jobs.running
    size = run._size  # type: ignore[attr-defined]
    at = slow.layout.host_gpus["node3"].start + 1
    own = np.arange(at - at % size, at - at % size + size)
    assert found[1][:, own].mean() > found[0][:, own].mean()
    assert np.array_equal(np.delete(found[0], own, axis=1), np.delete(found[1], own, axis=1))


def test_most_gpus_wait_for_the_last_answers_of_a_rollout_and_then_all_train() -> None:
    cluster = doing(WorkKind.RL_ROLLOUT, hosts=8, gpus=4, compute_s=0.5, load_bytes=0.0)
    waits, iterations = [], []
    for second in range(3, 60):
        busy = after(cluster, second).readings.gpus.utilization > 0.5
        waits.append(1.0 - busy.mean())
        iterations.append(cluster.jobs[0].iterations)
    tail = [wait for wait in waits if 0.75 < wait < 1.0]
    assert len(tail) >= 3
    assert min(waits) == 0.0
    stays = [count for count in sorted(set(iterations)) if iterations.count(count) >= 6]
    assert all(count % UPDATES == 0 for count in stays), "it generates before every eighth iteration"
    assert len(stays) >= 2


def test_evaluation_is_bursts_on_half_of_the_gpus() -> None:
    found = sampled(doing(WorkKind.EVALUATION, hosts=2, gpus=4, load_bytes=0.1e9), range(5, 400, 5))["utilization"]
    by_gpu = found.reshape(-1, 2, 4)
    assert by_gpu[:, :, 2:].max() == 0.0
    assert 0.3 < (by_gpu[:, :, :2] > 0.5).mean() < 0.75, "about half of the cycle"
    assert (by_gpu[:, :, :2] < 0.05).mean() > 0.2


def test_notebooks_hold_memory_and_are_mostly_idle() -> None:
    found = sampled(doing(WorkKind.NOTEBOOK, hosts=2, gpus=8), range(70, 470, 10))
    assert 0.0 < found["utilization"].mean() < 0.1
    assert (found["framebuffer_used"][-1] > 1e9).mean() > 0.9
    assert found["utilization"].max() > 0.15


def test_a_partitioned_gpu_reports_no_utilisation_but_what_its_instances_do() -> None:
    found = sampled(doing(WorkKind.MIG, hosts=2, gpus=4), range(70, 370, 10))
    assert found["utilization"].max() == found["utilization"].min() == 0.0
    assert 0.05 < found["sm_active"].mean() < 0.4
    used = np.unique(found["framebuffer_used"])
    assert set(used.tolist()) <= {4e6, *(8e9 * instances for instances in range(1, 8))}
    assert len(used) >= 4


def test_several_jobs_share_a_host_and_no_gpu() -> None:
    cluster = after(doing(WorkKind.SUB_NODE, hosts=8, gpus=8, gap_s=0.0), 70)
    taken: dict[str, list[int]] = {}
    for job in cluster.jobs:
        (node,) = job.nodes
        assert len(job.gpu_indices) in (1, 2, 4)
        taken.setdefault(node, []).extend(job.gpu_indices)
    assert all(len(set(gpus)) == len(gpus) for gpus in taken.values())
    assert sum(len(gpus) for gpus in taken.values()) >= 60
    assert len(cluster.jobs) > 16
    sizes = [len(slot.gpus) for slot in cluster.machine.jobs.slots]
    assert sizes.count(1) > sizes.count(2) + sizes.count(4) - 8
    facts = {fact.entity.gpu_indices for fact in cluster.job_facts()}  # type: ignore[union-attr]
    assert () not in facts


def test_a_gpu_that_is_lost_or_hangs_costs_only_its_own_job() -> None:
    cluster = after(doing(WorkKind.SUB_NODE, gpus=8, lifetime_s=1e5), 70)
    machine = cluster.machine
    job, other = (job for job in cluster.jobs if job.nodes == ("node2",) and set(job.gpu_indices) & {0, 7})
    first = cluster.layout.host_gpus["node2"].start
    machine.gpus.hung[first + 7] = True
    machine.lose_gpu(first, 79)
    before = other.iterations
    after(cluster, 90)
    assert job.ends_ns > 0
    assert [ended.job_id for ended in machine.jobs.ended] == [job.job_id]
    held = cluster.layout.host_gpus["node2"].start + np.array(other.gpu_indices)
    assert cluster.readings.gpus.utilization[held].min() > 0.9, "polls or hangs"
    assert cluster.readings.gpus.tensor_active.min() >= 0.0
    assert cluster.readings.gpus.tensor_active[held].max() < 0.01
    assert other.iterations >= before


def test_a_host_without_power_ends_all_jobs_that_share_it_and_their_transfers() -> None:
    cluster = after(doing(WorkKind.SUB_NODE, gpus=8, lifetime_s=1e5), 70)
    shared = [job for job in cluster.jobs if job.nodes == ("node2",)]
    storage = cluster.machine.storage
    storage.request(READ, [1, 2], 50e9)
    cluster.machine.power(["node2"], False, "lost power")
    assert len(shared) >= 2
    assert all(job.ends_ns for job in shared)
    assert (storage.pending(READ, [1]), storage.pending(READ, [2])) == (False, True)


def test_small_jobs_have_one_host_each_and_live_for_minutes() -> None:
    cluster = doing(WorkKind.SMALL, hosts=8, gap_s=2.0, lifetime_s=1e5)
    after(cluster, 300)
    ended = cluster.machine.jobs.ended
    assert len(ended) >= 6
    assert {len(job.nodes) for job in ended} == {1}
    rng = np.random.default_rng(1)
    drawn = [SmallJob.lifetime_s(JobMix(), 0, rng) for _ in range(2000)]
    assert np.median(drawn) == pytest.approx(120.0, rel=0.1)
    assert np.mean(drawn) > 1.4 * np.median(drawn), "a long tail"
    sizes = [len(one.gpus) for one in SubNodeJob.allocations(list(range(500)), 8, rng)]
    assert 0.6 < sizes.count(1) / len(sizes) < 0.7, "and the last of a host get what is left"


def test_preprocessing_uses_cores_and_the_file_system_and_no_gpu() -> None:
    cluster = after(doing(WorkKind.PREPROCESSING), 60)
    readings = cluster.readings
    assert readings.gpus.utilization.max() == 0.0
    moved = cluster.machine.storage.host_bytes.sum(axis=1) / 4 / 58
    assert 0.5e9 < moved[0] < 1.5e9
    assert moved[1] == pytest.approx(moved[0] / 2, rel=0.3)
    assert 20 < readings.hosts.load1.mean() < 112
    assert cluster.job_facts() == []
    assert "gres/gpu" not in jobs_document(readings, 2)
    assert '"partition":"cpu"' in jobs_document(readings, 2)
    cluster.machine.stop_jobs("node1", "was cancelled")
    assert cluster.machine.jobs.cores.tolist() == [0.0] * 4


@pytest.mark.parametrize("kind", [WorkKind.INFERENCE, WorkKind.SMALL])
def test_what_was_served_grows_in_health_and_stands_still_where_a_gpu_hangs(kind: WorkKind) -> None:
    served = []
    for fault in ("", "straggler-gpu@0s:node1/0", "hung-gpu@0s:node1/0"):
        cluster = doing(kind, hosts=2, gpus=1, fault=fault, load_bytes=1e6, compute_s=1.0, lifetime_s=1e6)
        after(cluster, 12.0)
        jobs = [job for job in cluster.jobs if "node1" in job.nodes]
        served.append(sum(job.served_s for job in jobs))
    healthy, slow, hung = served
    assert healthy > hung
    assert healthy >= slow
    assert (kind is WorkKind.SMALL) == (hung == 0.0)  # a replica of the other host serves on
