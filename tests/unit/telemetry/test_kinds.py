"""The tables of kinds: complete, consistent, and the only place where a kind gets its meaning."""

import re
from pathlib import Path

import pytest

from analytics.config import DetectionConfig
from analytics.detectors import detectors
from analytics.detectors.multivariate.measures import KINDS
from telemetry.catalogue import metrics
from telemetry.findings import FindingKind
from telemetry.incidents import IncidentKind, Severity
from telemetry.kinds import (
    Domain,
    Effect,
    FindingGroup,
    HoldPolicy,
    Prediction,
    Tier,
    Within,
    effects,
    finding_kinds,
    incident_kinds,
    kinds_in,
)
from telemetry.kinds.__main__ import document

each_finding = pytest.mark.parametrize("kind", FindingKind)
each_incident = pytest.mark.parametrize("kind", IncidentKind)


def test_every_kind_has_a_row_and_no_row_is_of_something_else() -> None:
    assert list(finding_kinds()) == list(FindingKind)
    assert list(incident_kinds()) == list(IncidentKind)


def test_every_group_has_kinds_and_every_kind_one_group() -> None:
    assert all(kinds_in(group) for group in FindingGroup)
    assert sum(len(kinds_in(group)) for group in FindingGroup) == len(FindingKind)


@each_finding
def test_the_texts_of_a_finding_fit_into_a_sentence(kind: FindingKind) -> None:
    row = finding_kinds()[kind]
    for text in (row.meaning, row.text, row.cause):
        assert text == text.strip().rstrip(".")
    assert row.meaning
    assert row.text


@each_finding
def test_the_detectors_of_a_finding_are_those_that_publish_it(kind: FindingKind) -> None:
    publish = {detector.name for detector in detectors(DetectionConfig()) if detector.kind is kind}
    publish |= {f"multivariate_{name}" for name in KINDS} if kind is FindingKind.DEVIATION else set()
    assert set(finding_kinds()[kind].detectors) == publish
    assert publish, "a kind that nothing publishes"


@each_incident
def test_an_incident_has_texts_with_known_slots_only(kind: IncidentKind) -> None:
    row = incident_kinds()[kind]
    for text in (
        row.phrase,
        row.away or row.phrase,
        row.over or row.phrase,
        row.action,
        row.over_action or row.action,
        row.runbook,
        row.meaning,
        row.root,
    ):
        assert text.strip()
        assert set(re.findall(r"\{(\w+)\}", text)) <= {"root", "device"}
    assert all("{root}" in text for text in (row.phrase, row.away or row.phrase, row.over or row.phrase))
    assert row.over or not row.away
    assert row.over or not row.over_action
    assert row.runbook.startswith("1. ")


@each_incident
def test_its_numbers_are_in_range_and_its_findings_are_its_own(kind: IncidentKind) -> None:
    row = incident_kinds()[kind]
    assert 0.0 < row.prior <= 2.0
    assert row.returning <= row.evidence | kinds_in(FindingGroup.QUEUE)
    if row.tier is Tier.RESIDUAL:
        assert row.predicts == dict.fromkeys(Effect, Prediction(Within.OWN))
        assert not row.returning
    symptoms = {each for each in FindingKind if finding_kinds()[each].symptom}
    assert all(prediction.through <= row.evidence | symptoms for prediction in row.predicts.values())


@each_incident
def test_what_correlation_names_resembles_two_kinds_that_can_be_ruled_out_in_words(kind: IncidentKind) -> None:
    row, of_the_product = incident_kinds()[kind], {IncidentKind.ALERTS_OVERLOADED, IncidentKind.SAMPLES_DROPPED}
    ruled_out = [other for other in row.resembles if incident_kinds()[other].absent]
    assert len(ruled_out) >= (0 if kind in of_the_product else 2)
    assert kind not in row.resembles
    assert row.absent or not row.denied_by


def test_every_effect_has_a_row_and_every_symptom_is_one() -> None:
    assert list(effects()) == list(Effect)
    assert {kind for kind, row in finding_kinds().items() if row.shows} == {
        kind for kind, row in finding_kinds().items() if row.symptom
    }
    shown = {row.shows for row in finding_kinds().values() if row.shows}
    assert shown | {effect for effect, row in effects().items() if row.up or row.down} == set(Effect)


def test_a_metric_shows_one_effect_to_a_side_and_is_in_the_catalogue() -> None:
    sides = [
        (metric, up) for row in effects().values() for up in (True, False) for metric in (row.up if up else row.down)
    ]
    assert len(sides) == len(set(sides))
    assert {metric for metric, _ in sides} <= set(metrics())


