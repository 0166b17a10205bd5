"""Pressure on the fabric pages nobody until a job shows that it waits for it, by place and time."""

from dataclasses import replace

import pytest

from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import Severity
from telemetry.topology import Job, TopologyFact
from tests.unit.analytics.correlate.faults import Make, incast, slow_receiver
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, Run, S, facts


def without_jobs(ticks: list[list[Finding]]) -> list[list[Finding]]:
    jobs = (K.JOB_STALLED, K.STRAGGLER)
    return [[finding for finding in findings if finding.kind not in jobs] for findings in ticks]


@pytest.mark.parametrize(("make", "kind"), [(slow_receiver, I.SLOW_RECEIVER), (incast, I.INCAST)])
def test_it_is_info_while_nobody_waits_and_says_so(make: Make, kind: I, cluster: Fabric, run: Run) -> None:
    for findings in without_jobs(make(cluster)):
        run.tick(*findings)
    run.tick(ticks=60)
    assert (run.only.kind, run.only.severity) == (kind, Severity.INFO)
    assert "no job waits" in run.only.title
    assert [entry.text for entry in run.only.timeline if entry.text.endswith("so nobody is paged")]


@pytest.mark.parametrize(("make", "kind"), [(slow_receiver, I.SLOW_RECEIVER), (incast, I.INCAST)])
def test_it_is_raised_in_the_tick_in_which_a_job_shows_that_it_waits(
    make: Make, kind: I, cluster: Fabric, run: Run
) -> None:
    for findings in without_jobs(make(cluster)):
        run.tick(*findings)
    run.tick(ticks=2)
    run.tick(cluster.find(K.JOB_SLOWED, "job:1", 15))
    assert (run.only.kind, run.only.severity) == (kind, Severity.CRITICAL)
    assert run.only.title.endswith("— 32 GPUs, job 1 stalled")
    assert [entry.text for entry in run.only.timeline if entry.text == "critical: job 1 stalled"]


def one_host(cluster: Fabric, run: Run) -> None:
    """Jobs 3 and 4 have one host each, behind the same leaves."""
    jobs = [Job(name, (host,), started_ns=T0 - 7200 * S) for name, host in (("3", "node2"), ("4", "node3"))]
    kept = [fact for key, fact in cluster.topology.facts.items() if key not in ("job/1", "job/2")]
    run.topology = type(cluster.topology)().with_facts([*kept, *facts(jobs)])


@pytest.mark.parametrize(("job", "severity"), [("3", Severity.CRITICAL), ("4", Severity.INFO)])
def test_a_job_of_another_host_behind_the_same_switch_waits_for_something_else(
    cluster: Fabric, run: Run, job: str, severity: Severity
) -> None:
    one_host(cluster, run)
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(3, 2), 0))
    run.tick(cluster.find(K.JOB_STALLED, f"job:{job}", 5))
    run.tick(ticks=3)
    assert run.of_kind(I.SLOW_RECEIVER).severity is severity


def test_a_job_whose_switch_a_pause_reached_waits_for_it(cluster: Fabric, run: Run) -> None:
    one_host(cluster, run)
    run.tick(
        cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(3, 2), 0),
        cluster.find(K.PFC_PAUSE_RECEIVED, cluster.downlink(1, 3), 0),
        cluster.find(K.JOB_STALLED, "job:4", 5),
    )
    run.tick(ticks=3)
    assert (run.only.kind, run.only.severity) == (I.SLOW_RECEIVER, Severity.CRITICAL)


@pytest.mark.parametrize(("after_s", "severity"), [(60, Severity.CRITICAL), (61, Severity.INFO)])
def test_a_job_that_slows_down_long_after_the_pressure_began_waits_for_something_else(
    cluster: Fabric, run: Run, after_s: float, severity: Severity
) -> None:
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(3, 2), 0))
    run.tick(cluster.find(K.JOB_SLOWED, "job:1", after_s))
    run.tick(ticks=15)
    assert run.of_kind(I.SLOW_RECEIVER).severity is severity


