"""A job whose GPUs all poll while its hosts send nothing hangs, unless something is broken that explains it."""

from dataclasses import replace

import pytest

from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import IncidentState, Severity
from tests.unit.analytics.correlate.faults import cycle_of_pauses, ring
from tests.unit.analytics.correlate.small_fabric import Fabric, Run

HOLD_TICKS = 14  # more than a minute


def silent(finding: Finding, *, polls: bool = True, seconds: float = 20.0) -> Finding:
    """Of a job whose hosts send nothing; polls: its GPUs are busy with that alone."""
    shown = [Evidence('sent_share{job_id="1"}', 0.0004, None, "ratio")]
    shown.append(Evidence('silent_seconds{job_id="1"}', seconds, None, "seconds"))
    shown += [Evidence('hang_seconds{job_id="1"}', seconds, None, "seconds")] if polls else []
    return replace(finding, evidence=(*finding.evidence, *shown))


def hang(cluster: Fabric, at: float = 0.0, *, polls: bool = True) -> Finding:
    return silent(cluster.find(K.JOB_SLOWED, "job:1", at), polls=polls)


def test_a_hang_alone_is_named_once_nothing_else_has_explained_it_for_a_minute(cluster: Fabric, run: Run) -> None:
    run.tick(hang(cluster), ticks=10)
    assert run.incidents == {}
    run.tick(silent(cluster.find(K.JOB_STALLED, "job:1", 40)), ticks=HOLD_TICKS)
    assert (run.only.kind, run.only.root.name, run.only.severity) == (I.JOB_HANG, "1", Severity.CRITICAL)
    assert run.only.title == "[CRIT] job 1 hangs — 32 GPUs, job 1 stalled"
    assert run.only.because[0].startswith("all of its GPUs poll")
    assert "py-spy dump" in run.only.runbook
    assert len(run.only.findings) == 2


def test_half_a_minute_of_a_hang_has_left_no_gpu_to_be_named_and_is_enough(cluster: Fabric, run: Run) -> None:
    slowed = cluster.find(K.JOB_SLOWED, "job:1")
    run.tick(silent(slowed, seconds=30.0, polls=False), ticks=3)
    assert run.incidents == {}
    run.tick(silent(slowed, seconds=30.0), ticks=2)
    assert (run.only.kind, run.only.root.name, run.only.severity) == (I.JOB_HANG, "1", Severity.CRITICAL)


@pytest.mark.parametrize("which", range(6))
def test_what_is_broken_comes_first_after_half_a_minute_too(cluster: Fabric, run: Run, which: int) -> None:
    kind, finding = broken(cluster)[which]
    run.tick(finding, silent(cluster.find(K.JOB_SLOWED, "job:1"), seconds=30.0), ticks=HOLD_TICKS)
    assert run.only.kind is kind


def test_it_ends_with_its_job_going_on(cluster: Fabric, run: Run) -> None:
    run.tick(hang(cluster), ticks=HOLD_TICKS)
    run.clear(hang(cluster))
    run.tick(ticks=HOLD_TICKS)
    assert (run.only.kind, run.only.state) == (I.JOB_HANG, IncidentState.RESOLVED)


def test_a_job_that_sends_nothing_with_idle_gpus_is_not_called_a_hang(cluster: Fabric, run: Run) -> None:
    run.tick(hang(cluster, polls=False), ticks=HOLD_TICKS)
    assert run.only.kind is I.UNEXPLAINED


def queue(cluster: Fabric) -> list[Finding]:
    """Ordinary congestion at a port of the job."""
    return [cluster.find(K.PFC_PAUSE_SENT, cluster.facing(2, 1)), cluster.find(K.QUEUE_CONGESTED, cluster.facing(2, 4))]


@pytest.mark.parametrize("polls", [True, False])
def test_a_queue_beside_it_pages_nobody_for_a_job_that_sends_nothing(cluster: Fabric, run: Run, polls: bool) -> None:
    run.tick(*queue(cluster), hang(cluster, polls=polls))
    run.tick(ticks=HOLD_TICKS)
    severities = {incident.kind: incident.severity for incident in run.incidents.values()}
    own = I.JOB_HANG if polls else I.UNEXPLAINED
    assert severities == {I.INCAST: Severity.INFO, own: Severity.CRITICAL}


