import math
from dataclasses import replace

import pytest

from common.errors import BadInput
from export.remote_write.encoder import encode_request
from export.remote_write.state_series import StateSeries
from telemetry import objects
from telemetry.changes import Change, ChangeKind
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.incidents import BlastRadius, Incident, IncidentKind, IncidentState, Severity
from telemetry.topology import Device, Entity, Intent, Job, NodeState, Role, TopologyFact
from tests.unit.export.prompb import flat

PORT = objects.port("leaf1", "Ethernet4")


def finding(state: FindingState = FindingState.ACTIVE, finding_id: str = "f1") -> Finding:
    return Finding(finding_id, FindingKind.LINK_DOWN, PORT, "link", state, 0, 1, 1.0, 1.0, ())


def incident(state: IncidentState = IncidentState.FIRING, severity: Severity = Severity.WARNING) -> Incident:
    return Incident(
        id="i1", kind=IncidentKind.LINK_DOWN, root=PORT, state=state, severity=severity, title="", onset_ns=0,
        opened_ns=0, updated_ns=0, fired_ns=0, resolved_ns=0, confidence=1.0, order_known=True, first_symptom="",
        evidence=(), alternatives=(), blast=BlastRadius(), gpu_seconds=42.0, findings=(), timeline=(), gaps=(),
        action="", runbook="",
    )  # fmt: skip


def shown(states: StateSeries, now_ms: int) -> dict[str, float | None]:
    blocks = states.blocks(now_ms)
    rows = flat(encode_request(blocks)) if blocks else []
    assert all(time_ms >= now_ms for _, _, time_ms in rows)
    return {name: None if math.isnan(value) else value for name, value, _ in rows}


FINDING = "fabricscope_finding_active detector=link device=leaf1 kind=link_down object=port:leaf1/Ethernet4"
LABELS = "incident_id=i1 kind=link_down root=port:leaf1/Ethernet4 severity={} state={} where=leaf1/Ethernet4"
FIRING = "fabricscope_incident " + LABELS.format("warning", "firing")
COST = "fabricscope_incident_gpu_seconds_total " + LABELS.format("warning", "firing")


def test_an_active_finding_is_repeated_until_it_is_cleared_and_then_ends():
    states = StateSeries({}, 10)
    states.update_finding(finding())
    assert shown(states, 1) == {FINDING: 1.0}
    assert shown(states, 2) == {FINDING: 1.0}
    states.update_finding(finding(FindingState.CLEARED))
    assert states.changed
    assert shown(states, 3) == {FINDING: None}
    assert shown(states, 4) == {}


def test_two_findings_of_one_object_are_one_series_until_both_are_over():
    states = StateSeries({}, 10)
    states.update_finding(finding())
    states.update_finding(finding(finding_id="f2"))
    states.update_finding(finding(FindingState.CLEARED))
    assert shown(states, 1) == {FINDING: 1.0}


def test_an_incident_that_gets_worse_ends_one_series_and_begins_another():
    states = StateSeries({}, 10)
    states.update_incident(incident())
    assert shown(states, 1) == {FIRING: 1.0, COST: 42.0}
    states.update_incident(incident(severity=Severity.CRITICAL))
    after = shown(states, 2)
    assert (after[FIRING], after[COST]) == (None, None)
    assert after["fabricscope_incident " + LABELS.format("critical", "firing")] == 1.0


def test_a_cost_that_is_taken_back_never_goes_back_here_also_after_a_restart():
    before = StateSeries({}, 10)
    before.update_incident(incident())
    before.update_incident(replace(incident(), gpu_seconds=7.0))
    assert shown(before, 1) == {FIRING: 1.0, COST: 42.0}
    after = StateSeries({}, 10)
    after.restore([value for value in before.unsaved.values() if value is not None])
    after.update_incident(replace(incident(), gpu_seconds=8.0))
    assert shown(after, 2) == {FIRING: 1.0, COST: 42.0}
    after.update_incident(replace(incident(), gpu_seconds=43.0))
    assert shown(after, 3) == {FIRING: 1.0, COST: 43.0}


def test_of_an_incident_that_was_refused_nothing_is_kept():
    states = StateSeries({}, 1)
    states.update_finding(finding())
    with pytest.raises(BadInput):
        states.update_incident(incident())
    states.update_finding(finding(FindingState.CLEARED))
    states.update_incident(replace(incident(), gpu_seconds=7.0))
    assert shown(states, 1)[COST] == 7.0


def test_an_incident_is_where_people_look_for_it():
    states = StateSeries({}, 10)
    states.update_incident(replace(incident(), where="node1 GPU 3 (serial 1650321004242)"))
    assert {name.partition(" where=")[2] for name in shown(states, 1)} == {"node1 GPU 3 (serial 1650321004242)"}


def test_a_resolved_incident_shows_once_and_ends():
    states = StateSeries({}, 10)
    states.update_incident(incident())
    shown(states, 1)
    states.update_incident(incident(IncidentState.RESOLVED))
    resolved = "fabricscope_incident " + LABELS.format("warning", "resolved")
    assert shown(states, 2)[resolved] == 1.0
    assert shown(states, 3)[resolved] is None
    assert shown(states, 4) == {}


