"""What incidents reach and cost, and their texts."""

from dataclasses import replace

import pytest

from analytics.correlate.config import CorrelateConfig
from telemetry.codec.records import decode_record, encode_record
from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import Incident, IncidentKind, Severity
from tests.unit.analytics.correlate.faults import program_fails
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, Run


def test_blast_of_a_host_port_is_all_of_its_lockstep_job(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(3, 2)))
    run.tick(ticks=2)
    blast = run.only.blast
    assert blast.links == ("leaf3/Ethernet4--node2/mlx5_2",)
    assert blast.nodes == ("node1", "node2", "node3", "node4")
    assert (blast.jobs, len(blast.gpus)) == (("1",), 32)
    assert run.only.title == "[INFO] pod1: PFC storm from leaf3/Ethernet4 — no job waits, 1 in reach"


def test_link_inside_ecmp_reaches_links_only_until_a_job_stalls(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.LINK_DOWN, cluster.uplink(1, 1)))
    run.tick(ticks=3)
    assert (run.only.blast.jobs, run.only.blast.nodes, len(run.only.blast.links)) == ((), (), 1)
    assert run.only.title.endswith("— 3 of 4 paths of leaf1 left, 2 jobs behind it")
    run.tick(cluster.find(K.JOB_STALLED, "job:2", 12))
    assert (run.only.blast.jobs, len(run.only.blast.gpus)) == (("2",), 32)
    assert run.only.title.endswith("— 32 GPUs, job 2 stalled")
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
def test_a_slowed_job_costs_from_the_begin_of_its_first_low_bin(cluster: Fabric, run: Run, share: float) -> None:
    """The finding comes four ticks after its onset, when the incident already fires. Its first value is about the 10 s
    before its onset."""
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(3, 2)))
    run.tick(ticks=3)
    assert (run.only.severity, run.only.gpu_seconds) == (Severity.INFO, 0.0)
    finding = slowed(cluster, "job:1", share)
    run.tick(finding)
    assert (
        run.only.title
        == f"[CRIT] pod1: PFC storm from leaf3/Ethernet4 — 32 GPUs, job 1 slowed by {share:.0%}".replace("%", " %")
    )
    run.tick(ticks=3)
    seconds = 10 + (run.now_ns - finding.onset_ns) / 1e9
    assert run.correlator.state().head["tracks"][0]["gpu_seconds"] == pytest.approx(32 * share * seconds)


def test_several_jobs_and_a_stall_are_counted_separately(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000"))
    assert run.only.title.endswith("— no job waits, 2 in reach")
    run.tick(slowed(cluster, "job:1", 0.3), slowed(cluster, "job:2", 0.4))
    assert run.only.title.endswith("— 64 GPUs, 2 jobs slowed by up to 40 %")
    run.tick(cluster.find(K.JOB_STALLED, "job:1"))
    assert run.only.title.endswith("— 64 GPUs, job 1 stalled, job 2 slowed by 40 %")


def test_what_a_job_lost_comes_before_what_its_straggler_shows(cluster: Fabric, run: Run) -> None:
    straggler = replace(cluster.find(K.STRAGGLER, cluster.gpu(3, 2)), evidence=(Evidence("s", 0.55, 1.0, "hertz"),))
    run.tick(straggler)
    assert run.only.title.endswith("job 1 slowed by 45 %")
    finding = slowed(cluster, "job:1", 0.36)
    run.tick(finding)
    assert run.only.title.endswith("job 1 slowed by 36 %")
    cost = run.correlator.state().head["tracks"][0]["gpu_seconds"]
    run.clear(finding)
    run.tick(ticks=2)
    assert run.only.title.endswith("job 1 slowed by 36 %")
    known_late = 32 * 0.36 * 5  # all that was counted by the finding, as it is over: two bins show that
    assert run.correlator.state().head["tracks"][0]["gpu_seconds"] == pytest.approx(cost - known_late)


def gpu_seconds(run: Run) -> dict[str, float]:
    """By root."""
    return {track["cause"]["root"]["name"]: track["gpu_seconds"] for track in run.correlator.state().head["tracks"]}


def test_a_slump_that_is_known_after_a_stall_does_not_count_its_time_again(cluster: Fabric, run: Run) -> None:
    """The mean is of all bins since the begin, those in which nothing was computed too."""
    run.tick(cluster.find(K.GPU_THROTTLED, cluster.gpu(1, 1)))
    stalled, finding = cluster.find(K.JOB_STALLED, "job:1"), slowed(cluster, "job:1", 0.9)
    run.tick(replace(stalled, evidence=(Evidence("s", 0.0, 1.0, "ratio"),)), finding)
    run.tick(ticks=10)
    (stood,) = gpu_seconds(run).values()
    run.clear(stalled)
    (before,) = gpu_seconds(run).values()
    run.tick(slowed(cluster, "job:1", 0.7))
    run.tick(ticks=2)
    assert gpu_seconds(run)[run.only.root.name] == pytest.approx(before)
    assert before - stood <= 32 * 5


def test_a_slump_costs_the_incident_that_explains_it(cluster: Fabric, run: Run) -> None:
    """An old fault has it until the GPU that hangs is known."""
    run.tick(cluster.find(K.GPU_XID, cluster.gpu(1, 1)))
    run.tick(ticks=30)
    began_s = (run.now_ns - T0) / 1e9 - 5
    run.tick(slowed(cluster, "job:1", 0.4, began_s))
    run.tick(ticks=2)
    assert gpu_seconds(run)["node1/GPU-0001-1"] > 0.0
    run.tick(cluster.find(K.GPU_HUNG, cluster.gpu(2, 3), began_s))
    run.tick(ticks=2)
    assert gpu_seconds(run)["node1/GPU-0001-1"] == 0.0
    assert gpu_seconds(run)["node2/GPU-0002-3"] > 32 * 10


def test_a_slowed_job_alone_waits_for_a_cause(cluster: Fabric, run: Run) -> None:
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


def test_first_symptom_gaps_and_timeline_are_in_order_of_time(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.JOB_STALLED, "job:1", 2), cluster.find(K.TARGET_SILENT, "leaf5", 1))
    run.tick(cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000", 4))
    run.tick(ticks=2)
    incident = next(i for i in run.incidents.values() if i.kind is IncidentKind.SLOW_STORAGE)
    assert incident.first_symptom.endswith("UTC: job 1 is stalled (90 % against 10 %)")
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


def test_a_program_that_fails_pages_nobody_whatever_its_job_loses(cluster: Fabric, run: Run) -> None:
    """Only the owner of the job can do anything about it."""
    run.tick(*program_fails(cluster)[0], cluster.find(K.JOB_STALLED, "job:1", 2), ticks=30)
    assert run.only.title == "[INFO] program error of job 1 — 32 GPUs, job 1 stalled"
    assert (run.only.gpu_seconds > 600, run.pages) == (True, [])
