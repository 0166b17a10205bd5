import math

import pytest

from common.errors import BadInput
from export.remote_write.encoder import encode_request
from export.remote_write.facts import FactSeries
from telemetry import objects
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.incidents import BlastRadius, Incident, IncidentKind, IncidentState, Severity
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


def shown(facts: FactSeries, now_ms: int) -> dict[str, float | None]:
    blocks = facts.rows(now_ms)
    rows = flat(encode_request(blocks)) if blocks else []
    assert all(time_ms >= now_ms for _, _, time_ms in rows)
    return {name: None if math.isnan(value) else value for name, value, _ in rows}


FINDING = "fabricscope_finding_active detector=link device=leaf1 kind=link_down object=port:leaf1/Ethernet4"
LABELS = "incident_id=i1 kind=link_down root=port:leaf1/Ethernet4 severity={} state={}"
FIRING = "fabricscope_incident " + LABELS.format("warning", "firing")
COST = "fabricscope_incident_gpu_seconds_total " + LABELS.format("warning", "firing")


def test_an_active_finding_is_repeated_until_it_is_cleared_and_then_ends():
    facts = FactSeries({}, 10)
    facts.observe_finding(finding())
    assert shown(facts, 1) == {FINDING: 1.0}
    assert shown(facts, 2) == {FINDING: 1.0}
    facts.observe_finding(finding(FindingState.CLEARED))
    assert facts.changed
    assert shown(facts, 3) == {FINDING: None}
    assert shown(facts, 4) == {}


def test_two_findings_of_one_object_are_one_series_until_both_are_over():
    facts = FactSeries({}, 10)
    facts.observe_finding(finding())
    facts.observe_finding(finding(finding_id="f2"))
    facts.observe_finding(finding(FindingState.CLEARED))
    assert shown(facts, 1) == {FINDING: 1.0}


def test_an_incident_that_gets_worse_ends_one_series_and_begins_another():
    facts = FactSeries({}, 10)
    facts.observe_incident(incident())
    assert shown(facts, 1) == {FIRING: 1.0, COST: 42.0}
    facts.observe_incident(incident(severity=Severity.CRITICAL))
    after = shown(facts, 2)
    assert (after[FIRING], after[COST]) == (None, None)
    assert after["fabricscope_incident " + LABELS.format("critical", "firing")] == 1.0


def test_a_resolved_incident_shows_once_and_ends():
    facts = FactSeries({}, 10)
    facts.observe_incident(incident())
    shown(facts, 1)
    facts.observe_incident(incident(IncidentState.RESOLVED))
    resolved = "fabricscope_incident " + LABELS.format("warning", "resolved")
    assert shown(facts, 2)[resolved] == 1.0
    assert shown(facts, 3)[resolved] is None
    assert shown(facts, 4) == {}


def test_an_old_resolved_incident_shows_nothing():
    facts = FactSeries({}, 10)
    facts.observe_incident(incident(IncidentState.RESOLVED))
    assert shown(facts, 1) == {}


def test_after_a_restart_what_was_shown_ends_when_it_is_over():
    before = FactSeries({}, 10)
    before.observe_incident(incident())
    before.observe_finding(finding())
    after = FactSeries({}, 10)
    after.restore([value for value in before.unsaved.values() if value is not None])
    assert after.unsaved == {}
    after.observe_finding(finding(FindingState.CLEARED))
    assert shown(after, 1) == {FIRING: 1.0, COST: 42.0, FINDING: None}
    assert after.unsaved == {"finding/f1": None}


def test_times_never_go_back_when_the_clock_does():
    facts = FactSeries({}, 10)
    facts.observe_finding(finding())
    times = [facts.rows(now_ms)[0].times_ms[0] for now_ms in (100, 50, 50)]
    assert times == [100, 101, 102]


def test_the_number_is_bounded():
    facts = FactSeries({}, 1)
    facts.observe_finding(finding())
    with pytest.raises(BadInput, match="at most 1") as error:
        facts.observe_finding(finding(finding_id="f2"))
    assert error.value.reason == "too_many"