def test_an_old_resolved_incident_shows_nothing():
    states = StateSeries({}, 10)
    states.update_incident(incident(IncidentState.RESOLVED))
    assert shown(states, 1) == {}


def test_after_a_restart_what_was_shown_ends_when_it_is_over():
    before = StateSeries({}, 10)
    before.update_incident(incident())
    before.update_finding(finding())
    after = StateSeries({}, 10)
    after.restore([value for value in before.unsaved.values() if value is not None])
    assert after.unsaved == {}
    after.update_finding(finding(FindingState.CLEARED))
    assert shown(after, 1) == {FIRING: 1.0, COST: 42.0, FINDING: None}
    assert after.unsaved == {"finding/f1": None}


def test_times_never_go_back_when_the_clock_does():
    states = StateSeries({}, 10)
    states.update_finding(finding())
    times = [states.blocks(now_ms)[0].times_ms[0] for now_ms in (100, 50, 50)]
    assert times == [100, 101, 102]


def test_the_number_is_bounded():
    states = StateSeries({}, 1)
    states.update_finding(finding())
    with pytest.raises(BadInput, match="at most 1") as error:
        states.update_finding(finding(finding_id="f2"))
    assert error.value.reason == "too_many"


JOB = "fabricscope_job_node device={} job_id=4711 name=llama user=ann"


def fact(entity: Entity, at_ns: int = 1, *, gone: bool = False) -> TopologyFact:
    return TopologyFact(entity, at_ns, "slurm", gone)


def test_a_job_shows_its_nodes_until_it_is_gone():
    states, job = StateSeries({}, 10), Job("4711", ("node1", "node2"), "llama", "ann")
    assert states.update_topology(fact(job)) == ""
    assert shown(states, 1) == {JOB.format("node1"): 1.0, JOB.format("node2"): 1.0}
    states.update_topology(fact(replace(job, nodes=("node2", "node3")), 3))
    states.update_topology(fact(job, 2))  # observed before
    assert shown(states, 2) == {JOB.format("node1"): None, JOB.format("node2"): 1.0, JOB.format("node3"): 1.0}
    states.update_topology(fact(job, 4, gone=True))
    assert set(shown(states, 3).values()) == {None}
    assert shown(states, 4) == {}


def test_a_node_shows_what_is_intended_with_it_while_that_is_so():
    states = StateSeries({}, 10)
    states.update_topology(fact(NodeState("node1", "IDLE")))
    assert shown(states, 1) == {}
    states.update_topology(fact(NodeState("node1", "IDLE+DRAIN", Intent.DRAINED)))
    assert shown(states, 2) == {"fabricscope_node_intent device=node1 intent=drained": 1.0}
    states.update_topology(fact(NodeState("node1", "IDLE")))
    assert shown(states, 3) == {"fabricscope_node_intent device=node1 intent=drained": None}


def test_places_of_devices_are_known_as_labels_and_a_move_is_reported_once():
    states, node = StateSeries({}, 10), Device("node1", Role.HOST, "pod1", "r1")
    assert [states.update_topology(fact(node, at_ns)) for at_ns in (1, 2)] == ["node1", ""]
    assert states.places == {"node1": {"pod": "pod1", "rack": "r1"}}
    assert states.update_topology(fact(replace(node, pod="", rack="r2"), 3)) == "node1"
    assert states.places == {"node1": {"rack": "r2"}}
    assert states.update_topology(fact(node, 4, gone=True)) == "node1"
    assert (states.places, shown(states, 1)) == ({}, {})


CHANGED = "fabricscope_change author=ann change_id=c1 kind=firmware object={}"


def change(starts_ms: int, ends_ms: int) -> Change:
    return Change("c1", ChangeKind.FIRMWARE, (PORT,), starts_ms * 1_000_000, ends_ms * 1_000_000, "ann")


def test_a_change_shows_from_its_beginning_to_its_end():
    states, series = StateSeries({}, 10), CHANGED.format(PORT)
    states.update_change(change(100_000, 300_000))
    expected = {99_000: {}, 100_000: {series: 1.0}, 299_000: {series: 1.0}, 300_000: {series: None}, 301_000: {}}
    assert {now_ms: shown(states, now_ms) for now_ms in expected} == expected
    assert states.unsaved["change/c1"] is None


def test_a_change_without_duration_shows_for_a_minute():
    states = StateSeries({}, 10)
    states.update_change(change(100_000, 0))
    assert [len(shown(states, now_ms)) for now_ms in (100_000, 159_000)] == [1, 1]
    assert list(shown(states, 160_000).values()) == [None]


def test_a_restart_forgets_no_place_job_or_change():
    before = StateSeries({}, 10)
    before.update_topology(fact(Device("node1", Role.HOST, "pod1", "r1")))
    before.update_topology(fact(Job("4711", ("node1",), "llama", "ann")))
    before.update_change(change(100_000, 300_000))
    after = StateSeries({}, 10)
    after.restore([value for value in before.unsaved.values() if value is not None])
    assert after.places == before.places
    assert shown(after, 200_000) == {JOB.format("node1"): 1.0, CHANGED.format(PORT): 1.0}
