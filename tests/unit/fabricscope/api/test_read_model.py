"""The API's state, record by record."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from prometheus_client import REGISTRY

from bus.base import Record
from bus.owner.fence import EPOCH
from fabricscope.api import read_model
from fabricscope.api.history import History
from fabricscope.api.read_model import ReadModel
from fabricscope.api.silent_detection import SilentDetection
from fabricscope.api.stale_owner import StaleOwner
from fabricscope.api.views.cluster import Target
from telemetry import topics
from telemetry.changes import Change, ChangeKind
from telemetry.codec.account import ACCOUNT_HEADER
from telemetry.codec.batch import encode_batch
from telemetry.codec.records import RecordValue, encode_record
from telemetry.findings import FindingState
from telemetry.incidents import IncidentState, Severity
from telemetry.ledger import StageReport, TargetAccount
from telemetry.objects import device
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.starvation import HostLosses
from telemetry.topology import Device, Role, TopologyFact
from telemetry.trends import DeviceTrends
from tests.unit.fabricscope.api.traffic import finding, incident

NS = 1_000_000_000
DROPPED = "fabricscope_api_records_dropped_total"
UP = series_key("fabric_port_up", {"device": "leaf1", "port": "Ethernet0"})


def record(topic: topics.Topic, value: RecordValue | None, key: bytes = b"", raw: bytes | None = None) -> Record:
    return Record(topic.name, 0, 0, 0, key, raw if value is None else encode_record(value), {})


def batch(
    seq: int,
    *,
    down: DownReason | None = None,
    target: str = "gnmi/leaf1",
    unmapped: int = 0,
    left_out: int = 0,
    account: bytes | None = None,
) -> Record:
    """A collection at ``seq`` seconds."""
    n = 0 if down else 1
    made = SampleBatch(
        SeriesTable(target, "leaf1", (UP,)),
        Collection(1, seq, seq * NS, 0.01, down, unmapped, left_out),
        np.full(n, seq * NS, dtype=np.int64),
        np.arange(n, dtype=np.uint32),
        np.ones(n),
    )
    value, headers = encode_batch(made)
    if account is not None:
        headers[ACCOUNT_HEADER] = account
    return Record(topics.SAMPLES.name, 0, 0, 0, b"leaf1", value, dict(headers))


@pytest.fixture
def model() -> ReadModel:
    return ReadModel(History(900 * NS, 10**6))


@pytest.mark.parametrize(
    ("topic", "old", "new", "kept"),
    [
        (topics.INCIDENTS, incident("i1"), incident("i1", IncidentState.RESOLVED), lambda m: m.incidents["i1"]),
        (
            topics.FINDINGS,
            finding("f1", FindingState.ACTIVE),
            finding("f1", FindingState.CLEARED),
            lambda m: m.findings["f1"],
        ),
        (
            topics.LEDGER,
            StageReport("ingest", "a", 1, 1),
            StageReport("ingest", "a", 1, 2),
            lambda m: m.stages["ingest", "a"],
        ),
        (topics.STARVATION, HostLosses("node1", 1, ()), HostLosses("node1", 2, ()), lambda m: m.losses["node1"]),
        (topics.TRENDS, DeviceTrends("leaf1", 1, ()), DeviceTrends("leaf1", 2, ()), lambda m: m.trends["leaf1"]),
        (
            topics.CHANGES,
            Change("c1", ChangeKind.DRAIN, (device("node1"),), 1),
            Change("c1", ChangeKind.DRAIN, (device("node1"),), 1, 9),
            lambda m: m.changes["c1"],
        ),
        (
            topics.TOPOLOGY,
            TopologyFact(Device("leaf1", Role.LEAF), 1, "inventory"),
            TopologyFact(Device("leaf1", Role.SPINE), 2, "inventory"),
            lambda m: m.topology.facts[Device("leaf1", Role.SPINE).key],
        ),
    ],
    ids=lambda value: value.name if isinstance(value, topics.Topic) else "",
)
def test_the_newest_version_of_a_record_is_kept(model, topic, old, new, kept):
    model.apply([record(topic, old), record(topic, new)])
    assert kept(model) == new


def test_a_target_has_as_many_unmapped_series_as_when_it_answered_last(model):
    model.apply([batch(1, unmapped=3), batch(2, unmapped=5), batch(3, down=DownReason.TIMEOUT)])
    view = Target.model_validate(model.targets["gnmi/leaf1"])
    assert (view.up, view.series, view.unmapped) == (False, 1, 5)


def test_a_tombstone_removes_its_incident(model):
    model.apply([record(topics.INCIDENTS, incident("i1")), record(topics.INCIDENTS, incident("i2"))])
    model.apply([record(topics.INCIDENTS, None, b"i1")])
    assert set(model.incidents) == {"i2"}
    model.apply([record(topics.INCIDENTS, None, b"never seen"), record(topics.INCIDENTS, None, b"no \xff text")])
    assert set(model.incidents) == {"i2"}


def test_a_corrupt_record_is_skipped_and_the_others_are_applied(model):
    corrupt = record(topics.INCIDENTS, None, raw=b"{}")
    model.apply([corrupt, record(topics.INCIDENTS, incident("i1")), replace(batch(1), value=b"FSB9")])
    assert set(model.incidents) == {"i1"}
    assert model.targets == {}


def test_what_a_replaced_owner_publishes_is_dropped_and_said(model):
    def of(epoch: bytes, made: Record) -> Record:
        return replace(made, headers={EPOCH: epoch}, appended_ns=time.time_ns())

    before = REGISTRY.get_sample_value(DROPPED, {"reason": "stale_owner"}) or 0.0
    model.apply([of(b"6", record(topics.INCIDENTS, incident("i1", IncidentState.RESOLVED)))])
    assert model.stale_owner.problem() is None
    model.apply([of(b"5", record(topics.INCIDENTS, incident("i1"))), of(b"5", record(topics.INCIDENTS, None, b"i1"))])
    assert model.incidents["i1"].state is IncidentState.RESOLVED
    assert "a process that was replaced by a newer one still publishes" in str(model.stale_owner.problem())
    assert REGISTRY.get_sample_value(DROPPED, {"reason": "stale_owner"}) == before + 2
    model.skip_gap((topics.INCIDENTS.name, 0))  # the log may be another one
    model.apply([of(b"1", record(topics.INCIDENTS, incident("i2")))])
    assert set(model.incidents) == {"i1", "i2"}


@pytest.mark.parametrize(("age_s", "is_said"), [(0, True), (59, True), (61, False), (-61, False)])
def test_a_replaced_owner_is_a_problem_for_a_minute(age_s, is_said):
    stale = StaleOwner(clock=lambda: (1000 + age_s) * NS)
    assert stale.problem() is None
    stale.add(replace(record(topics.INCIDENTS, incident()), appended_ns=1000 * NS))
    assert (stale.problem() is not None) is is_said


def test_samples_without_a_report_of_analytics_are_a_problem_after_a_minute(model):
    """Without one nothing looks for faults, and no incident means nothing."""
    now_s = [0.0]
    model.detection = SilentDetection(clock=lambda: now_s[0])
    now_s[0] = 1000.0
    model.apply([batch(1), record(topics.LEDGER, StageReport("ingest", "a", 1, 1))])
    now_s[0] += 60.0
    model.apply([batch(2)])
    assert model.detection.problem() is None
    now_s[0] += 1.0
    assert model.detection.problem() == "no detection: analytics has reported nothing for 61 s"
    model.apply([record(topics.LEDGER, StageReport("analytics", "a", 1, 1))])
    now_s[0] += 1000.0
    assert model.detection.problem() is None  # it waits for samples, too
    model.apply([batch(3)])
    assert model.detection.problem() is None


def test_the_version_grows_with_records_and_not_without(model):
    model.apply([])
    assert model.version == 0
    model.apply([batch(1), batch(2)])
    assert model.version == 1


def test_a_target_is_as_its_newest_collection_says(model):
    model.apply([batch(2), batch(1, down=DownReason.TIMEOUT)])  # the second is late
    status = model.targets["gnmi/leaf1"]
    assert (status.up, status.reason, status.collected_ns, status.series) == (True, None, 2 * NS, 1)
    assert model.newest_ns == 2 * NS


def test_a_target_that_is_down_keeps_the_series_that_it_had(model):
    model.apply([batch(1), batch(2, down=DownReason.TIMEOUT), batch(1, down=DownReason.REFUSED, target="gnmi/leaf2")])
    silent, never_seen_up = model.targets["gnmi/leaf1"], model.targets["gnmi/leaf2"]
    assert (silent.up, silent.reason, silent.series) == (False, "timeout", 1)
    assert (never_seen_up.up, never_seen_up.series) == (False, 1)  # its table is in the batch


WORST_FIRST: list[dict[str, Any]] = [
    {"id": "critical", "severity": Severity.CRITICAL, "gpu_seconds": 1.0},
    {"id": "warning-cost", "severity": Severity.WARNING, "gpu_seconds": 9.0},
    {"id": "warning-new", "severity": Severity.WARNING, "gpu_seconds": 1.0, "onset_ns": 5},
    {"id": "warning-old-a", "severity": Severity.WARNING, "gpu_seconds": 1.0, "onset_ns": 4},
    {"id": "warning-old-b", "severity": Severity.WARNING, "gpu_seconds": 1.0, "onset_ns": 4},
    {"id": "info", "severity": Severity.INFO, "gpu_seconds": 99.0},
    {"id": "pending", "severity": Severity.CRITICAL, "gpu_seconds": 99.0, "state": IncidentState.PENDING},
    {"id": "resolved", "severity": Severity.CRITICAL, "gpu_seconds": 999.0, "state": IncidentState.RESOLVED},
]


def test_incidents_are_ordered_by_state_severity_cost_onset_and_id(model):
    for values in reversed(WORST_FIRST):
        model.apply([record(topics.INCIDENTS, replace(incident(), **values))])
    assert [one.id for one in model.worst_first()] == [values["id"] for values in WORST_FIRST]


@pytest.mark.parametrize(
    ("limit", "topic", "made", "kept"),
    [
        (
            "INCIDENTS_MAX",
            topics.INCIDENTS,
            [incident("open"), incident("over", IncidentState.RESOLVED), incident("new"), incident("newer")],
            {"open", "new", "newer"},
        ),
        (
            "FINDINGS_MAX",
            topics.FINDINGS,
            [
                finding("old", FindingState.ACTIVE),
                finding("cleared", FindingState.CLEARED),
                *(finding(name, FindingState.ACTIVE) for name in ("new", "newer")),
            ],
            {"old", "new", "newer"},
        ),
        (
            "INCIDENTS_MAX",
            topics.INCIDENTS,
            [incident(name) for name in ("1", "2", "3", "4")],  # none is over: the oldest goes
            {"2", "3", "4"},
        ),
    ],
)
def test_what_is_over_makes_room_first(model, monkeypatch, limit, topic, made, kept):
    monkeypatch.setattr(read_model, limit, 3)
    model.apply([record(topic, one) for one in made])
    held: dict[str, Any] = model.incidents if topic is topics.INCIDENTS else model.findings
    assert set(held) == kept


def forgotten(reason: str) -> float:
    return REGISTRY.get_sample_value("fabricscope_api_targets_forgotten_total", {"reason": reason}) or 0.0


def test_targets_that_are_gone_for_an_hour_are_forgotten_and_counted(model):
    before = forgotten("gone")
    model.apply([batch(1, target="dcgm/pod-1"), batch(1, target="gnmi/leaf1")])
    model.apply([batch(2, target="dcgm/pod-2", down=DownReason.TIMEOUT)])
    for at_s in range(600, 3700, 60):
        model.apply([batch(at_s, target="gnmi/leaf1")])
    assert set(model.targets) == {"dcgm/pod-1", "dcgm/pod-2", "gnmi/leaf1"}
    model.apply([batch(3700, target="dcgm/pod-3")])
    assert set(model.targets) == {"gnmi/leaf1", "dcgm/pod-3"}
    assert model.silent_since_ns == {}
    assert forgotten("gone") - before == 2


def test_there_is_a_bound_of_targets_and_the_oldest_goes_first(model, monkeypatch):
    monkeypatch.setattr(read_model, "TARGETS_MAX", 3)
    before = forgotten("no_room")
    model.apply([batch(at_s, target=f"dcgm/n{at_s}") for at_s in (2, 1, 3)])
    model.apply([batch(4, target="dcgm/n4"), batch(5, target="dcgm/n4")])
    assert set(model.targets) == {"dcgm/n2", "dcgm/n3", "dcgm/n4"}
    assert forgotten("no_room") - before == 1


def test_a_target_s_newest_record_has_its_account_and_what_is_left_out(model: ReadModel) -> None:
    model.apply([batch(1, left_out=4, unmapped=3, account=b"7 10 8 2"), batch(2, down=DownReason.TIMEOUT)])
    status = model.targets["gnmi/leaf1"]
    assert (status.left_out, status.unmapped, model.accounts) == (4, 3, {})
    model.apply([batch(3, left_out=5, account=b"7 20 17 1 quota=2")])
    status = model.targets["gnmi/leaf1"]
    assert (status.left_out, model.accounts) == (5, {status.target: TargetAccount(7, 20, 17, 1, {"quota": 2})})


def test_a_record_with_an_account_that_cannot_be_read_is_counted_and_skipped(model: ReadModel) -> None:
    labels = {"topic": topics.SAMPLES.name, "reason": "schema"}
    before = REGISTRY.get_sample_value("fabricscope_api_records_corrupt_total", labels) or 0.0
    model.apply([batch(1, account=b"seven")])
    assert model.targets == {}
    assert (REGISTRY.get_sample_value("fabricscope_api_records_corrupt_total", labels) or 0.0) == before + 1
