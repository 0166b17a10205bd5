"""Jobs that end early: how many, when, how, and what an application's XID leaves behind."""

import functools

import numpy as np
import pytest

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.compute.record import RunningJob
from simulator.conditions.config import ConditionConfig
from simulator.conditions.jobs import ApplicationXids
from simulator.config import JobMix, SimulatorConfig
from telemetry.changes import ChangeKind

LIFETIME_S = 14.0


@functools.cache
def run(name: str, strength: float, seconds: int, lifetime_s: float = LIFETIME_S) -> SimulatedCluster:
    mix = JobMix(jobs=4, lifetime_s=lifetime_s, gap_s=0.5, allreduce_bytes=1e9, load_bytes=0.0)
    config = SimulatorConfig(
        hosts=8,
        gpus_per_host=1,
        spines=1,
        step_ms=50,
        jobs=mix,
        seed=2,
        conditions=(ConditionConfig(name=name, strength=strength),),
    )
    cluster = SimulatedCluster(config, start_ns=0)
    cluster.advance(seconds * NS_PER_S)
    return cluster


def how_they_ended(cluster: SimulatedCluster) -> list[tuple[str, RunningJob]]:
    ends = [change for change in cluster.changes if change.kind is ChangeKind.JOB_END]
    reasons = [change.summary.rpartition(" ")[2] for change in ends]
    return list(zip(reasons, cluster.machine.jobs.ended, strict=True))


def lengths_s(cluster: SimulatedCluster, reason: str) -> list[float]:
    return [(job.ends_ns - job.started_ns) / NS_PER_S for why, job in how_they_ended(cluster) if why == reason]


@pytest.mark.parametrize(
    ("name", "reason", "strength", "share"),
    [
        ("user-crashes", "failed", 2.0, 0.48),
        ("cancelled-jobs", "cancelled", 2.0, 0.27),
    ],
)
def test_the_share_of_jobs_that_end_early(name: str, reason: str, strength: float, share: float) -> None:
    cluster = run(name, strength, 400)
    ended = how_they_ended(cluster)
    assert len(ended) > 80
    found = sum(why == reason for why, _ in ended) / len(ended)
    assert abs(found - share) < 3.0 * (share * (1 - share) / len(ended)) ** 0.5
    assert {why for why, _ in ended} == {reason, "completed"}


def test_crashes_come_early_and_cancellations_at_any_time() -> None:
    crashed, cancelled = (
        lengths_s(run(n, 2.0, 400), r) for n, r in (("user-crashes", "failed"), ("cancelled-jobs", "cancelled"))
    )
    assert np.median(crashed) < 0.25 * LIFETIME_S
    assert 0.3 * LIFETIME_S < np.median(cancelled) < LIFETIME_S


def test_an_hour_of_eight_hosts_sees_xids_of_applications() -> None:
    cluster = run("application-xids", 8.0, 450, lifetime_s=600.0)  # as many as in an hour of strength 1
    failed = [job for why, job in how_they_ended(cluster) if why == "failed"]
    assert 1 <= len(failed) <= 9, "3.2 expected"
    codes = set(cluster.readings.gpus.xid_last.tolist()) - {0.0}
    assert codes
    assert codes <= set(ApplicationXids.CODES)


def test_the_code_stays_on_a_healthy_gpu_until_its_host_boots() -> None:
    cluster = run("application-xids", 10.0, 300, lifetime_s=600.0)
    readings = cluster.readings
    struck = np.flatnonzero(readings.gpus.xid_last)
    assert struck.size
    assert readings.gpus.present.all()
    host = cluster.layout.gpus[struck[0]].device
    busy = {node for job in cluster.jobs for node in job.nodes}
    assert busy & {cluster.layout.gpus[g].device for g in struck}, "the next job runs on it"
    cluster.machine.power([host], False, "maintenance")
    cluster.machine.power([host], True, "")
    cluster.machine.publish()
    assert not readings.gpus.xid_last[list(cluster.layout.host_gpus[host])].any()


def test_an_idle_cluster_has_no_errors_of_applications() -> None:
    config = SimulatorConfig(
        hosts=2,
        gpus_per_host=2,
        step_ms=50,
        jobs=JobMix(jobs=0),
        conditions=(ConditionConfig(name="application-xids", strength=10.0),),
    )
    cluster = SimulatedCluster(config, start_ns=0)
    cluster.advance(60 * NS_PER_S)
    assert not cluster.readings.gpus.xid_last.any()
