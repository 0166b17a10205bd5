"""Records other than samples: the JSON that is on the bus and in recordings."""

import json
from typing import Any

import pytest

from common.errors import BadInput
from telemetry import objects, topics
from telemetry.changes import Change, ChangeKind
from telemetry.codec.records import decode_record, encode_record
from telemetry.findings import Evidence, Finding, FindingKind, FindingState
from telemetry.incidents import Incident
from telemetry.ledger import StageReport
from telemetry.owner import Owner
from telemetry.starvation import GpuLoss, HostLosses, WaitCause
from telemetry.topology import (
    Device,
    Entity,
    Gpu,
    Intent,
    Job,
    Link,
    Mount,
    NodeState,
    Role,
    StorageTarget,
    TopologyFact,
    Transceiver,
)
from telemetry.trends import DeviceTrends, Forecast

PORT = objects.port("leaf1", "Ethernet4")
FINDING = Finding(
    id="link_errors/leaf1/Ethernet4/1",
    kind=FindingKind.LINK_ERRORS,
    object=PORT,
    detector="fec",
    state=FindingState.ACTIVE,
    onset_ns=1,
    observed_ns=2,
    score=1.5,
    confidence=0.9,
    evidence=(Evidence("up{}", 1.0, None, ""),),
)
RECORDS: list[Any] = [
    TopologyFact(Device("leaf1", Role.LEAF, "pod1", "r1", "0"), 1, "inventory"),
    TopologyFact(Link("a", "1", "b", "2", 4e11), 1, "lldp/a", gone=True),
    TopologyFact(Transceiver("leaf1", "Ethernet4", "A1", "INNOLIGHT", "C-DQ8", "2024-01-31 A2"), 1, "gnmi/leaf1"),
    TopologyFact(Gpu("node1", "GPU-1", 0, "mlx5_0", "H100"), 1, "inventory"),
    TopologyFact(StorageTarget("scratch", "OST0000", "oss1"), 1, "inventory"),
    TopologyFact(Mount("node1", "scratch"), 1, "inventory"),
    TopologyFact(Job("7", ("node1", "node2"), "llm", "ada", "gpu", (0, 1), 5), 1, "slurm"),
    TopologyFact(NodeState("node1", "DRAIN+IDLE", Intent.DRAINED, "new PSU", "root", 5), 1, "slurm-nodes"),
    TopologyFact(NodeState("node1", ""), 1, "slurm-nodes"),
    Change("reboot/1", ChangeKind.REBOOT, (PORT, objects.device("leaf1")), 1, 2, "ada", "planned"),
    FINDING,
    StageReport("ingest", "ingest-0", 1, 2, 10, 9, 0, 0, {"quota": 1}, {"targets": 3.0}),
    Owner("analytics", 1, "node1", 7, "f00d"),
    HostLosses("node1", 1, (GpuLoss("GPU-1", "7", 1, 60.0, {WaitCause.STORAGE.value: 5.0}),)),
    DeviceTrends("leaf1", 1, (Forecast("up{}", FindingKind.WEAR, PORT, "ratio", 0.5, 1.0, 0.1, 5.0, 4.0, None, 30.0),)),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_comes_back_and_equal_ones_have_equal_bytes(record: Any) -> None:
    data = encode_record(record)
    assert decode_record(data, type(record)) == record
    assert encode_record(decode_record(data, type(record))) == data


def test_the_bytes_of_a_fact_are_those_of_the_topic_s_version() -> None:
    assert encode_record(TopologyFact(Device("leaf1", Role.LEAF), 5, "inventory")) == (
        b'{"entity":{"name":"leaf1","role":"leaf","pod":"","rack":"","rail":"","asic":"","kind":"device"},'
        b'"observed_ns":5,"source":"inventory","gone":false}'
    )


def test_a_device_of_before_there_were_asics_has_none() -> None:
    old = b'{"entity":{"name":"leaf1","role":"leaf","kind":"device"},"observed_ns":5,"source":"inventory"}'
    assert decode_record(old, TopologyFact) == TopologyFact(Device("leaf1", Role.LEAF, asic=""), 5, "inventory")


def test_a_module_from_before_lots_has_none() -> None:
    data = (
        b'{"entity":{"device":"leaf1","port":"Ethernet4","serial":"A1","kind":"transceiver"},'
        b'"observed_ns":5,"source":"gnmi/leaf1","gone":false}'
    )
    module = decode_record(data, TopologyFact).entity
    assert module == Transceiver("leaf1", "Ethernet4", "A1")
    assert module.lot == ""


def test_the_bytes_of_a_change_are_those_of_the_topic_s_version() -> None:
    assert encode_record(Change("c/1", ChangeKind.DRAIN, (objects.device("leaf1"),), 5)) == (
        b'{"id":"c/1","kind":"drain","objects":[{"kind":"device","name":"leaf1"}],'
        b'"starts_ns":5,"ends_ns":0,"author":"","summary":""}'
    )


def test_the_bytes_of_a_finding_are_those_of_the_topic_s_version() -> None:
    assert encode_record(FINDING) == (
        b'{"id":"link_errors/leaf1/Ethernet4/1","kind":"link_errors","object":{"kind":"port","name":"leaf1/Ethernet4"},'
        b'"detector":"fec","state":"active","onset_ns":1,"observed_ns":2,"score":1.5,"confidence":0.9,'
        b'"evidence":[{"series":"up{}","value":1.0,"normal":null,"unit":""}],"cadence_s":0.0,"since_first_seen":false,'
        b'"unloaded_since_ns":0}'
    )


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_fields_of_a_newer_version_are_ignored(record: Any) -> None:
    document = json.loads(encode_record(record))
    document["added_later"] = {"x": 1}
    assert decode_record(json.dumps(document).encode(), type(record)) == record


def test_fields_that_have_a_default_may_be_absent() -> None:
    short = b'{"id":"c/1","kind":"drain","objects":[],"starts_ns":5}'
    assert decode_record(short, Change) == Change("c/1", ChangeKind.DRAIN, (), 5)


def test_an_incident_from_before_verdicts_has_none() -> None:
    line = {
        "id": "1",
        "kind": "link_down",
        "root": {"kind": "port", "name": "leaf1/Ethernet4"},
        "state": "firing",
        "severity": "warning",
        "title": "",
        "first_symptom": "",
        "action": "",
        "runbook": "",
        "blast": {},
        **dict.fromkeys(("onset_ns", "opened_ns", "updated_ns", "fired_ns", "resolved_ns", "gpu_seconds"), 1),
        "confidence": 0.5,
        "order_known": True,
        **{key: [] for key in ("evidence", "alternatives", "findings", "timeline", "gaps")},
    }
    incident = decode_record(json.dumps(line).encode(), Incident)
    assert (incident.because, incident.against, incident.missing) == ((), (), ())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "Change: record: Invalid JSON"),
        (b"\xff", "Change: record: Invalid JSON"),
        (b"[]", "Change: record: Input should be"),
        (b"{}", "Change: id: Field required"),
        (b'{"id":"1","kind":"magic","objects":[],"starts_ns":1}', "Change: kind: Input should be 'config'"),
        (b'{"id":"1","kind":"drain","objects":[{"kind":"x","name":"y"}],"starts_ns":1}', "Change: objects.0.kind: "),
        (b'{"id":"1","kind":"drain","objects":[],"starts_ns":"soon"}', "Change: starts_ns: Input should be"),
        (
            b'{"id":"1","kind":"drain","objects":[],"starts_ns":9223372036854775808}',
            "Change: starts_ns: Input should be",
        ),
        (b'{"id":"1","kind":"drain","objects":[],"starts_ns":-1}', "Change: starts_ns: Input should be greater"),
        (b'{"id":"","kind":"drain","objects":[],"starts_ns":1}', "Change: id: "),
        (
            b'{"id":"1","kind":"drain","objects":[{"kind":"device","name":""}],"starts_ns":1}',
            "Change: objects.0.name: ",
        ),
    ],
)
def test_a_malformed_record_is_refused_with_its_first_field(data: bytes, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        decode_record(data, Change)
    assert str(caught.value).startswith(message)
    assert caught.value.reason == "schema"


@pytest.mark.parametrize(
    "entity",
    [
        Device("", Role.LEAF),
        Link("a", "", "b", "2"),
        Gpu("", "GPU-1", 0),
        Gpu("node1", "", 0),
        StorageTarget("scratch", "", "oss1"),
        Mount("", "scratch"),
        Job("", ("node1",)),
        NodeState("", ""),
        Job("7", ("node1", "")),
    ],
    ids=repr,
)
def test_an_entity_without_a_name_is_refused(entity: Entity) -> None:
    with pytest.raises(BadInput) as caught:
        decode_record(encode_record(TopologyFact(entity, 1, "inventory")), TopologyFact)
    assert caught.value.reason == "schema"


def test_an_entity_of_an_unknown_kind_is_refused() -> None:
    data = encode_record(RECORDS[0]).replace(b'"kind":"device"', b'"kind":"dragon"')
    with pytest.raises(BadInput):
        decode_record(data, TopologyFact)


@pytest.mark.parametrize(
    ("counts", "balance"),
    [
        ({}, 0),
        ({"samples_in": 10, "samples_out": 10}, 0),
        ({"samples_in": 10, "samples_out": 4, "deduplicated": 3, "held": 2, "dropped": {"quota": 1}}, 0),
        ({"samples_in": 10, "samples_out": 4}, 6),
        ({"samples_in": 10, "samples_out": 11}, -1),
    ],
)
def test_the_balance_of_a_stage(counts: dict[str, Any], balance: int) -> None:
    assert StageReport("ingest", "i", 0, 0, **counts).balance == balance


def test_topics_have_different_names_that_end_in_their_version() -> None:
    names = [topic.name for topic in topics.ALL]
    assert len(set(names)) == len(names)
    assert all(name.startswith("fabricscope.") and name.endswith(".v1") for name in names)


def test_a_topic_of_a_replay_keeps_all_but_its_name() -> None:
    found = topics.in_namespace(topics.INCIDENTS, "r7")
    assert found.name == "replay.r7.incidents.v1"
    assert (found.compacted, found.partitions, found.retention_s) == (
        topics.INCIDENTS.compacted,
        topics.INCIDENTS.partitions,
        topics.INCIDENTS.retention_s,
    )
