"""What incidents reach, cost and say."""

from dataclasses import replace
from typing import Any

import pytest

from analytics.correlate.config import CorrelateConfig
from analytics.correlate.cost import lost_share, severity
from analytics.correlate.graph import Graph, physical
from analytics.correlate.jobs import Jobs, running
from telemetry.codec.records import decode_record, encode_record
from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import Incident, IncidentKind, Severity
from telemetry.objects import device, parse_object
from tests.unit.analytics.correlate.small_fabric import Fabric, Run


@pytest.fixture(scope="module")
def graph(cluster: Fabric) -> Graph:
    return Graph(physical(cluster.topology))


@pytest.mark.parametrize(
    ("ref", "devices", "gpus"),
    [
        ("device:spine1", {"spine1"}, 0),
        ("link:leaf1/Ethernet4000--spine1/Ethernet0", set(), 0),
        ("port:leaf1/Ethernet0", {"node1"}, 8),
        ("device:leaf3", {"leaf3", *(f"node{n}" for n in range(1, 9))}, 64),
        ("rack:r1", {f"node{n}" for n in range(1, 5)}, 32),
        ("device:oss1", {"oss1"}, 0),
        ("device:unknown", {"unknown"}, 0),
    ],
)
def test_graph_reaches_what_cannot_work_without_it(graph: Graph, ref: str, devices: set[str], gpus: int) -> None:
    reached = graph.reached(parse_object(ref))
    assert {other.name for other in reached if other.kind == "device"} == devices
    assert sum(other.kind == "gpu" for other in reached) == gpus


def test_storage_server_reaches_its_targets_and_their_file_system(graph: Graph) -> None:
    reached = {str(ref) for ref in graph.reached(device("oss2"))}
    assert {"storage_target:scratch/OST0002", "storage_target:scratch/OST0003", "filesystem:scratch"} <= reached


def test_jobs_of_ports_and_of_gpus_that_a_job_does_not_use(cluster: Fabric, graph: Graph) -> None:
    present, ended = running(cluster.topology)
    present["2"] = replace(present["2"], gpu_indices=(0, 1))
    jobs = Jobs(present, ended, graph)
    assert jobs.of(cluster.ref(cluster.facing(3, 2))) == ["1"]
    assert jobs.of(cluster.gpu(5, 1)) == ["2"]
    assert jobs.of(cluster.gpu(5, 2)) == []
    assert len(jobs.gpus("2")) == 8
    assert jobs.gpus("unknown") == ()


def test_blast_of_a_host_port_is_all_of_its_lockstep_job(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(3, 2)))
    run.tick(ticks=2)
    blast = run.only.blast
    assert blast.links == ("leaf3/Ethernet4--node2/mlx5_2",)
    assert blast.nodes == ("node1", "node2", "node3", "node4")
    assert (blast.jobs, len(blast.gpus)) == (("1",), 32)
    assert run.only.title == "[WARN] pod1: PFC storm from leaf3/Ethernet4 — 32 GPUs, 1 job at risk"


def test_link_inside_ecmp_reaches_links_only_until_a_job_stalls(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.LINK_DOWN, cluster.uplink(1, 1)))
    run.tick(ticks=3)
    assert (run.only.blast.jobs, run.only.blast.nodes, len(run.only.blast.links)) == ((), (), 1)
    assert run.only.title.endswith("— no job reached")
    run.tick(cluster.find(K.JOB_STALLED, "job:2", 12))
    assert (run.only.blast.jobs, len(run.only.blast.gpus)) == (("2",), 32)
    assert run.only.title.endswith("— 32 GPUs, 1 job stalled")
    assert run.only.severity is Severity.CRITICAL