def test_readers_of_a_storage_server_wait_for_its_port(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, "leaf1/Ethernet7000", 0))
    run.tick(cluster.find(K.CHECKPOINT_LATE, "job:2", 300))
    run.tick(ticks=61)
    assert (run.only.kind, run.only.severity) == (I.SLOW_RECEIVER, Severity.CRITICAL)


@pytest.mark.parametrize(
    ("onset_s", "expected"),
    [(40, [("congestion", Severity.CRITICAL)]), (-31, [("congestion", Severity.INFO), ("unexplained", None)])],
)
def test_congestion_without_an_origin_is_raised_by_jobs_behind_it(
    cluster: Fabric, run: Run, onset_s: float, expected: list[tuple[str, Severity | None]]
) -> None:
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, cluster.downlink(1, 1), 0, score=3))
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, cluster.uplink(5, 1), 1), cluster.find(K.JOB_SLOWED, "job:1", onset_s))
    run.tick(ticks=30)
    assert run.roots[0] == f"congestion {cluster.downlink(1, 1)}"
    assert [incident.kind for incident in run.incidents.values()] == [kind for kind, _ in expected]
    assert run.of_kind(I.CONGESTION).severity is expected[0][1]


def test_an_incident_whose_job_ended_keeps_its_severity(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(3, 2), 0), cluster.find(K.JOB_SLOWED, "job:1", 5))
    run.tick(ticks=2)
    fact = run.topology.facts["job/1"]
    run.topology = run.topology.with_facts([type(fact)(fact.entity, fact.observed_ns + 1, "slurm", gone=True)])
    run.tick(ticks=3)
    assert run.only.severity is Severity.CRITICAL


@pytest.mark.parametrize(
    ("started_s", "share", "unit", "severity"),
    [
        (-60, 0.3, "ratio", Severity.CRITICAL),  # 32 GPUs, 0.3 of the time
        (30, 0.3, "ratio", Severity.CRITICAL),
        (-60, 0.19, "ratio", Severity.INFO),
        (-60, 0.3, "ratio at most", Severity.INFO),  # frames prove nothing
        (-121, 0.3, "ratio", Severity.INFO),  # its normal is known: it would show that it waits
    ],
)
def test_a_job_that_began_under_pressure_has_no_normal_by_which_it_could_show_it(
    cluster: Fabric, run: Run, started_s: float, share: float, unit: str, severity: Severity
) -> None:
    young = Job("1", ("node1", "node2", "node3", "node4"), started_ns=T0 + int(started_s * S))
    run.topology = cluster.topology.with_facts([TopologyFact(young, T0 + S, "slurm")])
    pause = cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(3, 2), 0)
    run.tick(replace(pause, evidence=(Evidence(pause.evidence[0].series, share, 0.0, unit),)))
    run.tick(ticks=7)
    assert run.only.severity is severity
    assert severity is Severity.INFO or any("no normal yet" in entry.text for entry in run.only.timeline)


@pytest.mark.parametrize(
    ("started_s", "ticks", "severity"),
    [
        (-60, 6, Severity.INFO),
        (-60, 7, Severity.CRITICAL),
        (20, 10, Severity.INFO),  # it may have ended before the job had run for an interval
        (20, 11, Severity.CRITICAL),
    ],
)
def test_a_second_of_pauses_delays_no_young_job_and_an_interval_does(
    cluster: Fabric, run: Run, started_s: int, ticks: int, severity: Severity
) -> None:
    """Ports are read every second, and there are a thousand of them."""
    young = Job("1", ("node1", "node2", "node3", "node4"), started_ns=T0 + started_s * S)
    run.topology = cluster.topology.with_facts([TopologyFact(young, T0 + S, "slurm")])
    pause = cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(3, 2), 0)
    run.tick(replace(pause, evidence=(Evidence(pause.evidence[0].series, 0.5, 0.0, "ratio"),), cadence_s=1.0))
    run.tick(ticks=ticks)
    assert run.only.severity is severity


