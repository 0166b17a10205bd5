"""A port that carries next to nothing shows nothing: its incident goes on, and explains nothing new meanwhile."""

from dataclasses import replace

import pytest

from telemetry.findings import Finding, FindingState
from telemetry.findings import FindingKind as K
from telemetry.incidents import Incident, IncidentState
from tests.unit.analytics.correlate import faults
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, Run, S

ROOT = "leaf3/Ethernet4"  # to node2


def unseen(run: Run, *findings: Finding) -> list[Finding]:
    """As their detectors say it, with the values of now."""
    return [replace(each, observed_ns=run.now_ns, score=0.0, unloaded_since_ns=run.now_ns) for each in findings]


def cleared(run: Run, *findings: Finding) -> list[Finding]:
    return [replace(each, observed_ns=run.now_ns, state=FindingState.CLEARED) for each in findings]


def of(run: Run, root: str) -> Incident:
    (found,) = [each for each in run.incidents.values() if each.root.name == root]
    return found


def slow(run: Run) -> tuple[list[Finding], list[Finding]]:
    """A slow receiver for which a job waits: what shows it, and what else does."""
    cluster = run.cluster
    own = [cluster.find(K.PFC_PAUSE_RECEIVED, ROOT), cluster.find(K.PFC_PAUSE_SENT, "node2/mlx5_2", 1)]
    upstream = [cluster.find(K.PFC_PAUSE_RECEIVED, cluster.downlink(1, 3), 2)]
    run.tick(*own, *upstream, cluster.find(K.JOB_STALLED, "job:1", 2), ticks=3)
    assert run.pages == [f"slow_receiver {ROOT}"]
    return own, upstream


def test_it_is_open_until_it_was_seen_to_be_well(run: Run) -> None:
    own, upstream = slow(run)
    run.clear(*upstream, run.cluster.find(K.JOB_STALLED, "job:1", 2))
    run.tick(*unseen(run, *own), ticks=120)
    assert (run.only.state, run.only.occurrences, len(run.pages)) == (IncidentState.FIRING, 1, 1)
    assert "next to nothing is sent there" in run.only.timeline[-1].text
    assert run.only.evidence[0].value == 0.9  # what was seen of it, not what is not
    run.tick(*(replace(each, observed_ns=run.now_ns) for each in own), ticks=3)
    run.tick(*cleared(run, *own), ticks=20)
    assert (run.only.state, run.only.timeline[-1].text, len(run.pages)) == (IncidentState.RESOLVED, "resolved", 1)


def test_when_it_ends_without_being_seen_it_says_since_when(run: Run) -> None:
    own, upstream = slow(run)
    run.clear(*upstream)
    idle = unseen(run, *own)
    run.tick(*idle, ticks=3)
    run.tick(*cleared(run, *idle), ticks=20)
    assert run.only.state is IncidentState.RESOLVED
    assert run.only.timeline[-1].text == (
        "resolved: next to nothing is sent there since 08:00:20, so nothing shows a repair"
    )


def test_what_was_seen_again_since_ends_by_a_repair(run: Run) -> None:
    own, upstream = slow(run)
    run.clear(*upstream)
    idle = unseen(run, *own)
    run.tick(*idle, ticks=3)
    run.tick(*cleared(run, *idle), ticks=2)
    again = [replace(each, id=f"{each.id} again", onset_ns=run.now_ns, observed_ns=run.now_ns) for each in own]
    run.tick(*again, ticks=3)
    run.tick(*cleared(run, *again), ticks=20)
    assert (run.only.state, run.only.timeline[-1].text) == (IncidentState.RESOLVED, "resolved")


def test_pressure_that_nobody_was_paged_for_ends_with_the_load(run: Run) -> None:
    own = run.cluster.find(K.PFC_PAUSE_RECEIVED, ROOT)
    run.tick(own, ticks=3)
    run.tick(*unseen(run, own), ticks=20)
    assert (run.only.state, run.pages) == (IncidentState.RESOLVED, [])


def test_ports_elsewhere_that_carry_nothing_keep_nothing_open(run: Run) -> None:
    own, upstream = slow(run)
    run.tick(*cleared(run, *own), *unseen(run, *upstream), ticks=20)
    assert run.only.state is IncidentState.RESOLVED


def test_other_pressure_does_not_begin_where_nothing_is_seen(cluster: Fabric, run: Run) -> None:
    """leaf3 pauses its spine again, now as another of its ports congests."""
    own, upstream = slow(run)
    run.clear(*upstream, cluster.find(K.JOB_STALLED, "job:1", 2))
    run.tick(*unseen(run, *own), ticks=60)
    at = (run.now_ns - T0) / S
    congested = cluster.facing(3, 6)
    again = replace(upstream[0], id="again", onset_ns=run.now_ns, observed_ns=run.now_ns)
    queues = [cluster.find(kind, congested, at, score=5) for kind in (K.QUEUE_CONGESTED, K.ECN_MARKING)]
    run.tick(again, *queues, ticks=3)
    assert f"incast {congested}" in run.roots
    assert again.id in of(run, congested).findings


def test_a_job_that_begins_to_wait_meanwhile_waits_for_something_else(cluster: Fabric, run: Run) -> None:
    errors = cluster.find(K.LINK_ERRORS, ROOT)
    run.tick(errors, ticks=3)
    run.tick(*unseen(run, errors), ticks=24)
    waits = cluster.find(K.JOB_STALLED, "job:1", (run.now_ns - T0) / S)
    run.tick(waits, ticks=20)
    assert waits.id not in of(run, f"{ROOT}--node2/mlx5_2").findings
    assert waits.id in of(run, "1").findings


def test_a_job_that_goes_on_waiting_does_so_for_what_is_seen(cluster: Fabric, run: Run) -> None:
    """Two faults of one job: over the port of the first one nothing is sent while the second one lasts."""
    own, upstream = slow(run)
    other = cluster.facing(5, 4)
    second = [cluster.find(K.PFC_PAUSE_RECEIVED, other, 4), cluster.find(K.PFC_PAUSE_SENT, "node4/mlx5_4", 4)]
    run.tick(*second, ticks=3)
    run.clear(*upstream)
    run.tick(*unseen(run, *own), ticks=3)
    assert run.pages == [f"slow_receiver {ROOT}", f"slow_receiver {other}"]
    assert of(run, ROOT).state is IncidentState.FIRING


def test_a_hot_gpu_whose_job_idles_keeps_its_incident(cluster: Fabric, run: Run) -> None:
    hot = cluster.find(K.GPU_THROTTLED, cluster.gpu(2, 3), score=5)
    run.tick(hot, ticks=3)
    run.tick(*unseen(run, hot), ticks=60)
    assert (run.only.state, len(run.pages)) == (IncidentState.FIRING, 1)
    assert run.only.timeline[-1].text == "it draws too little power to get warm: whether it goes on is not known"
    run.tick(*cleared(run, *unseen(run, hot)), ticks=20)
    assert "resolved: it draws too little power to get warm since" in run.only.timeline[-1].text


@pytest.mark.parametrize("later", [K.QUEUE_CONGESTED, K.ECN_MARKING])
def test_what_is_not_seen_opens_nothing(later: K, cluster: Fabric, run: Run) -> None:
    found = [each for tick in faults.incast_without_pauses(cluster) for each in tick if each.kind is later]
    run.tick(*found)
    run.tick(*unseen(run, *found), ticks=40)
    assert not run.incidents
