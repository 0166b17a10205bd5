"""A file system as others leave it: their share, a rebuild, disks, files on one target, a busy metadata server."""

import numpy as np
import pytest

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.compute.storage import READ, WRITE
from simulator.conditions.config import ConditionConfig
from simulator.conditions.storage import HddTargets, OtherClients, StorageRebuild
from simulator.config import JobMix, SimulatorConfig
from simulator.faults.schedule import parse_fault


def cluster_of(*names: str, strength: float = 1.0, **mix: float) -> SimulatedCluster:
    conditions = tuple(ConditionConfig(name=name, strength=strength) for name in names)
    jobs = JobMix.model_validate({"checkpoint_period_s": 60.0, **mix})
    config = SimulatorConfig(hosts=4, gpus_per_host=4, spines=1, step_ms=50, seed=4, jobs=jobs, conditions=conditions)
    return SimulatedCluster(config, start_ns=0)


def rpc_ms(cluster: SimulatedCluster) -> np.ndarray:
    """[T] mean time of a read and of a write."""
    storage = cluster.readings.storage
    times = np.array([storage.read_s, storage.write_s])
    return 1e3 * times / np.maximum(1.0, [storage.reads, storage.writes])


def only_the_condition(cluster: SimulatedCluster, seconds: int) -> None:
    """Its steps alone, without those of the machine."""
    for _ in range(20 * seconds):
        cluster.conditions[0].step()
        cluster.machine.steps += 1
    cluster.machine.publish()


def test_other_clients_show_on_idle_targets_and_vary() -> None:
    cluster = cluster_of("other-clients", jobs=0)
    rates, before = [], np.zeros(4)
    for _ in range(15):
        only_the_condition(cluster, 60)
        storage = cluster.readings.storage
        now = storage.read_bytes + storage.written_bytes
        rates.append((now - before) / 60.0)
        before = now
    found = np.array(rates) / 10e9
    assert 0.08 < found.mean() < 0.4
    assert found.max() > 3.0 * found.min()
    assert found.max() <= OtherClients.MOST
    assert (rpc_ms(cluster) > 1.0).all(), "1 ms on an idle target"
    assert cluster.readings.hosts.lustre_read_bytes.sum() == 0.0


def test_other_clients_slow_a_checkpoint() -> None:
    alone, shared = cluster_of(), cluster_of("other-clients", strength=2.0)
    for cluster in (alone, shared):
        cluster.advance(130 * NS_PER_S)
    assert shared.machine.storage.free.max() < 1.0
    assert sum(job.iterations for job in shared.jobs) < sum(job.iterations for job in alone.jobs)


def test_a_switched_off_server_serves_nobody() -> None:
    cluster = cluster_of("other-clients", jobs=0)
    cluster.advance(10 * NS_PER_S)
    cluster.machine.power(["oss1"], False, "")
    before = cluster.machine.storage.target_bytes.copy()
    cluster.advance(20 * NS_PER_S)
    moved = (cluster.machine.storage.target_bytes - before).sum(axis=0)
    assert (moved > 0.0).tolist() == [target.server != "oss1" for target in cluster.layout.targets]


def test_a_rebuild_takes_a_third_of_one_target_for_a_while() -> None:
    cluster = cluster_of("storage-rebuild", jobs=0, strength=2.0)
    free = []
    for _ in range(3600):
        only_the_condition(cluster, 1)
        free.append(cluster.machine.storage.free.copy())
    slow = np.array(free) < 0.99
    assert set(slow.sum(axis=1).tolist()) == {0, 1}
    assert np.allclose(np.array(free)[slow], 1.0 - StorageRebuild.SHARE)
    assert 0.2 < slow.any(axis=1).mean() < 0.8
    begins = int((np.diff(slow.any(axis=1).astype(int)) == 1).sum())
    assert 1 <= begins <= 8
    assert cluster.changes == [], "nobody announces it"


def test_a_rebuild_and_a_fault_of_the_same_target_multiply_and_end() -> None:
    cluster = cluster_of("other-clients", "storage-rebuild", jobs=0)
    cluster.inject(parse_fault("slow-storage-target@10s+30s:scratch/OST0000"))
    cluster.advance(20 * NS_PER_S)
    storage = cluster.machine.storage
    assert storage.speed[0] == pytest.approx(0.06)
    assert storage.free[0] < 1.0
    cluster.advance(60 * NS_PER_S)
    assert storage.speed[0] == 1.0


def test_disks_take_20_to_100_ms_for_an_rpc() -> None:
    fast, disks = cluster_of(), cluster_of("hdd-targets")
    for cluster in (fast, disks):
        cluster.advance(100 * NS_PER_S)
    assert (rpc_ms(fast) < 15.0).all()
    assert (rpc_ms(disks) > 1e3 * HddTargets.SHORTEST_S).all()
    assert (rpc_ms(disks) < 1e3 * HddTargets.LONGEST_S).all()


def test_half_of_the_targets_can_be_disks() -> None:
    cluster = cluster_of("hdd-targets", strength=0.5)
    cluster.advance(100 * NS_PER_S)
    assert (np.sort(rpc_ms(cluster)[READ]) > 20.0).tolist() == [False, False, True, True]


def test_files_of_one_stripe_lie_on_one_target_each() -> None:
    cluster = cluster_of("one-stripe-files", jobs=0)
    machine = cluster.machine
    machine.storage.request(WRITE, [0, 1, 2, 3], 8e9)
    backlog = machine.fabric.flows.backlog[machine.storage.rows[WRITE]]
    assert (np.sort(backlog, axis=1) == [0.0, 0.0, 0.0, 8e9]).all()


def test_one_stripe_files_make_some_targets_busier_than_others() -> None:
    cluster = cluster_of("one-stripe-files", strength=1.0)
    cluster.advance(130 * NS_PER_S)
    written = cluster.readings.storage.written_bytes
    assert written.max() > 1.5 * written.min()
    assert written.sum() == pytest.approx(cluster.readings.hosts.lustre_written_bytes.sum())


def test_a_busy_metadata_server_delays_the_first_byte() -> None:
    idle, busy = cluster_of(jobs=0), cluster_of("metadata-load", jobs=0, strength=10.0)
    done_s = []
    for cluster in (idle, busy):
        cluster.advance(NS_PER_S)
        cluster.machine.storage.request(READ, [0, 1], 1e9)
        while cluster.machine.storage.pending(READ, [0, 1]):
            cluster.advance(cluster.now_ns + NS_PER_S // 20)
        done_s.append(cluster.now_ns / NS_PER_S - 1.0)
    assert done_s[0] < 0.5
    assert done_s[0] + 0.5 < done_s[1] < 120.0
    assert rpc_ms(busy)[READ] == pytest.approx(rpc_ms(idle)[READ], rel=0.5), "no RPC waits in a queue of a target"


def test_jobs_go_on_under_metadata_load() -> None:
    cluster = cluster_of("metadata-load", strength=3.0)
    cluster.advance(200 * NS_PER_S)
    assert min(job.iterations for job in cluster.jobs) > 20
    assert min(job.checkpoints for job in cluster.jobs) >= 1
