"""How training exchanges: over trees, while it computes, to experts, and inside hosts."""

from typing import Any

import numpy as np
import pytest

from simulator.cluster import SimulatedCluster
from simulator.compute.figures import COMPUTE, SPIN
from simulator.compute.jobs import JobRun
from simulator.compute.work.experts import AllToAll, ExpertTraining
from simulator.compute.work.kind import WorkKind
from simulator.compute.work.tensor_parallel import compute_together
from simulator.compute.work.tree import Trees, parents
from simulator.fabric.state import Floats
from tests.unit.simulator.compute.work.clusters import after, doing

QUIET: dict[str, Any] = {"load_bytes": 0.0, "checkpoint_period_s": 1e6}


def training(cluster: SimulatedCluster) -> JobRun:
    (run,) = cluster.machine.jobs.running
    assert isinstance(run, JobRun)
    return run


def sent(cluster: SimulatedCluster) -> float:
    """Bytes of one NIC."""
    fabric = cluster.machine.fabric
    return float(fabric.queues.sent[fabric.egress(cluster.layout.nic_index["node2", "mlx5_1"])])


def marked(cluster: SimulatedCluster) -> Floats:
    """Part of the packets marked by each leaf port that faces a host."""
    layout, queues = cluster.layout, cluster.machine.fabric.queues
    ports = [p for p, port in enumerate(layout.ports) if port.nic >= 0 and layout.nics[port.nic].device in layout.hosts]
    packets: Floats = queues.sent[ports] / 4178.0
    return queues.marked[ports] / np.maximum(1.0, packets)


@pytest.mark.parametrize("members", [1, 2, 3, 4, 7, 8, 33, 64])
def test_both_trees_reach_everybody_and_are_as_low_as_binary_trees_are(members: int) -> None:
    for parent in parents(members):
        depth = []
        for member in range(members):
            steps, at = 0, member
            while parent[at] >= 0:
                steps, at = steps + 1, parent[at]
            depth.append(steps)
            assert parent[at] == -1
        assert (parent == -1).sum() == 1
        assert np.bincount(parent[parent >= 0], minlength=members).max(initial=0) <= 2
        assert max(depth) <= np.ceil(np.log2(members)) + 1


@pytest.mark.parametrize("members", [4, 8, 32])
def test_who_forwards_in_one_tree_is_a_leaf_of_the_other(members: int) -> None:
    """So no NIC receives from two children in both."""
    first, second = (np.bincount(parent[parent >= 0], minlength=members) for parent in parents(members))
    assert np.flatnonzero((first > 1) & (second > 1)).size == 0


def trees() -> Trees:
    found = training(after(doing(WorkKind.TREE), 2.5))._rings
    assert isinstance(found, Trees)
    found.begin(1000.0)
    found._fabric.flows.backlog[found._used] = 0.0
    return found


def test_every_edge_of_a_tree_carries_half_of_the_gradient_up_and_down() -> None:
    found, ready = trees(), np.ones((4, 2), np.bool_)
    flows, sent = found._fabric.flows, np.zeros(found._used.size)
    for _ in range(200):
        if found.step(ready):
            break
        moved = np.minimum(flows.backlog[found._used], 40.0)
        flows.backlog[found._used] -= moved
        flows.delivered[found._used] += moved
        sent += moved
    assert sent == pytest.approx(np.full(sent.size, 250.0), abs=32.0), "two queue pairs share 500 bytes"


def test_nothing_comes_down_a_tree_before_the_root_is_ready() -> None:
    found, ready = trees(), np.ones((4, 2), np.bool_)
    ready[found.parent[0] == -1] = False
    flows = found._fabric.flows
    for _ in range(50):
        assert not found.step(ready)
        flows.delivered[found._used] += flows.backlog[found._used]
        flows.backlog[found._used] = 0.0
    root = int(np.flatnonzero(found.parent[0] == -1)[0])
    children = np.flatnonzero(found.parent[0] == root)
    down = found.rows[1, 0, children]
    assert flows.delivered[down].sum() == 0.0


def test_ports_below_inner_members_of_a_tree_mark_more_than_in_a_ring() -> None:
    ring, tree = (marked(after(doing(kind, hosts=8, **QUIET), 20)) for kind in (WorkKind.DATA_PARALLEL, WorkKind.TREE))
    assert tree.max() > 3 * ring.max()


@pytest.mark.parametrize(("kind", "overlaps"), [(WorkKind.DATA_PARALLEL, False), (WorkKind.OVERLAPPED, True)])
def test_the_network_is_busy_while_gpus_compute_when_the_all_reduce_overlaps(kind: WorkKind, overlaps: bool) -> None:
    cluster = after(doing(kind, step_ms=20, **QUIET), 3)
    run = training(cluster)
    while_computing = total = 0.0
    for _ in range(500):
        before = sent(cluster)
        cluster.machine.step()
        total += sent(cluster) - before
        while_computing += (sent(cluster) - before) * bool((run._left > 0.0).all())
    assert total > 0.0
    assert (while_computing / total > 0.5) == overlaps
    assert (while_computing == 0.0) == (not overlaps)


def test_overlap_saves_most_of_the_all_reduce() -> None:
    kinds = (WorkKind.DATA_PARALLEL, WorkKind.OVERLAPPED)
    apart, overlapped = (after(doing(kind, step_ms=20, **QUIET), 42).jobs[0].iterations for kind in kinds)
    assert overlapped > 1.2 * apart
    assert overlapped == pytest.approx(40 / 1.25, rel=0.1), "little more than the compute time"


