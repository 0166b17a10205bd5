"""What correlation remembers of findings: newest versions, time without an explanation, and its snapshot."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from analytics.correlate.cluster.nodes import Nodes
from analytics.correlate.memory import VERSION, CorrelatorMemory, dump, load
from common.errors import BadInput
from telemetry.findings import Finding, FindingState
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from tests.unit.analytics.correlate.small_fabric import Fabric, Run

ACTIVE, CLEARED = FindingState.ACTIVE, FindingState.CLEARED


def version(cluster: Fabric, observed_ns: int, state: FindingState = ACTIVE, score: float = 1.0) -> Finding:
    found = cluster.find(K.LINK_DOWN, "leaf1/Ethernet0", score=score)
    return replace(found, id="a", observed_ns=observed_ns, state=state)


@pytest.mark.parametrize(
    ("versions", "score"),
    [
        ([(1, ACTIVE, 1.0)], 1.0),
        ([(1, ACTIVE, 1.0), (2, ACTIVE, 2.0)], 2.0),
        ([(2, ACTIVE, 2.0), (1, ACTIVE, 1.0)], 2.0),  # late
        ([(2, ACTIVE, 2.0), (1, CLEARED, 1.0)], 2.0),
        ([(1, ACTIVE, 1.0), (2, CLEARED, 1.0)], None),
        ([(2, ACTIVE, 1.0), (2, CLEARED, 1.0)], None),  # of two equally new versions the cleared one wins
        ([(2, CLEARED, 1.0), (2, ACTIVE, 1.0)], None),
        ([(2, ACTIVE, 3.0), (2, ACTIVE, 2.0)], 3.0),  # else the greater bytes
        ([(2, ACTIVE, 2.0), (2, ACTIVE, 3.0)], 3.0),
    ],
)
def test_of_the_versions_of_one_tick_the_newest_is_kept(
    cluster: Fabric, versions: list[tuple[int, FindingState, float]], score: float | None
) -> None:
    memory = CorrelatorMemory()
    memory.update([version(cluster, *each) for each in versions], 100)
    assert [finding.score for finding in memory.findings.values()] == ([] if score is None else [score])
    assert memory.since == ({} if score is None else {"a": 100})


def test_a_finding_waits_since_it_was_first_seen_or_last_explained(cluster: Fabric) -> None:
    memory = CorrelatorMemory()
    memory.update([version(cluster, 1)], 100)
    memory.update([version(cluster, 2)], 200)
    assert memory.since == {"a": 100}
    memory.mark_explained(["a"], 300)
    memory.update([version(cluster, 3)], 400)
    assert memory.since == {"a": 300}


def test_findings_about_ended_jobs_are_not_active(cluster: Fabric) -> None:
    memory = CorrelatorMemory()
    memory.update([cluster.find(K.JOB_STALLED, "job:1"), cluster.find(K.DEVIATION, "device:1")], 100)
    assert {str(finding.object) for finding in memory.active(frozenset({"1"}), Nodes())} == {"device:1"}
    assert len(memory.active(frozenset(), Nodes())) == 2


def test_a_snapshot_reads_back_to_the_same_bytes(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.GPU_LOST, cluster.gpu(1, 5)), cluster.find(K.JOB_STALLED, "job:1", 2))
    run.tick(ticks=3)
    head = run.correlator.state().head
    assert head["version"] == VERSION
    assert head["tracks"][0]["primary"]
    assert orjson.dumps(dump(load(orjson.loads(orjson.dumps(head))))) == orjson.dumps(head)


def test_a_snapshot_from_before_there_was_a_queue_is_read(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.GPU_LOST, cluster.gpu(1, 5)))
    head = dict(orjson.loads(orjson.dumps(run.correlator.state().head)))
    del head["queue"]
    assert dump(load({**head, "version": 3})) == run.correlator.state().head


def test_more_than_a_step_takes_waits_the_most_urgent_first(cluster: Fabric) -> None:
    memory = CorrelatorMemory()
    storm = [cluster.find(K.GPU_LOST, f"gpu:node1/GPU-{each:05d}", each) for each in range(5)]
    symptom, other = cluster.find(K.DEVIATION, "node2", 1), cluster.find(K.LINK_DOWN, "leaf1/Ethernet0", 9)
    memory.update([*storm, symptom, other], 100, 3)
    assert [finding.id for finding in memory.findings.values()] == sorted([storm[0].id, other.id, symptom.id])
    again = [replace(other, observed_ns=other.observed_ns + 9, score=5.0), *storm[:2]]
    memory.update(again, 200, 3)
    assert memory.findings.keys() == {*(finding.id for finding in storm[:4]), symptom.id, other.id}
    assert memory.findings[other.id].score == other.score  # only seen again: after all that is new
    memory.update((), 300, 3)
    assert memory.findings[other.id].score == 5.0
    assert len(memory.findings) == 7
    assert not memory.queue


def test_of_the_versions_that_wait_the_newest_is_taken(cluster: Fabric) -> None:
    memory = CorrelatorMemory()
    first = cluster.find(K.GPU_LOST, cluster.gpu(1, 1))
    memory.update([first, version(cluster, 1, score=1.0)], 100, 1)
    memory.update([version(cluster, 3, score=3.0), version(cluster, 2, score=2.0)], 200, 0)
    memory.update([], 300, 2)
    assert memory.findings["a"].score == 3.0
    assert first.id in memory.findings
    memory.update([version(cluster, 4, CLEARED)], 400, 1)
    assert "a" not in memory.findings


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({}, "version None"),
        ({"version": VERSION - 2}, f"expected {VERSION}"),
        ({"version": VERSION + 1}, f"expected {VERSION}"),
        ({"version": VERSION, "findings": 3}, "findings"),
        ({"version": VERSION, "tracks": [{"id": "x"}]}, "tracks.0"),
    ],
)
def test_a_snapshot_of_another_version_or_shape_is_refused(broken: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        load(broken)


def test_a_snapshot_of_version_3_is_read_and_knows_of_no_absence(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.GPU_LOST, cluster.gpu(1, 5)))
    head = {**run.correlator.state().head, "version": 3}
    del head["absences"]
    memory = load(head)
    assert (len(memory.findings), memory.absences) == (1, {})


def test_a_snapshot_from_before_verdicts_is_read(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.LINK_DOWN, cluster.uplink(1, 1)), ticks=2)
    head: dict[str, Any] = dict(run.correlator.state().head)
    for track in head["tracks"]:
        for name in ("because", "against", "missing", "explained_max"):
            del track[name]
    memory = load({**head, "version": 3})
    assert [(track.cause.kind, track.because) for track in memory.tracks] == [(I.LINK_DOWN, ())]


def test_what_goes_on_when_the_clocks_went_back_is_no_known_fault(cluster: Fabric, run: Run) -> None:
    """Its incident of before is resolved, so somebody has to be paged once more."""
    known = replace(cluster.find(K.LINK_DOWN, cluster.uplink(1, 1)), since_first_seen=True)
    run.tick(known)
    run.correlator.close(run.now_ns, cluster.topology)
    run.tick(replace(known, observed_ns=run.now_ns), ticks=3)
    assert [one.since_first_seen for one in run.incidents.values() if one.state == "firing"] == [False]