def test_slow_storage_reaches_the_jobs_that_wait(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000"), cluster.find(K.JOB_STALLED, "job:1"))
    run.tick(ticks=2)
    assert (run.only.blast.jobs, len(run.only.blast.gpus)) == (("1",), 32)


def test_gpu_seconds_count_the_waiting_share_of_all_gpus_of_the_job(cluster: Fabric, run: Run) -> None:
    """32 GPUs lose 0.8 / 0.9 of their time from the onset of the stall on."""
    run.tick(cluster.find(K.LINK_DOWN, "node1/mlx5_0"), cluster.find(K.JOB_STALLED, "job:1"))
    run.tick(ticks=9)
    seconds = (run.now_ns - run.only.onset_ns) / 1e9
    assert run.correlator.state().head["tracks"][0]["gpu_seconds"] == pytest.approx(32 * seconds * 0.8 / 0.9)


def slowed(cluster: Fabric, job: str, share: float, onset_s: float = 0) -> Finding:
    finding = cluster.find(K.JOB_SLOWED, job, onset_s)
    return replace(finding, evidence=(Evidence("s", 1.0 - share, 1.0, "ratio"),))


@pytest.mark.parametrize("share", [0.21, 0.34])
def test_a_slowed_job_is_told_and_paid_for_from_its_onset_on(cluster: Fabric, run: Run, share: float) -> None:
    """The finding comes four ticks after its onset, when the incident fires already."""
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(3, 2)))
    run.tick(ticks=3)
    assert (run.only.severity, run.only.gpu_seconds) == (Severity.WARNING, 0.0)
    finding = slowed(cluster, "job:1", share)
    run.tick(finding)
    assert (
        run.only.title
        == f"[CRIT] pod1: PFC storm from leaf3/Ethernet4 — 32 GPUs, 1 job slowed by {share:.0%}".replace("%", " %")
    )
    run.tick(ticks=3)
    seconds = (run.now_ns - finding.onset_ns) / 1e9
    assert run.correlator.state().head["tracks"][0]["gpu_seconds"] == pytest.approx(32 * share * seconds)


def test_several_jobs_and_a_stall_are_told_apart(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000"))
    assert run.only.title.endswith("— 64 GPUs, 2 jobs at risk")
    run.tick(slowed(cluster, "job:1", 0.3), slowed(cluster, "job:2", 0.4))
    assert run.only.title.endswith("— 64 GPUs, 2 jobs slowed by up to 40 %")
    run.tick(cluster.find(K.JOB_STALLED, "job:1"))
    assert run.only.title.endswith("— 64 GPUs, 1 job stalled, 1 job slowed by 40 %")


def test_what_a_job_lost_goes_before_what_its_straggler_did(cluster: Fabric, run: Run) -> None:
    straggler = replace(cluster.find(K.STRAGGLER, cluster.gpu(3, 2)), evidence=(Evidence("s", 0.55, 1.0, "hertz"),))
    run.tick(straggler)
    assert run.only.title.endswith("1 job slowed by 45 %")
    finding = slowed(cluster, "job:1", 0.36)
    run.tick(finding)
    assert run.only.title.endswith("1 job slowed by 36 %")
    paid = run.correlator.state().head["tracks"][0]["gpu_seconds"]
    run.clear(finding)
    run.tick(ticks=2)
    assert run.only.title.endswith("1 job slowed by 36 %")
    assert run.correlator.state().head["tracks"][0]["gpu_seconds"] == pytest.approx(paid)


def test_a_slowed_job_alone_waits_for_a_cause_before_it_is_told(cluster: Fabric, run: Run) -> None:
    finding = slowed(cluster, "job:1", 0.5)
    run.tick(finding)
    run.tick(ticks=10)
    assert not run.incidents
    run.clear(finding)
    run.tick(ticks=6)
    assert not run.incidents


def test_a_gpu_that_fell_off_the_bus_costs_itself(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.GPU_LOST, cluster.gpu(3, 2)))
    run.tick(ticks=9)
    assert run.correlator.state().head["tracks"][0]["gpu_seconds"] == pytest.approx(
        (run.now_ns - run.only.onset_ns) / 1e9
    )


def test_dead_host_costs_its_gpus_even_without_a_job(cluster: Fabric, run: Run) -> None:
    run.tick(*(cluster.find(K.LINK_DOWN, cluster.facing(leaf, 3)) for leaf in range(1, 9)))
    run.tick(ticks=9)
    assert run.correlator.state().head["tracks"][0]["gpu_seconds"] == pytest.approx(8 * 50)