def test_the_same_queue_slows_a_job_that_still_sends(cluster: Fabric, run: Run) -> None:
    slowed = cluster.find(K.JOB_SLOWED, "job:1")
    share = Evidence('sent_share{job_id="1"}', 0.3, None, "ratio")
    run.tick(*queue(cluster), replace(slowed, evidence=(*slowed.evidence, share)))
    run.tick(ticks=HOLD_TICKS)
    assert (run.only.kind, run.only.severity) == (I.INCAST, Severity.CRITICAL)


def test_a_slow_receiver_explains_a_silent_job_only_where_it_lets_nothing_through(cluster: Fabric, run: Run) -> None:
    port = cluster.facing(3, 2)
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, port), hang(cluster))
    run.tick(ticks=HOLD_TICKS)
    assert {incident.kind for incident in run.incidents.values()} == {I.SLOW_RECEIVER, I.JOB_HANG}
    other = Run(cluster)
    other.tick(cluster.find(K.PFC_PAUSE_RECEIVED, port), cluster.find(K.PAUSE_STORM, port), hang(cluster))
    other.tick(ticks=HOLD_TICKS)
    assert (other.only.kind, other.only.severity) == (I.SLOW_RECEIVER, Severity.CRITICAL)


def test_congestion_without_an_origin_is_not_what_a_silent_job_waits_for(cluster: Fabric, run: Run) -> None:
    run.tick(*cycle_of_pauses(cluster)[0], hang(cluster))
    run.tick(ticks=HOLD_TICKS)
    severities = {incident.kind: incident.severity for incident in run.incidents.values()}
    assert severities == {I.CONGESTION: Severity.INFO, I.JOB_HANG: Severity.CRITICAL}


def test_a_deadlock_stops_its_job(cluster: Fabric, run: Run) -> None:
    storms = [cluster.find(K.PAUSE_STORM, port) for port in ring(cluster)[:2]]
    run.tick(*cycle_of_pauses(cluster)[0], *storms, hang(cluster, 5))
    run.tick(ticks=HOLD_TICKS)
    assert (run.only.kind, run.only.root.kind) == (I.PAUSE_LOOP, "port")


def broken(cluster: Fabric) -> list[tuple[I, Finding]]:
    return [
        (I.GPU_FAULT, cluster.find(K.GPU_HUNG, cluster.gpu(1, 5))),
        (I.GPU_FAULT, cluster.find(K.GPU_LOST, cluster.gpu(1, 5))),
        (I.STRAGGLER, cluster.find(K.STRAGGLER, cluster.gpu(1, 5), score=4)),
        (I.LINK_DOWN, cluster.find(K.LINK_DOWN, cluster.facing(1, 1))),
        (I.SLOW_STORAGE, cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0002", score=8)),
        (I.LATE_CHECKPOINT, cluster.find(K.CHECKPOINT_LATE, "job:1")),
    ]


@pytest.mark.parametrize("which", range(6))
def test_what_is_broken_explains_it_also_when_it_shows_later(cluster: Fabric, run: Run, which: int) -> None:
    kind, finding = broken(cluster)[which]
    run.tick(hang(cluster), ticks=4)
    run.tick(finding)
    run.tick(ticks=HOLD_TICKS)
    assert run.only.kind is kind
    assert set(run.only.findings) == {finding.id, hang(cluster).id}


def test_a_hung_gpu_stalls_its_job_before_the_job_shows_it(cluster: Fabric, run: Run) -> None:
    """It is called hung where hardly one GPU of a job in lockstep computes, so the whole job stands still."""
    run.tick(cluster.find(K.GPU_HUNG, cluster.gpu(1, 1)), ticks=2)
    assert run.only.title.endswith("— 32 GPUs, job 1 stalled")
    assert run.only.severity is Severity.CRITICAL
    slowed = replace(cluster.find(K.JOB_SLOWED, "job:1", 5), evidence=(Evidence("work", 0.8, 1.0, "ratio"),))
    run.tick(slowed, ticks=2)  # its first low bin was mostly before
    assert run.only.title.endswith("— 32 GPUs, job 1 stalled")
