"""What the API makes of records: nothing is missing, and what an incident reaches is counted, not listed."""

from dataclasses import fields, replace

import pytest

from benchmarks.incident_size import large_incident
from fabricscope.api import views
from fabricscope.api.read_model import TargetStatus
from fabricscope.api.replays import Replay
from fabricscope.api.views.incidents import MEMBERS_SHOWN, members_of
from telemetry import changes, findings, incidents, ledger, refusals, topology
from telemetry.codec.records import encode_record
from telemetry.findings import Evidence
from telemetry.series import series_key
from tests.unit.fabricscope.api.traffic import incident


@pytest.mark.parametrize(
    ("record", "view"),
    [
        (changes.Change, views.Change),
        (findings.Finding, views.Finding),
        (incidents.Incident, views.Incident),
        (incidents.BlastRadius, views.Blast),
        (incidents.TimelineEntry, views.TimelineEntry),
        (incidents.ObjectRecord, views.ObjectRecord),
        (incidents.RecordEvent, views.RecordEvent),
        (ledger.StageReport, views.StageReport),
        (refusals.Refusal, views.Refusal),
        (topology.Job, views.Job),
        (topology.NodeState, views.NodeState),
        (TargetStatus, views.Target),
    ],
)
def test_a_view_has_every_field_of_its_record(record, view):
    assert {field.name.removesuffix("_ns") for field in fields(record)} <= view.model_fields.keys()


def test_a_replay_has_all_but_what_its_incidents_are_drawn_from():
    assert {field.name.removesuffix("_ns") for field in fields(Replay)} - {"found"} <= views.Replay.model_fields.keys()


def test_an_incident_of_1600_gpus_is_answered_in_a_twentieth_of_its_record():
    large = large_incident()
    shown = views.Incident.of(large)
    assert len(shown.model_dump_json()) < len(encode_record(large)) / 20
    assert (shown.blast.gpus.count, len(shown.blast.gpus.first), shown.blast.gpus.more) == (1600, 10, 1590)
    assert (shown.blast.jobs.count, shown.blast.jobs.first, shown.blast.jobs.more) == (
        4,
        ("4711", "4712", "4713", "4714"),
        0,
    )
    assert len(list(members_of(large))) == 1600 + 200 + 1600 + 4 + 1600


def test_names_that_the_incident_speaks_of_come_first():
    large = large_incident()
    gpu = large.blast.gpus[-1]
    host, _, uuid = gpu.partition("/")
    evidence = Evidence(series_key("gpu_temp_celsius", {"device": host, "gpu": uuid}), 90.0, 60.0, "celsius")
    shown = views.Incident.of(replace(large, evidence=(Evidence("of many", 1.0, None, ""), evidence))).blast
    assert shown.gpus.first == (gpu, *large.blast.gpus[: MEMBERS_SHOWN - 1])
    assert shown.nodes.first == (host, *large.blast.nodes[: MEMBERS_SHOWN - 1])


def test_a_view_reads_back_from_its_own_json():
    shown = views.Incident.of(incident())
    assert views.Incident.model_validate_json(shown.model_dump_json()) == shown
    assert (shown.fired is None, shown.resolved) == (False, None)
