"""What an incident says of itself: why this cause, why not the next two, and what is missing to be sure."""

from dataclasses import replace
from itertools import zip_longest
from typing import Any

import pytest

from alerts.rendering import text
from telemetry.changes import Change, ChangeKind
from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from tests.unit.analytics.correlate import faults
from tests.unit.analytics.correlate.faults import Make
from tests.unit.analytics.correlate.scenarios.test_scenarios import SCENARIOS
from tests.unit.analytics.correlate.scenarios.test_sequences import ONE_PAGE, fan_wall, power_brake
from tests.unit.analytics.correlate.small_fabric import Fabric, Run


def test_it_names_its_reason_its_evidence_and_what_it_predicts(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.GPU_HUNG, cluster.gpu(1, 1)), cluster.find(K.JOB_STALLED, "job:1", 1), ticks=2)
    assert run.only.because == (
        "a kernel runs for ever and computes nothing",
        "node1 GPU 1 (GPU-0001-1) hangs (90 % against 10 %)",
        "it predicts what else is seen: job stalled (1)",
    )


def test_what_nothing_speaks_for_is_ruled_out_by_that(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.GPU_HUNG, cluster.gpu(1, 1)), ticks=2)
    assert run.only.against == (
        "not environment: nothing is too warm, and no part has failed",
        "not program failed: the driver has stopped no program",
    )


EVERY_KIND: list[Make] = [*(make for make, *_ in SCENARIOS), *(make for make, _ in ONE_PAGE)]


@pytest.mark.parametrize("make", dict.fromkeys(EVERY_KIND), ids=lambda value: getattr(value, "__name__", ""))
def test_each_has_its_evidence_and_two_hypotheses_that_it_is_not_in_its_page_too(
    make: Make, cluster: Fabric, run: Run
) -> None:
    for found in make(cluster):
        run.tick(*found)
    run.tick(ticks=30)
    incident, page = run.only, text.verdict(run.only)
    assert len(set(incident.against)) == 2
    assert page.startswith(f"because {incident.because[0]}; ")
    assert all(each in page for each in (*incident.against, *incident.missing[:1]))


def hot(p: Fabric) -> list[list[Finding]]:
    return [[p.find(K.GPU_HOT, p.gpu(1, 1))]]


def session_and_flaps(p: Fabric) -> list[list[Finding]]:
    return [*faults.bgp_down(p), *faults.link_flapping(p)]


def fallback_and_an_unlike_job(p: Fabric) -> list[list[Finding]]:
    """Most GPUs of job 1 are unlike the rest of it: none is its straggler."""
    return [*faults.tcp_fallback(p), [p.find(K.STRAGGLER, p.gpu(node, n)) for node in (1, 2, 3) for n in range(8)]]


@pytest.mark.parametrize(
    ("make", "kind", "objection"),
    [
        (
            fan_wall,
            I.ENVIRONMENT,
            "not GPU fault at node1 GPU 0 (GPU-0001-0): it does not explain that node1 GPU 1 (GPU-0001-1) is throttled "
            "(90 % against 0 %)",
        ),
        (hot, I.GPU_FAULT, "not environment: nothing but node1 GPU 1 (GPU-0001-1) gets too warm"),
        (
            session_and_flaps,
            I.BGP_DOWN,
            "not link down: leaf2/Ethernet4004 is down "
            "because of link flapping at leaf2/Ethernet4004--spine2/Ethernet4",
        ),
        (
            fallback_and_an_unlike_job,
            I.TCP_FALLBACK,
            "not straggler: node1 GPU 0 (GPU-0001-0) is unlike its peers, which nothing explains yet",
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_something_shows_is_not_called_absent(
    make: Make, kind: I, objection: str, cluster: Fabric, run: Run
) -> None:
    for found in make(cluster):
        run.tick(*found)
    run.tick(ticks=4)
    assert objection in run.of_kind(kind).against


def test_a_rival_that_would_explain_all_of_it_is_not_known_to_be_wrong(cluster: Fabric, run: Run) -> None:
    for one, other in zip_longest(faults.slow_receiver(cluster), faults.incast(cluster), fillvalue=list[Finding]()):
        run.tick(*one, *other)
    run.tick(ticks=8)
    incast = run.of_kind(I.INCAST)
    assert incast.against == ("not link down: no link is down",)
    assert incast.missing[0] == (
        "what separates it from slow receiver at leaf3/Ethernet4, which would explain all of this"
    )


def test_a_cause_that_was_not_chosen_says_what_it_leaves(cluster: Fabric, run: Run) -> None:
    gpu = cluster.gpu(1, 1)
    run.tick(cluster.find(K.STRAGGLER, gpu), cluster.find(K.GPU_THROTTLED, gpu), ticks=4)
    assert run.of_kind(I.GPU_FAULT).against[0] == (
        "not straggler at node1 GPU 1 (GPU-0001-1): it does not explain that node1 GPU 1 (GPU-0001-1) is throttled "
        "(90 % against 10 %)"
    )


@pytest.mark.parametrize(
    ("other", "at_s", "objection"),
    [
        ("rack:r2", 0, "it does not reach node1 GPU 1 (GPU-0001-1)"),
        ("rack:r1", 0, "it does not explain that node1 GPU 1 (GPU-0001-1) hangs (90 % against 10 %)"),
    ],
)
def test_another_incident_that_resembles_it_is_ruled_out_by_what_it_does_not_explain(
    other: str, at_s: float, objection: str, cluster: Fabric, run: Run
) -> None:
    run.tick(cluster.find(K.GPU_HUNG, cluster.gpu(1, 1)), cluster.find(K.OVERHEATED, other, at_s), ticks=6)
    assert run.of_kind(I.GPU_FAULT).against[0] == f"not environment at {other.partition(':')[2]}: {objection}"


def test_another_incident_is_ruled_out_by_time(cluster: Fabric, run: Run) -> None:
    run.tick(ticks=20)
    run.tick(cluster.find(K.JOB_SLOWED, "job:1", 5), cluster.find(K.GPU_HUNG, cluster.gpu(1, 1), 4))
    run.tick(cluster.find(K.OVERHEATED, "rack:r1", 60), cluster.find(K.GPU_THROTTLED, cluster.gpu(2, 1), 62), ticks=6)
    assert run.of_kind(I.GPU_FAULT).against[0] == "not environment at r1: it began 55 s after job 1 showed this"


def test_a_device_that_does_not_answer_is_missing(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.LINK_DOWN, cluster.uplink(1, 1)), cluster.find(K.TARGET_SILENT, "spine1"), ticks=6)
    link = run.of_kind(I.LINK_DOWN)
    assert link.missing[0] == "spine1 not heard of"
    assert "spine1/Ethernet0, the other end, shows nothing of it" in link.missing


@pytest.mark.parametrize(
    ("unit", "missing"),
    [("ratio at most", ("for how long ports were paused: frames alone are counted",)), ("ratio", ())],
)
def test_frames_without_their_time_are_missing_time(
    unit: str, missing: tuple[str, ...], cluster: Fabric, run: Run
) -> None:
    pause = cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(3, 2), score=5)
    run.tick(replace(pause, evidence=(Evidence(pause.evidence[0].series, 0.9, None, unit),)), ticks=4)
    assert run.only.missing == missing


def test_what_clears_first_takes_no_reason_away(cluster: Fabric, run: Run) -> None:
    slowed = cluster.find(K.JOB_SLOWED, "job:1", 1)
    run.tick(cluster.find(K.GPU_HUNG, cluster.gpu(1, 1)), slowed, ticks=4)
    before = run.only.because
    run.clear(slowed)
    run.tick(ticks=3)
    assert run.only.because == before


def test_a_verdict_follows_other_incidents_while_its_own_findings_stay(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.GPU_HUNG, cluster.gpu(1, 1)), ticks=3)
    run.tick(cluster.find(K.OVERHEATED, "rack:r2", 12), ticks=6)
    assert hung(run)["against"][0] == "not environment at r2: it does not reach node1 GPU 1 (GPU-0001-1)"