def test_a_job_that_was_slow_before_the_pressure_does_not_stall_for_it(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.JOB_SLOWED, "job:1", 0))
    run.tick(ticks=10)
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(3, 2), 50), cluster.find(K.JOB_STALLED, "job:1", 55))
    run.tick(ticks=5)
    assert run.of_kind(I.SLOW_RECEIVER).severity is Severity.INFO


def test_a_slow_receiver_pages_a_tick_after_the_job_began_to_wait(cluster: Fabric, run: Run) -> None:
    """By then other NICs of its host are known to pause too, if they do."""
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(3, 2), 0))
    run.tick(cluster.find(K.JOB_SLOWED, "job:1", 10))
    at_first = run.only.severity
    run.tick()
    assert (at_first, run.only.severity) == (Severity.INFO, Severity.CRITICAL)


@pytest.mark.parametrize(("waits_s", "severity"), [(55, Severity.INFO), (60, Severity.CRITICAL)])
def test_a_host_that_pauses_several_nics_is_one_incident_that_pages_after_a_minute(
    cluster: Fabric, run: Run, waits_s: int, severity: Severity
) -> None:
    """Healthy hosts are busy for tens of seconds. One of the NICs pauses for longer than the others."""
    one, *others = (cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(leaf, 2), 0) for leaf in (3, 4, 5))
    run.tick(one, *others)
    run.tick(cluster.find(K.JOB_SLOWED, "job:1", 5), ticks=5)
    run.clear(*others)
    run.tick(ticks=waits_s // 5 - 6)
    assert (run.only.severity, run.only.root.name) == (severity, cluster.facing(3, 2))


def test_a_quarter_of_the_nics_of_a_host_do_not_make_it_busy(cluster: Fabric, run: Run) -> None:
    """One of them is broken, and the other pauses now and then."""
    run.tick(*(cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(leaf, 2), 0) for leaf in (3, 4)))
    run.tick(cluster.find(K.JOB_SLOWED, "job:1", 5), ticks=2)
    assert run.only.severity is Severity.CRITICAL


def test_the_title_counts_the_ports_that_a_host_pauses(cluster: Fabric, run: Run) -> None:
    run.tick(*(cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(leaf, 2), 0) for leaf in (3, 4)))
    assert "PFC storm from 2 ports to node2" in run.only.title


def test_what_people_are_paged_for_began_when_the_job_began_to_wait(cluster: Fabric, run: Run) -> None:
    """A pause that went on for minutes before, and one that is new."""
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(3, 2), 0))
    run.tick(ticks=60)
    run.tick(cluster.find(K.PFC_PAUSE_SENT, cluster.facing(3, 1), 290), cluster.find(K.JOB_SLOWED, "job:1", 300))
    assert (run.only.severity, run.only.onset_ns) == (Severity.CRITICAL, T0 + 290 * S)
    assert "leaf3/Ethernet0 pauses its peer" in run.only.first_symptom
    assert any("leaf3/Ethernet4 is paused" in entry.text for entry in run.only.timeline)


@pytest.mark.parametrize("counted", ["time", "frames"])
def test_an_incast_that_comes_back_is_one_incident(counted: str, cluster: Fabric, run: Run) -> None:
    """Senders in lockstep meet again and again; where frames alone are counted each pause may have been short."""
    once = [finding for tick in incast(cluster) for finding in tick]
    if counted == "frames":
        once = [replace(each, confidence=0.4, score=1.1) if "pause" in each.kind else each for each in once]
    run.tick(*once, ticks=3)
    run.clear(*once)
    run.tick(ticks=30)
    again_ns = run.now_ns - T0
    run.tick(*(replace(e, id=f"{e.id} again", onset_ns=e.onset_ns + again_ns) for e in once), ticks=6)
    assert (run.only.root.name, run.only.occurrences) == (cluster.facing(2, 4), 2)
    assert run.pages == [f"incast {cluster.facing(2, 4)}"]


def test_congestion_that_comes_back_is_one_incident(cluster: Fabric, run: Run) -> None:
    for occurrence in range(2):
        found = cluster.find(K.QUEUE_CONGESTED, cluster.facing(2, 4), (run.now_ns - T0) / S)
        found = replace(found, id=f"{found.id} {occurrence}")
        run.tick(found, ticks=20)
        run.clear(found)
        run.tick(ticks=30)
    assert (run.only.kind, run.only.occurrences) == (I.CONGESTION, 2)