def test_hot_experts_make_leaf_ports_mark_in_health() -> None:
    experts = after(doing(WorkKind.MIXTURE_OF_EXPERTS, hosts=8, **QUIET), 30)
    ring = after(doing(WorkKind.DATA_PARALLEL, hosts=8, **QUIET), 30)
    assert marked(experts).max() > 0.02
    assert marked(experts).max() > 10 * marked(ring).max()
    assert experts.truth == []


def test_the_same_experts_stay_hot_for_a_while() -> None:
    cluster = doing(WorkKind.MIXTURE_OF_EXPERTS, hosts=8, **QUIET)
    fabric = cluster.machine.fabric
    nics = [fabric.receive(nic) for host in cluster.layout.hosts for nic in cluster.layout.device_nics[host]]
    received = []
    for second in (12, 22, 32):
        received.append(fabric.queues.sent[nics].copy())
        after(cluster, second)
    received.append(fabric.queues.sent[nics].copy())
    early, late = received[2] - received[1], received[3] - received[2]
    assert early.max() / early.mean() > 1.3
    assert np.corrcoef(early, late)[0, 1] > 0.9


def test_what_is_hot_changes_slowly_and_stays_as_uneven() -> None:
    run = training(after(doing(WorkKind.MIXTURE_OF_EXPERTS, hosts=8), 3))
    assert isinstance(run, ExpertTraining)
    heat = []
    for _ in range(2000):
        run._begin_compute()
        heat.append(run._heat.ravel().copy())
    assert np.std(heat) == pytest.approx(0.4, rel=0.25)
    assert np.mean(heat[1] * heat[11]) > 0.8 * np.mean(heat[1] * heat[1])
    assert np.corrcoef(heat[0], heat[1999])[0, 1] < 0.7


def test_tokens_go_to_gpus_in_proportion_to_their_load() -> None:
    run = training(after(doing(WorkKind.MIXTURE_OF_EXPERTS), 3))
    assert isinstance(run, ExpertTraining)
    exchange: AllToAll = run._exchanges[0]
    load = np.array([[1.0, 1.0], [2.0, 1.0], [4.0, 1.0], [1.0, 1.0]])
    exchange.begin(120.0, load)
    flows = exchange._fabric.flows
    received = np.zeros(len(run._resources.layout.nics))
    np.add.at(received, flows.destination[exchange.rows], exchange._sizes)
    nics = [list(run._resources.layout.device_nics[run._resources.layout.hosts[h]]) for h in run.members.hosts]
    assert received[np.array(nics)] == pytest.approx(load / load.sum() * 120.0 * 8 * 3 / 4), (
        "the rest stays in the host"
    )


def test_experts_wait_until_their_slowest_member_has_sent() -> None:
    run = training(after(doing(WorkKind.MIXTURE_OF_EXPERTS), 3))
    assert isinstance(run, ExpertTraining)
    exchange = run._exchanges[0]
    exchange.begin(100.0, np.ones((4, 2)))
    ready = np.ones((4, 2), np.bool_)
    ready[2, 1] = False
    for _ in range(3):
        assert not exchange.step(ready)
        exchange._fabric.flows.delivered[exchange.rows] = 1e12
    ready[2, 1] = True
    assert not exchange.step(ready)
    assert exchange.step(ready)


def test_the_gpus_of_a_host_wait_for_the_slowest_of_them_in_every_layer() -> None:
    gpus, clock, hung = np.array([[0, 1], [2, 3]]), np.array([1.0, 0.5, 1.0, 1.0]), np.zeros(4, np.bool_)
    left, spent, kernels = np.full((2, 2), 1.0), np.zeros((4, 5)), np.zeros((4, 4))
    ready = np.zeros((2, 2), np.bool_)
    for _ in range(15):
        compute_together(0.1, gpus, clock, hung, left, spent, kernels, ready)
    assert left[:, 0] == pytest.approx([0.25, 0.0], abs=1e-6)
    assert ready.tolist() == [[False, False], [True, True]]
    assert spent[0, COMPUTE] == pytest.approx(1.5 * (0.15 + 0.85 * 0.5))
    assert spent[0, SPIN] == pytest.approx(1.5 * 0.85 * 0.5)
    assert spent[1, SPIN] == pytest.approx(0.0, abs=1e-9)
    assert spent[2, COMPUTE] == pytest.approx(1.0)
    hung[1] = True
    compute_together(0.1, gpus, clock, hung, left, spent, kernels, ready)
    assert left[0, 0] == pytest.approx(0.25, abs=1e-6), "nothing moves on"


def test_tensor_parallel_training_uses_nvlink_more_and_the_network_less() -> None:
    found = []
    for kind in (WorkKind.DATA_PARALLEL, WorkKind.TENSOR_PARALLEL):
        cluster = after(doing(kind, gpus=8, **QUIET), 20)
        each = sent(cluster) / cluster.jobs[0].iterations
        found.append((each, cluster.readings.gpus.nvlink_rate.mean()))
    (apart_sent, apart_nvlink), (together_sent, together_nvlink) = found
    assert together_sent < 0.2 * apart_sent
    assert together_nvlink > apart_nvlink
