"""A job whose pace is low while ports are paused: whether it waits for them, or for something else."""

from dataclasses import replace

import pytest

from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import Severity
from tests.unit.analytics.correlate.faults import incast
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, Run, S


@pytest.mark.parametrize(("waits_s", "severity"), [(5, Severity.INFO), (10, Severity.CRITICAL)])
def test_an_incast_pages_once_every_port_was_read_again_since_the_job_waits(
    cluster: Fabric, run: Run, waits_s: int, severity: Severity
) -> None:
    """The next collection may show that the congested port is paused by another one, which is where it begins."""
    run.tick(*incast(cluster)[0], ticks=6)
    waiting = cluster.find(K.JOB_STALLED, "job:1", (run.now_ns - T0) / S)
    run.tick(waiting, ticks=waits_s // 5)
    assert run.of_kind(I.INCAST).severity is severity


@pytest.mark.parametrize(
    ("lost", "waits_s", "severity"),
    [(0.3, 15, Severity.INFO), (0.3, 20, Severity.CRITICAL), (0.5, 5, Severity.INFO), (0.5, 10, Severity.CRITICAL)],
)
def test_an_incast_pages_for_a_bin_that_is_hardly_low_once_the_next_one_was_judged(
    cluster: Fabric, run: Run, lost: float, waits_s: int, severity: Severity
) -> None:
    run.tick(*incast(cluster)[0], ticks=6)
    run.tick(dip(cluster, (run.now_ns - T0) / S, lost), ticks=waits_s // 5)
    assert run.of_kind(I.INCAST).severity is severity


def dip(cluster: Fabric, onset_s: float, lost: float = 0.8) -> Finding:
    """A single low bin of job 1, which opens no incident."""
    finding = cluster.find(K.JOB_SLOWED, "job:1", onset_s, score=0.5)
    return replace(finding, confidence=0.2, evidence=(Evidence("work", 1.0 - lost, 1.0, "ratio"),))


@pytest.mark.parametrize(
    ("also_paused_by", "slumps", "severity"),
    [
        (None, False, Severity.CRITICAL),
        (1, False, Severity.INFO),  # node1 runs the same job, and pauses its leaf as well
        (5, False, Severity.CRITICAL),  # node5 runs another one
        (1, True, Severity.CRITICAL),
    ],
)
def test_a_job_whose_hosts_pause_here_and_there_does_not_wait_for_one_of_them_by_one_low_bin(
    cluster: Fabric, run: Run, also_paused_by: int | None, slumps: bool, severity: Severity
) -> None:
    if also_paused_by is not None:
        run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(2, also_paused_by), 0))
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(3, 2), 0, score=3))
    low = dip(cluster, 5)
    run.tick(replace(low, confidence=0.8, score=1.5) if slumps else low)
    run.tick(ticks=2)
    assert run.about(cluster.facing(3, 2)).severity is severity


@pytest.mark.parametrize(
    ("port", "score", "severity"),
    [
        ("", 0.5, Severity.CRITICAL),  # a single low bin of its pace
        ("", 1.5, Severity.INFO),
        ("leaf1/Ethernet7000", 1.5, Severity.CRITICAL),  # of a storage server, where its data come from
    ],
)
def test_a_job_that_works_less_outside_of_kernels_waits_for_no_port_but_that_of_its_storage(
    cluster: Fabric, run: Run, port: str, score: float, severity: Severity
) -> None:
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, port or cluster.facing(3, 2), 0))
    run.tick(replace(dip(cluster, 5), score=score))
    run.tick(ticks=3)
    assert run.of_kind(I.SLOW_RECEIVER).severity is severity


def test_an_incast_of_experts_is_not_why_a_job_waits_for_its_data(cluster: Fabric, run: Run) -> None:
    run.tick(*incast(cluster)[0], ticks=6)
    run.tick(replace(dip(cluster, (run.now_ns - T0) / S), score=1.5), ticks=12)
    assert (run.only.kind, run.only.severity) == (I.INCAST, Severity.INFO)


@pytest.mark.parametrize(
    ("idle", "expected"),
    [(True, {(I.INCAST, Severity.INFO), (I.UNEXPLAINED, Severity.CRITICAL)}), (False, {(I.INCAST, Severity.CRITICAL)})],
)
def test_an_incast_of_experts_is_not_why_gpus_have_no_kernels(
    cluster: Fabric, run: Run, idle: bool, expected: set[tuple[I, Severity]]
) -> None:
    """A job that computes nothing while it opens the files of its data."""
    run.tick(*incast(cluster)[0], ticks=6)
    at_s = (run.now_ns - T0) / S
    waits = replace(cluster.find(K.JOB_IDLE, "job:1", at_s), confidence=0.2)
    run.tick(*[waits] * idle, cluster.find(K.JOB_STALLED, "job:1", at_s))
    run.tick(ticks=14)
    assert {(incident.kind, incident.severity) for incident in run.incidents.values()} == expected
