"""Small clusters that do one kind of work."""

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.compute.work.kind import WorkKind
from simulator.config import JobMix, SimulatorConfig
from simulator.faults.schedule import parse_fault

NOON_NS = 1_699_963_200 * NS_PER_S  # 14 November 2023, 12:00 UTC


def doing(
    *kinds: WorkKind, hosts: int = 4, gpus: int = 2, step_ms: int = 50, fault: str = "", **mix: float
) -> SimulatedCluster:
    """A cluster in which one slot a kind divides the hosts."""
    jobs = JobMix.model_validate({"jobs": len(kinds), "kinds": kinds, **mix})
    config = SimulatorConfig(hosts=hosts, gpus_per_host=gpus, step_ms=step_ms, jobs=jobs)
    cluster = SimulatedCluster(config, start_ns=NOON_NS)
    if fault:
        cluster.inject(parse_fault(fault))
    return cluster


def after(cluster: SimulatedCluster, seconds: float) -> SimulatedCluster:
    cluster.advance(cluster.start_ns + int(seconds * NS_PER_S))
    return cluster