@pytest.mark.parametrize("score", [1.2, 5.0])
def test_a_page_names_the_port_that_began_with_the_wait_and_no_older_line_of_the_board(
    cluster: Fabric, run: Run, score: float
) -> None:
    """A healthy host pauses one of its ports now and then; minutes later another one accepts too little."""
    before, since = cluster.facing(1, 2), cluster.facing(3, 2)
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, before, 0, score=2.0), ticks=60)
    assert (run.only.root.name, run.pages) == (before, [])
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, since, 300, score=score), ticks=3)
    assert (run.only.root.name, run.pages) == (before, [])  # nobody waits: the line is the same
    run.tick(cluster.find(K.JOB_SLOWED, "job:1", 310), ticks=3)
    assert run.pages == [f"slow_receiver {since}"]
    run.tick(ticks=30)
    assert (run.only.root.name, len(run.pages)) == (since, 1)


def test_an_incast_that_began_with_the_wait_is_paged_and_not_an_older_one_of_its_switch(
    cluster: Fabric, run: Run
) -> None:
    before, since = cluster.facing(2, 4), cluster.facing(2, 1)
    pause = cluster.find(K.PFC_PAUSE_SENT, cluster.uplink(2, 1), 1)
    run.tick(cluster.find(K.QUEUE_CONGESTED, before, 0, score=4), pause, ticks=60)
    assert (run.only.root.name, run.pages) == (before, [])
    run.tick(cluster.find(K.QUEUE_CONGESTED, since, 300, score=3), cluster.find(K.JOB_STALLED, "job:1", 303), ticks=4)
    assert run.pages == [f"incast {since}"]
    run.tick(ticks=30)
    assert len(run.pages) == 1


def test_a_wait_goes_on_to_where_the_pauses_turn_out_to_begin_while_nobody_was_paged(cluster: Fabric, run: Run) -> None:
    """What the spines are paused for is read a tick later than what leaf5 pauses, which has an old queue of its own."""
    old = cluster.facing(5, 6)
    run.tick(cluster.find(K.QUEUE_CONGESTED, old, 0, 4), cluster.find(K.PFC_PAUSE_SENT, cluster.facing(5, 5), 1))
    run.tick(ticks=60)
    assert (run.only.root.name, run.pages) == (old, [])
    root = cluster.facing(1, 4)
    run.tick(cluster.find(K.QUEUE_CONGESTED, root, 306, 9), cluster.find(K.ECN_MARKING, root, 307))
    run.tick(
        *(cluster.find(K.PFC_PAUSE_RECEIVED, name, 309) for name in ("node1/mlx5_0", "node6/mlx5_4")),
        *(cluster.find(K.JOB_SLOWED, f"job:{job}", 312) for job in (1, 2)),
    )
    assert run.pages == []
    assert run.about(old).title.endswith("32 GPUs, job 2 stalled")
    run.tick(
        *(cluster.find(K.PFC_PAUSE_RECEIVED, port, 309) for port in (cluster.uplink(5, 1), cluster.downlink(1, 1))),
        ticks=30,
    )
    assert run.pages == [f"incast {root}"]
    assert run.about(root).title.endswith("2 jobs stalled")


def test_of_two_hosts_that_began_to_pause_just_then_the_job_waits_for_the_one_that_pauses_most(
    cluster: Fabric, run: Run
) -> None:
    """Both pause their leaves: the one two of its ports a little, as healthy hosts do, the other one by far more."""
    little, most = [cluster.facing(leaf, 2) for leaf in (1, 3)], cluster.facing(4, 3)
    run.tick(*(cluster.find(K.PFC_PAUSE_RECEIVED, port, 0, 3) for port in little), ticks=2)
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, most, 8, 8), cluster.find(K.JOB_SLOWED, "job:1", 9), ticks=4)
    assert run.pages == [f"slow_receiver {most}"]
    run.tick(ticks=30)
    assert len(run.pages) == 1
