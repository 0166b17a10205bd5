"""What is logged of a real cluster: work, ways and absences; and that the log changes nothing."""

import numpy as np

from common.units import NS_PER_S
from evaluation.families.counterfactual.log import ClusterLog
from simulator.cluster import SimulatedCluster
from simulator.config import JobMix, SimulatorConfig
from simulator.faults.schedule import parse_fault

CONFIG = SimulatorConfig(hosts=4, gpus_per_host=2, jobs=JobMix(jobs=1), step_ms=50)


def run(*faults: str, observed: bool = True, until_s: int = 40) -> tuple[SimulatedCluster, ClusterLog | None]:
    cluster = SimulatedCluster(CONFIG, NS_PER_S)
    log = ClusterLog(cluster) if observed else None
    for fault in faults:
        cluster.inject(parse_fault(fault))
    cluster.advance((1 + until_s) * NS_PER_S)
    return cluster, log


def test_the_log_has_every_iteration_and_changes_none() -> None:
    cluster, log = run()
    assert log is not None
    (job,) = log.record().jobs.values()
    (running,) = cluster.jobs
    assert (job.work[-1], len(job.times_ns)) == (running.iterations, running.iterations)
    alone, _ = run(observed=False)
    assert np.array_equal(cluster.readings.ports.bytes, alone.readings.ports.bytes)


def test_ways_are_those_of_the_ring_and_change_with_a_broken_link() -> None:
    whole, broken = run()[1], run("link-down@20s+15s:leaf1/Ethernet16")[1]
    assert whole is not None
    assert broken is not None
    before = set(whole.record().used(10 * NS_PER_S, 15 * NS_PER_S))
    assert before == set(broken.record().used(10 * NS_PER_S, 15 * NS_PER_S))
    meanwhile = set(broken.record().used(25 * NS_PER_S, 30 * NS_PER_S))
    assert meanwhile - before
    pairs = {(route.source, route.destination) for route in before}
    assert {(route.source, route.destination) for route in meanwhile} <= pairs


def test_gpus_that_are_gone_and_jobs_that_die_are_logged() -> None:
    _, log = run("xid@10s:node1/0")
    assert log is not None
    record = log.record()
    ((gpu, (span,)),) = record.gone.items()
    assert (gpu, span.last_ns) == (0, 41 * NS_PER_S)
    assert 11 * NS_PER_S < span.first_ns <= 12 * NS_PER_S  # as of the next second
    assert record.jobs["4711"].ended_ns == 11 * NS_PER_S