@pytest.mark.parametrize(
    ("value", "normal", "score", "share"),
    [(0.2, 1.0, 9, 0.8), (1.0, 0.2, 9, 0.8), (0.0, 0.0, 0.5, 0.5), (1.0, None, 3.0, 1.0), (1.0, None, 0.25, 0.25)],
)
def test_lost_share(cluster: Fabric, value: float, normal: float | None, score: float, share: float) -> None:
    finding = replace(
        cluster.find(K.JOB_STALLED, "job:1", score=score), evidence=(Evidence("s", value, normal, "ratio"),)
    )
    assert lost_share(finding) == pytest.approx(share)


@pytest.mark.parametrize(
    ("kind", "known", "stalled", "cost", "planned", "expected"),
    [
        (IncidentKind.LINK_DOWN, Severity.INFO, 0, 0.0, False, Severity.WARNING),
        (IncidentKind.LINK_DOWN, Severity.INFO, 8, 0.0, False, Severity.CRITICAL),
        (IncidentKind.LINK_DOWN, Severity.INFO, 0, 600.0, False, Severity.CRITICAL),
        (IncidentKind.LINK_DOWN, Severity.CRITICAL, 0, 0.0, False, Severity.CRITICAL),
        (IncidentKind.UNEXPLAINED, Severity.INFO, 0, 0.0, False, Severity.INFO),
        (IncidentKind.UNEXPLAINED, Severity.INFO, 1, 0.0, False, Severity.WARNING),
        (IncidentKind.RACK_POWER, Severity.INFO, 0, 0.0, False, Severity.CRITICAL),
        (IncidentKind.RACK_POWER, Severity.CRITICAL, 64, 9e9, True, Severity.INFO),
    ],
)
def test_severity(kind: Any, known: Severity, stalled: int, cost: float, planned: bool, expected: Severity) -> None:
    assert severity(kind, known, stalled, cost, planned, CorrelateConfig()) is expected


def test_order_is_known_only_beyond_a_sampling_interval(cluster: Fabric, start: type[Run]) -> None:
    for later, known in ((9, False), (11, True)):
        run = start(cluster)
        run.tick(cluster.find(K.LINK_DOWN, cluster.facing(1, 1), 0), cluster.find(K.JOB_STALLED, "job:1", later))
        run.tick(ticks=3)
        assert run.only.order_known is known


def test_alternatives_rank_the_next_best_causes(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.GPU_THROTTLED, cluster.gpu(6, 1)), cluster.find(K.STRAGGLER, cluster.gpu(6, 1)))
    run.tick(ticks=2)
    (other,) = run.only.alternatives
    assert (other.kind, other.root) == (IncidentKind.STRAGGLER, cluster.gpu(6, 1))
    assert 0 < other.confidence < 0.5 < run.only.confidence


def test_first_symptom_gaps_and_timeline_tell_the_story_in_order(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.JOB_STALLED, "job:1", 2), cluster.find(K.TARGET_SILENT, "leaf5", 1))
    run.tick(cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000", 4))
    run.tick(ticks=2)
    incident = next(i for i in run.incidents.values() if i.kind is IncidentKind.SLOW_STORAGE)
    assert incident.first_symptom.endswith("UTC: job 1 is stalled (0.9 against 0.1 ratio)")
    assert incident.gaps == ("1 of 12 switches silent",)
    assert [entry.at_ns for entry in incident.timeline] == sorted(entry.at_ns for entry in incident.timeline)
    assert incident.timeline[-1].text.startswith("fired: scratch/OST0000 answers slowly")
    assert decode_record(encode_record(incident), Incident) == incident


def test_title_is_cut_to_its_limit(cluster: Fabric, run: Run) -> None:
    long = "link:" + "a" * 90 + "/Ethernet0--" + "b" * 90 + "/Ethernet0"
    run.tick(cluster.find(K.LINK_DOWN, long))
    run.tick(ticks=2)
    assert len(run.only.title) == 140
    assert run.only.title.endswith("… — no job reached")


def test_more_findings_than_an_incident_keeps(cluster: Fabric, start: type[Run]) -> None:
    run = start(cluster, CorrelateConfig(findings_max=10, timeline_max=10))
    for n in range(30):
        run.tick(replace(cluster.find(K.LINK_DOWN, cluster.uplink(1, 1), n), id=f"f{n:02d}"))
    assert run.only.findings == tuple(f"f{n:02d}" for n in range(10))
    assert len(run.only.timeline) <= 11
