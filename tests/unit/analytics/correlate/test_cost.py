"""Share of time that jobs lose, GPU-seconds and severity, by hand. Jobs 1 and 2 have 32 GPUs each."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from analytics.config import DetectionConfig
from analytics.correlate.cause import cause_of
from analytics.correlate.cluster.cluster import Cluster
from analytics.correlate.config import CorrelateConfig
from analytics.correlate.cost import (
    CLEAR_INTERVALS,
    MEASURED_PAUSES,
    Wait,
    dead_gpus,
    divided,
    gpu_seconds,
    gpus_lost,
    lost_share,
    severity,
    waits,
)
from analytics.correlate.lifecycle import Life
from analytics.correlate.tracks import Track
from analytics.correlate.view import CorrelationView
from analytics.detectors import detectors
from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind, IncidentState, Severity
from telemetry.objects import ObjectRef, device, job, parse_object
from telemetry.topology import Job, TopologyFact
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, S


def view_of(cluster: Fabric, *findings: Finding) -> CorrelationView:
    known = Cluster()
    known.update(cluster.topology)
    return CorrelationView(findings, known)


def loses(cluster: Fabric, kind: K, about: str | ObjectRef, share: float, onset_s: float = 0.0) -> Finding:
    """A finding whose value is ``share`` below its normal."""
    finding = cluster.find(kind, about, onset_s)
    return replace(finding, evidence=(Evidence("s", 1.0 - share, 1.0, "ratio"),))


def track_of(kind: IncidentKind, root: str, *primary: Finding, onset_s: float = 0.0) -> Track:
    cause = cause_of(kind, parse_object(root), frozenset(), "")
    track = Track(cause, Life(IncidentState.FIRING, T0), T0 + int(onset_s * S))
    track.primary = {finding.id for finding in primary}
    return track


def lost_by(view: CorrelationView, track: Track, waiting: Mapping[str, Wait], now_ns: int) -> float:
    return gpu_seconds(view, track, waiting, dead_gpus(view, track), now_ns)


@pytest.mark.parametrize(
    ("value", "normal", "score", "share"),
    [
        (0.2, 1.0, 9, 0.8),
        (1.0, 0.2, 9, 0.8),
        (1.3, 1.0, 9, 0.3 / 1.3),  # 1.3 times as long busy as its peers, which wait for the difference
        (-2.0, 1.0, 9, 1.0),  # 3 / 2, and no more than all of the time
        (0.0, 0.0, 0.5, 0.5),  # no distance: the score counts
        (1.0, None, 3.0, 1.0),
        (1.0, None, 0.25, 0.25),
        (1.0, None, -1.0, 0.0),
    ],
)
def test_lost_share(cluster: Fabric, value: float, normal: float | None, score: float, share: float) -> None:
    finding = replace(
        cluster.find(K.JOB_STALLED, "job:1", score=score), evidence=(Evidence("s", value, normal, "ratio"),)
    )
    assert lost_share(finding) == pytest.approx(share)


def test_the_evidence_with_the_largest_share_counts(cluster: Fabric) -> None:
    evidence = (Evidence("a", 0.9, 1.0, ""), Evidence("b", 0.4, 1.0, ""), Evidence("c", 0.0, None, ""))
    assert lost_share(replace(cluster.find(K.JOB_SLOWED, "job:1"), evidence=evidence)) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("findings", "measured", "share"),
    [
        ([], (), None),
        ([(K.DEVIATION, "node1", 0.9)], (), None),  # shows no waiting
        ([(K.STRAGGLER, "gpu", 0.45)], (), 0.45),
        ([(K.STRAGGLER, "gpu", 0.45)], ("1",), None),  # the job's own work is known
        ([(K.STRAGGLER, "gpu", 0.45)], ("2",), 0.45),
        ([(K.STRAGGLER, "gpu", 0.45), (K.JOB_SLOWED, "job:1", 0.36)], ("1",), 0.36),
        ([(K.CHECKPOINT_LATE, "job:1", 0.5), (K.JOB_SLOWED, "job:1", 0.2)], (), 0.2),
        ([(K.JOB_SLOWED, "job:1", 0.36), (K.JOB_STALLED, "job:1", 0.9)], ("1",), 0.9),
        ([(K.JOB_SLOWED, "job:1", 0.9), (K.JOB_STALLED, "job:1", 0.3)], ("1",), 0.3),  # a stall comes first
        ([(K.STRAGGLER, "gpu", 0.2), (K.CHECKPOINT_LATE, "job:1", 0.5)], (), 0.5),
    ],
)
def test_what_a_job_shows_comes_before_what_its_gpu_shows(
    cluster: Fabric, findings: list[tuple[K, str, float]], measured: tuple[str, ...], share: float | None
) -> None:
    members = [
        loses(cluster, kind, cluster.gpu(1, 0) if about == "gpu" else about, lost) for kind, about, lost in findings
    ]
    found = waits(view_of(cluster, *members), members, measured)
    assert {job_id: wait.share for job_id, wait in found.items()} == (
        {} if share is None else {"1": pytest.approx(share)}
    )


def test_a_job_waits_since_the_earliest_finding_that_shows_it(cluster: Fabric) -> None:
    members = [loses(cluster, K.JOB_STALLED, "job:1", 0.9, 8), loses(cluster, K.JOB_SLOWED, "job:1", 0.3, 3)]
    assert waits(view_of(cluster, *members), members, ("1",))["1"].since_ns == T0 + 3 * S


@pytest.mark.parametrize(
    ("cadence_s", "kinds", "began_s"),
    [
        (10.0, (K.JOB_SLOWED,), -10.0),
        (30.0, (K.JOB_SLOWED,), -30.0),  # all of the first low value, as its share is the mean since then
        (30.0, (K.JOB_SLOWED, K.JOB_STALLED), -15.0),  # of which half was lost where it stands still since
        (30.0, (K.JOB_STALLED,), -30.0),
    ],
)
def test_what_its_values_show_counts_since_the_value_before(
    cluster: Fabric, cadence_s: float, kinds: tuple[K, ...], began_s: float
) -> None:
    onsets_s = {K.JOB_SLOWED: 0.0, K.JOB_STALLED: 0.0 if len(kinds) == 1 else cadence_s}
    members = [replace(loses(cluster, kind, "job:1", 0.9, onsets_s[kind]), cadence_s=cadence_s) for kind in kinds]
    assert waits(view_of(cluster, *members), members, ("1",))["1"].began_ns == T0 + int(began_s * S)


@pytest.mark.parametrize(("seen_s", "waiting"), [(50, {"1": T0}), (70, {"1": T0, "3": T0 + 60 * S})])
def test_what_a_gpu_shows_counts_for_jobs_that_it_was_seen_in_and_since_they_began(
    cluster: Fabric, seen_s: int, waiting: dict[str, int]
) -> None:
    """Job 3 begins on the same host a minute after the GPU was first seen to be slow."""
    known = Cluster()
    later = TopologyFact(Job("3", ("node1",), started_ns=T0 + 60 * S), T0 + 60 * S, "slurm")
    known.update(cluster.topology.with_facts([later]))
    straggler = replace(loses(cluster, K.STRAGGLER, cluster.gpu(1, 0), 0.4), observed_ns=T0 + seen_s * S)
    view = CorrelationView([straggler], known)
    found = waits(view, [straggler], ())
    assert {job_id: wait.since_ns for job_id, wait in found.items()} == waiting
    assert {job_id: wait.began_ns for job_id, wait in found.items()} == waiting


def test_gpu_seconds_are_all_gpus_of_a_job_times_its_share_times_its_wait(cluster: Fabric) -> None:
    track = track_of(IncidentKind.SLOW_STORAGE, "storage_target:scratch/OST0000")
    lost = lost_by(view_of(cluster), track, {"1": Wait(0.25, T0), "2": Wait(0.5, T0 + 6 * S)}, T0 + 10 * S)
    assert lost == pytest.approx(32 * 0.25 * 10 + 32 * 0.5 * 4)


def test_time_that_has_been_counted_is_not_counted_again(cluster: Fabric) -> None:
    track = track_of(IncidentKind.SLOW_STORAGE, "storage_target:scratch/OST0000")
    track.cost_until_ns["1"] = T0 + 7 * S
    assert lost_by(view_of(cluster), track, {"1": Wait(0.5, T0)}, T0 + 10 * S) == pytest.approx(32 * 0.5 * 3)
    assert lost_by(view_of(cluster), track, {"1": Wait(0.5, T0 + 9 * S)}, T0 + 10 * S) == pytest.approx(32 * 0.5)
    assert lost_by(view_of(cluster), track, {"1": Wait(0.5, T0 + 20 * S)}, T0 + 10 * S) == 0.0  # begins later


@pytest.mark.parametrize(
    ("kind", "root", "gpus"),
    [
        (IncidentKind.DEVICE_DOWN, "device:node1", 8),
        (IncidentKind.RACK_POWER, "rack:r1", 32),
        (IncidentKind.DEVICE_DOWN, "device:leaf1", 0),  # a switch has none
        (IncidentKind.DEVICE_REBOOTED, "device:node1", 0),  # they are back
        (IncidentKind.LINK_DOWN, "link:leaf1/Ethernet0--node1/mlx5_0", 0),
    ],
)
def test_dead_hosts_cost_all_of_their_gpus_while_there_is_evidence(
    cluster: Fabric, kind: IncidentKind, root: str, gpus: int
) -> None:
    down = cluster.find(K.TARGET_SILENT, "node1")
    dead, cleared = track_of(kind, root, down, onset_s=2), track_of(kind, root, onset_s=2)
    assert lost_by(view_of(cluster, down), dead, {}, T0 + 10 * S) == gpus * 8
    dead.accounted_ns = T0 + 9 * S
    assert lost_by(view_of(cluster, down), dead, {}, T0 + 10 * S) == gpus * 1
    assert lost_by(view_of(cluster, down), cleared, {}, T0 + 10 * S) == 0.0


def test_gpus_off_the_bus_cost_themselves(cluster: Fabric) -> None:
    lost = [cluster.find(K.GPU_LOST, cluster.gpu(1, index)) for index in (2, 5)]
    xid = cluster.find(K.GPU_XID, cluster.gpu(1, 7))
    track = track_of(IncidentKind.GPU_FAULT, "gpu:node1/GPU-0001-2", *lost, xid)
    assert lost_by(view_of(cluster, *lost, xid), track, {}, T0 + 10 * S) == 2 * 10
    assert lost_by(view_of(cluster, lost[0]), track, {}, T0 + 10 * S) == 10  # the other finding has cleared


def test_a_dead_gpu_of_a_waiting_job_is_counted_once(cluster: Fabric) -> None:
    down = cluster.find(K.TARGET_SILENT, "node1")
    track = track_of(IncidentKind.DEVICE_DOWN, str(device("node1")), down)
    lost = lost_by(view_of(cluster, down), track, {"1": Wait(0.5, T0)}, T0 + 10 * S)
    assert lost == pytest.approx(8 * 10 + 24 * 0.5 * 10)


def test_whole_gpus_lost_at_present(cluster: Fabric) -> None:
    assert gpus_lost(view_of(cluster), {"1": 0.25, "2": 0.5, "unknown": 1.0}, []) == pytest.approx(8 + 16)
    assert gpus_lost(view_of(cluster), {}, []) == 0


def test_gpus_of_a_dead_host_are_lost_now_and_once(cluster: Fabric) -> None:
    dead = [cluster.gpu(1, index) for index in range(8)]
    assert gpus_lost(view_of(cluster), {}, dead) == 8
    assert gpus_lost(view_of(cluster), {"1": 0.5}, dead) == 16  # job 1 has them


@pytest.mark.parametrize(
    ("kind", "known", "gpus", "cost", "planned", "waited_for", "expected"),
    [
        (IncidentKind.LINK_DOWN, Severity.INFO, 0, 0.0, False, False, Severity.WARNING),
        (IncidentKind.LINK_DOWN, Severity.INFO, 5.9, 599.0, False, True, Severity.WARNING),
        (IncidentKind.LINK_DOWN, Severity.INFO, 6, 0.0, False, True, Severity.CRITICAL),
        (IncidentKind.LINK_DOWN, Severity.INFO, 0, 600.0, False, True, Severity.CRITICAL),
        (IncidentKind.LINK_DOWN, Severity.CRITICAL, 0, 0.0, False, False, Severity.CRITICAL),
        (IncidentKind.UNEXPLAINED, Severity.INFO, 0, 0.0, False, False, Severity.INFO),
        (IncidentKind.UNEXPLAINED, Severity.INFO, 1, 0.0, False, True, Severity.WARNING),
        (IncidentKind.RACK_POWER, Severity.INFO, 0, 0.0, False, False, Severity.CRITICAL),
        (IncidentKind.RACK_POWER, Severity.CRITICAL, 64, 9e9, True, True, Severity.INFO),
        # Pressure is nothing to wake anybody for until a job waits, even one whose GPUs are not known.
        (IncidentKind.SLOW_RECEIVER, Severity.INFO, 0, 0.0, False, False, Severity.INFO),
        (IncidentKind.SLOW_RECEIVER, Severity.INFO, 0, 0.0, False, True, Severity.WARNING),
        (IncidentKind.INCAST, Severity.INFO, 6, 0.0, False, True, Severity.CRITICAL),
        (IncidentKind.CONGESTION, Severity.WARNING, 0, 0.0, False, False, Severity.WARNING),
        (IncidentKind.PAUSE_LOOP, Severity.INFO, 0, 0.0, False, False, Severity.CRITICAL),
    ],
)
def test_severity(
    kind: IncidentKind,
    known: Severity,
    gpus: float,
    cost: float,
    planned: bool,
    waited_for: bool,
    expected: Severity,
) -> None:
    cause = cause_of(kind, device("node1"), frozenset(), "")
    assert severity(cause, known, gpus, cost, planned, CorrelateConfig(), waited_for=waited_for) is expected


@pytest.mark.parametrize(
    ("known", "expected"), [(Severity.INFO, Severity.WARNING), (Severity.CRITICAL, Severity.CRITICAL)]
)
def test_the_ceiling_of_a_cause_holds_back_what_is_new_and_takes_nothing_back(
    known: Severity, expected: Severity
) -> None:
    cause = cause_of(IncidentKind.LATE_CHECKPOINT, job("1"), frozenset(), "", ceiling=Severity.WARNING)
    assert severity(cause, known, 64, 9e9, False, CorrelateConfig(), waited_for=True) is expected


@pytest.mark.parametrize(("waited_for", "expected"), [(False, Severity.INFO), (True, Severity.WARNING)])
def test_what_is_harmless_is_info_until_a_job_waits(waited_for: bool, expected: Severity) -> None:
    cause = cause_of(IncidentKind.ENVIRONMENT, device("node1"), frozenset(), "", harmless=True)
    assert severity(cause, Severity.INFO, 0, 0.0, False, CorrelateConfig(), waited_for=waited_for) is expected


@pytest.mark.parametrize(
    ("shares", "paid"),
    [
        ([], []),
        ([0.4], [0.4]),
        ([0.4, 0.4], [0.2, 0.2]),
        ([0.6, 0.2], [0.5, 0.1]),  # half of 0.2 each, and the first one the rest
        ([0.0, 0.3], [0.0, 0.3]),
        ([0.9, 0.3, 0.6], [0.55, 0.1, 0.25]),
    ],
)
def test_a_loss_with_several_causes_is_divided(shares: list[float], paid: list[float]) -> None:
    assert divided(shares) == pytest.approx(paid)
    assert sum(divided(shares)) == pytest.approx(max(shares, default=0.0))


def test_findings_about_pauses_clear_when_cost_expects_it() -> None:
    clears = {each.clear_intervals for each in detectors(DetectionConfig()) if each.kind in MEASURED_PAUSES}
    assert clears == {CLEAR_INTERVALS}