def test_every_effect_is_predicted_by_some_cause() -> None:
    whole = {IncidentKind.UNEXPLAINED, IncidentKind.CONGESTION, IncidentKind.PROGRAM_FAILED, IncidentKind.JOB_HANG}
    causes = [row for kind, row in incident_kinds().items() if kind not in whole]
    assert {effect for row in causes for effect in row.predicts} == set(Effect)


def test_every_finding_that_is_no_plain_symptom_feeds_an_incident() -> None:
    fed = frozenset[FindingKind]().union(*(row.evidence for row in incident_kinds().values()))
    symptoms = {kind for kind, row in finding_kinds().items() if row.symptom}
    assert set(FindingKind) - symptoms <= fed


@pytest.mark.parametrize(
    ("kind", "domain", "floor"),
    [
        (IncidentKind.SLOW_RECEIVER, Domain.FABRIC, Severity.WARNING),
        (IncidentKind.PAUSE_LOOP, Domain.FABRIC, Severity.CRITICAL),
        (IncidentKind.RACK_POWER, Domain.POWER, Severity.CRITICAL),
        (IncidentKind.GPU_FAULT, Domain.GPU, Severity.WARNING),
        (IncidentKind.PROGRAM_FAILED, Domain.GPU, Severity.INFO),
        (IncidentKind.JOB_HANG, Domain.GPU, Severity.WARNING),
        (IncidentKind.WEAR, Domain.CAPACITY, Severity.INFO),
        (IncidentKind.TELEMETRY_LOST, Domain.TELEMETRY, Severity.INFO),
        (IncidentKind.ALERTS_OVERLOADED, Domain.TELEMETRY, Severity.CRITICAL),
        (IncidentKind.SAMPLES_DROPPED, Domain.TELEMETRY, Severity.CRITICAL),
        (IncidentKind.UNEXPLAINED, Domain.UNKNOWN, Severity.INFO),
    ],
)
def test_a_kind_goes_to_its_team_with_its_floor(kind: IncidentKind, domain: Domain, floor: Severity) -> None:
    assert (incident_kinds()[kind].domain, incident_kinds()[kind].severity_floor) == (domain, floor)


def test_only_what_is_slow_or_congested_pages_nobody_while_no_job_waits() -> None:
    gated = {kind for kind, row in incident_kinds().items() if not row.pages_without_waiting}
    pressure = {IncidentKind.SLOW_RECEIVER, IncidentKind.INCAST, IncidentKind.CONGESTION}
    storage = {IncidentKind.SLOW_STORAGE, IncidentKind.STORAGE_PATH, IncidentKind.LATE_CHECKPOINT}
    assert gated == pressure | storage


@pytest.mark.parametrize("effect", [Effect.JOB_SLOWED, Effect.JOB_STALLED])
def test_pressure_stops_a_job_only_where_a_port_stands_still(effect: Effect) -> None:
    found = {
        kind: row.predicts[effect].silent_through for kind, row in incident_kinds().items() if effect in row.predicts
    }
    still = frozenset({FindingKind.PAUSE_STORM})
    assert {kind for kind, through in found.items() if through == still} == {
        IncidentKind.SLOW_RECEIVER,
        IncidentKind.INCAST,
    }
    assert set(found.values()) == {still, None}


def test_only_what_nothing_explains_has_no_team() -> None:
    unknown = {kind for kind, row in incident_kinds().items() if row.domain is Domain.UNKNOWN}
    assert unknown == {IncidentKind.UNEXPLAINED}


@pytest.mark.parametrize(
    ("kind", "within"),
    [
        (IncidentKind.SLOW_STORAGE, Within.JOBS),
        (IncidentKind.LINK_DOWN, Within.CERTAIN),  # routing goes round it
        (IncidentKind.STRAGGLER, None),  # no kernel runs while a checkpoint is written
    ],
)
def test_a_checkpoint_is_held_up_only_by_what_its_writes_need(kind: IncidentKind, within: Within | None) -> None:
    found = incident_kinds()[kind].predicts.get(Effect.WRITES_WAIT)
    assert (found.within if found else None) is within


def test_a_cause_that_may_be_part_of_a_larger_one_waits_longer_than_one_that_explains_itself() -> None:
    assert incident_kinds()[IncidentKind.GPU_FAULT].hold is HoldPolicy.NONE
    assert incident_kinds()[IncidentKind.LINK_DOWN].hold is HoldPolicy.TICK
    assert incident_kinds()[IncidentKind.LATE_CHECKPOINT].hold is HoldPolicy.INTERVAL


def test_the_committed_document_is_the_generated_one() -> None:
    assert Path("docs/kinds.md").read_text() == document(), "run: make docs"


def test_severities_have_an_order() -> None:
    assert sorted(Severity, key=lambda severity: severity.rank) == [
        Severity.INFO,
        Severity.WARNING,
        Severity.CRITICAL,
    ]