def test_a_verdict_follows_what_is_not_heard_of_while_its_own_findings_stay(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.GPU_HUNG, cluster.gpu(1, 1)), ticks=3)
    run.tick(cluster.find(K.TARGET_SILENT, "node1", 12))
    assert hung(run)["missing"] == ["node1 not heard of"]


def test_a_verdict_follows_causes_that_are_proposed_no_more(cluster: Fabric, run: Run) -> None:
    """A maintenance is withdrawn, its incident ends, and the links that are still down are incidents of their own."""
    run.changes = [Change("c1", ChangeKind.MAINTENANCE, (cluster.ref("leaf1"),), run.now_ns, summary="new optics")]
    run.tick(*(cluster.find(K.LINK_DOWN, cluster.facing(1, node), 6) for node in (1, 2)), ticks=20)
    run.changes = []
    run.tick(ticks=3)
    rebooted = "not device rebooted at leaf1: it explains no more than this, and is less likely"
    assert [track["against"][0] for track in kept(run, I.LINK_DOWN)] == [rebooted] * 2
    run.tick(ticks=40)
    assert all(rebooted not in track["against"] for track in kept(run, I.LINK_DOWN))


def kept(run: Run, kind: I) -> list[dict[str, Any]]:
    """The memory of the incidents: what is published waits for something that concerns people."""
    return [track for track in run.correlator.state().head["tracks"] if track["cause"]["kind"] == kind]


def hung(run: Run) -> dict[str, Any]:
    (found,) = kept(run, I.GPU_FAULT)
    return found


def test_the_next_hypotheses_are_different_ones(cluster: Fabric, run: Run) -> None:
    """That eight links of a dead host failed one by one is one hypothesis, and its likeliest link stands for it."""
    for found in faults.host_down(cluster):
        run.tick(*found)
    run.tick(ticks=6)
    assert run.only.against == (
        "not link down at leaf1/Ethernet8--node3/mlx5_0: it does not explain that leaf2/Ethernet8 is down "
        "(90 % against 10 %)",
        "not rack power: no rack has lost most of its devices at once",
    )
    assert [each.kind for each in run.only.alternatives] == [I.LINK_DOWN, I.TELEMETRY_LOST]


def test_what_came_first_is_missing_with_how_far_readings_are_apart(cluster: Fabric, run: Run) -> None:
    lost, waits = cluster.find(K.GPU_LOST, cluster.gpu(1, 1)), cluster.find(K.JOB_STALLED, "job:1", 2)
    run.tick(replace(lost, cadence_s=30.0), waits, ticks=4)
    assert "what came first: readings are 30 s apart" in run.only.missing


def test_a_gpu_that_gets_hot_is_the_subject_of_its_reason(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.GPU_HOT, cluster.gpu(1, 1)), ticks=2)
    assert run.only.because[0] == "it gets warmer than its power explains, and heat is about to slow it"


@pytest.mark.parametrize(
    ("make", "reason"),
    [(fan_wall, "heat slows GPUs of node1"), (power_brake, "a power brake slows GPUs of r1")],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_it_says_what_holds_the_clocks_of_a_host_or_rack(make: Make, reason: str, cluster: Fabric, run: Run) -> None:
    for found in make(cluster):
        run.tick(*found)
    run.tick(ticks=6)
    assert run.only.because[0] == reason
