"""Hosts whose collectives go over TCP: who is named, and who is notified."""

from dataclasses import replace

from analytics.detectors.jobs.tcp_fallback import UNPROVED_CONFIDENCE
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind, Severity
from tests.unit.analytics.correlate.faults import tcp_fallback
from tests.unit.analytics.correlate.small_fabric import Fabric, Run


def test_a_job_in_lockstep_waits_for_it_without_showing_it(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.TCP_FALLBACK, "node6"), ticks=6)
    assert run.pages == ["tcp_fallback node6"]
    assert run.only.title == "[WARN] pod1: node6 fell back from RDMA to TCP — 32 GPUs, 1 job at risk"


def test_where_no_lockstep_is_shown_it_pages_nobody_until_a_job_waits(cluster: Fabric, run: Run) -> None:
    run.tick(replace(cluster.find(K.TCP_FALLBACK, "node6"), confidence=UNPROVED_CONFIDENCE), ticks=6)
    assert (run.only.kind, run.only.severity) == (IncidentKind.TCP_FALLBACK, Severity.INFO)
    assert run.pages == []
    run.tick(cluster.find(K.JOB_SLOWED, "job:2", 20), ticks=2)
    assert run.pages == ["tcp_fallback node6"]
    assert run.only.blast.jobs == ("2",)


def test_the_job_that_waits_is_the_one_of_the_host(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.TCP_FALLBACK, "node6"), cluster.find(K.JOB_SLOWED, "job:1", 1), ticks=30)
    assert run.roots == ["tcp_fallback node6", "unexplained 1"]


def test_hosts_of_one_job_are_one_incident_about_the_one_that_carries_most(cluster: Fabric, run: Run) -> None:
    found = [cluster.find(K.TCP_FALLBACK, f"node{node}", score=score) for node, score in ((5, 2), (6, 4), (7, 3))]
    run.tick(*found, cluster.find(K.JOB_SLOWED, "job:2", 1), ticks=30)
    assert run.roots == ["tcp_fallback node6"]
    assert "2 more hosts" in run.only.because[0]
    assert run.pages == ["tcp_fallback node6"]


def test_the_root_stays_when_another_host_comes_to_carry_more(cluster: Fabric, run: Run) -> None:
    first = cluster.find(K.TCP_FALLBACK, "node6", score=3)
    run.tick(first, cluster.find(K.JOB_SLOWED, "job:2", 1), ticks=4)
    run.tick(cluster.find(K.TCP_FALLBACK, "node7", 20, score=4), replace(first, score=2.0), ticks=10)
    assert run.roots == ["tcp_fallback node6"]


def test_hosts_of_two_jobs_are_two_incidents(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.TCP_FALLBACK, "node2"), cluster.find(K.TCP_FALLBACK, "node6"), ticks=30)
    assert run.roots == ["tcp_fallback node2", "tcp_fallback node6"]


def test_what_it_does_not_predict_is_another_fault(cluster: Fabric, run: Run) -> None:
    ticks = tcp_fallback(cluster)
    run.tick(*ticks[0], *ticks[1], cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0002", 1), ticks=30)
    assert run.roots == ["slow_storage scratch/OST0002", "tcp_fallback node6"]
