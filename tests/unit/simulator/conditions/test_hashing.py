"""Flows that are hashed to spines: uneven uplinks, marks in health, and every new flow draws again."""

import numpy as np

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.conditions.config import ConditionConfig
from simulator.config import JobMix, SimulatorConfig
from simulator.layout import LOSSLESS


def run(strength: float, seconds: int, **mix: float) -> SimulatedCluster:
    conditions = (ConditionConfig(name="hash-collisions", strength=strength),) if strength else ()
    config = SimulatorConfig(step_ms=50, seed=5, jobs=JobMix.model_validate(mix), conditions=conditions)
    cluster = SimulatedCluster(config, start_ns=0)
    cluster.advance(seconds * NS_PER_S)
    return cluster


def imbalance(cluster: SimulatedCluster) -> float:
    """Largest to smallest uplink of each leaf with hosts, mean over the leaves."""
    layout, sent = cluster.layout, cluster.readings.ports.bytes[:, 1]
    found = []
    for leaf in layout.leaves:
        rows = [i for i in layout.switch_ports[leaf] if layout.ports[i].nic < 0]
        if any(layout.ports[i].peer_device.startswith("node") for i in layout.switch_ports[leaf]):
            found.append(sent[rows].max() / sent[rows].min())
    return float(np.mean(found))


def marked(cluster: SimulatedCluster) -> float:
    ports = cluster.readings.ports
    return float(ports.queue_ecn_packets[:, LOSSLESS].sum() / ports.queue_packets[:, LOSSLESS].sum())


def test_uplinks_are_uneven_and_packets_are_marked_in_health() -> None:
    even, hashed = run(0.0, 120), run(1.0, 120)
    assert imbalance(even) < 1.1
    assert 1.2 < imbalance(hashed) < 6.0
    assert marked(hashed) > 3.0 * marked(even)
    assert hashed.readings.ports.discards.sum() == 0.0
    assert sum(job.iterations for job in hashed.jobs) < sum(job.iterations for job in even.jobs)


def test_a_part_of_the_flows_can_be_hashed() -> None:
    cluster = run(0.3, 5)
    flows = cluster.machine.fabric.flows
    spread = flows.spread[flows.used]
    assert 0.2 < (spread > 1000).mean() < 0.4


def test_the_next_job_collides_elsewhere() -> None:
    cluster = run(1.0, 20, lifetime_s=30.0, gap_s=2.0)
    flows = cluster.machine.fabric.flows
    ring = flows.used & (flows.source < 64) & (flows.destination < 64)
    before = flows.path[ring, 1].copy()
    cluster.advance(60 * NS_PER_S)
    assert (flows.path[ring, 1] != before).mean() > 0.3
