"""Records of the bus to blocks, and what is kept of them between runs."""

import math
import sqlite3
from dataclasses import replace

import pytest

from bus.base import Message, Record
from bus.owner.fence import EPOCH, RoleInPartition
from export.remote_write import converter
from export.remote_write.config import RemoteWriteConfig
from export.remote_write.converter import Converted, RecordConverter
from export.remote_write.encoder import encode_request
from export.remote_write.metrics import DropReason
from export.remote_write.position import Position
from telemetry import objects, topics
from telemetry.changes import Change, ChangeKind
from telemetry.codec.batch import encode_batch
from telemetry.codec.records import encode_record
from telemetry.findings import FindingState
from telemetry.samples import DownReason, SampleBatch
from telemetry.topics import Topic
from telemetry.topology import Device, Role, TopologyFact
from tests.unit.export.batch_factory import T0, S, batch, table
from tests.unit.export.prompb import flat
from tests.unit.export.test_state_series import finding, incident

PLACE = RoleInPartition("t", 0, "")


def record(topic: Topic, message: Message) -> Record:
    return Record(topic.name, 0, 0, 0, message.key, message.value, dict(message.headers))


def of_batch(each: SampleBatch) -> Record:
    return record(topics.SAMPLES, Message(b"node1", *encode_batch(each)))


def made(**settings: object) -> RecordConverter:
    return RecordConverter(RemoteWriteConfig(url="http://a", **settings))


def sizes(converted: Converted) -> list[tuple[int, bool]]:
    return [(len(block), block.synthetic) for block in converted.blocks]


def test_a_batch_is_its_samples_and_the_status_of_its_target():
    converted = made().convert([of_batch(batch())])
    assert sizes(converted) == [(3, False), (2, True)]
    assert (converted.samples, converted.duplicates, converted.newest_ns) == (3, 0, T0)
    assert sum(converted.dropped.values()) == 0


def test_every_sample_has_an_outcome():
    one = made()
    one.convert([of_batch(batch(T0 + 10 * S))])
    again = one.convert(
        [of_batch(batch(T0 + 10 * S)), of_batch(batch(T0)), of_batch(batch(T0 + 20 * S, down=DownReason.DNS))]
    )
    assert (again.samples, again.duplicates, again.dropped[DropReason.LATE]) == (6, 3, 3)
    assert again.newest_ns == T0 + 20 * S


def test_late_samples_are_sent_where_asked_for():
    one = made(out_of_order="send")
    one.convert([of_batch(batch(T0 + 10 * S))])
    assert one.convert([of_batch(batch(T0))]).dropped[DropReason.LATE] == 0


def test_findings_and_incidents_wait_for_their_moment():
    one = made()
    converted = one.convert(
        [
            record(topics.FINDINGS, Message(b"f1", encode_record(finding()))),
            record(topics.INCIDENTS, Message(b"i1", encode_record(incident()))),
            record(topics.INCIDENTS, Message(b"i0", None)),  # the bus forgets an incident
        ]
    )
    assert (converted.blocks, converted.unused) == ([], [])
    assert sorted(one.states.unsaved) == ["finding/f1", "incident/i1"]
    assert [len(block) for block in one.states.blocks(1)] == [3]


def of_device(device: Device) -> Record:
    fact = TopologyFact(device, T0, "inventory")
    return record(topics.TOPOLOGY, Message(device.key.encode(), encode_record(fact)))


def names(converted: Converted) -> dict[str, bool]:
    """Series, and whether they end."""
    rows = flat(encode_request(converted.blocks)) if converted.blocks else []
    return {name: math.isnan(value) for name, value, _ in rows}


def test_samples_have_the_place_of_their_device_also_after_a_move():
    one, node = made(), Device("node1", Role.HOST, "pod1", "r1")
    assert names(one.convert([of_device(node)])) == {}
    first = names(one.convert([of_batch(batch(T0, table(1)))]))
    assert set(first) == {
        "gpu_power_watts device=node1 gpu=GPU-0 pod=pod1 rack=r1",
        "up device=node1 pod=pod1 rack=r1 target=dcgm/node1:9400",
        "scrape_duration_seconds device=node1 pod=pod1 rack=r1 target=dcgm/node1:9400",
    }
    moved = names(one.convert([of_device(replace(node, rack="r2"))]))
    assert moved == dict.fromkeys(first, True)
    after = names(one.convert([of_batch(batch(T0 + 10 * S, table(1)))]))
    assert after == {name.replace("rack=r1", "rack=r2"): False for name in first}


def test_a_device_that_moves_before_its_first_samples_ends_nothing():
    one = made()
    one.convert([of_batch(batch(T0, table(1), down=DownReason.TIMEOUT))])
    assert set(names(one.convert([of_device(Device("node2", Role.HOST, "pod1", "r1"))]))) == set()


def test_changes_of_the_cluster_are_shown_and_those_of_jobs_are_not():
    one = made()
    kinds = (ChangeKind.FIRMWARE, ChangeKind.JOB_START)
    changes = [Change(kind, kind, (objects.device("node1"),), T0) for kind in kinds]
    one.convert([record(topics.CHANGES, Message(b"c", encode_record(each))) for each in changes])
    assert sorted(one.states.unsaved) == ["change/firmware"]


def test_a_record_that_cannot_be_used_costs_itself():
    good, broken = of_batch(batch()), record(topics.INCIDENTS, Message(b"x", b'{"id": 3}'))
    one = made(states_max=1)
    first, second = (record(topics.FINDINGS, Message(b"f", encode_record(finding(finding_id=n)))) for n in ("f1", "f2"))
    converted = one.convert([broken, first, second, good])
    assert [(each, error.reason) for each, error in converted.unused] == [(broken, "schema"), (second, "too_many")]
    assert converted.samples == 3


def test_what_a_replaced_owner_publishes_is_not_shown():
    one = made()
    mark = Message(b"owner", None, {EPOCH: b"6"})
    stale = [
        record(topics.INCIDENTS, Message(b"i1", encode_record(incident()), {EPOCH: b"5"})),
        record(topics.FINDINGS, Message(b"f1", encode_record(finding()), {EPOCH: b"5"})),
    ]
    converted = one.convert([record(topics.INCIDENTS, mark), record(topics.FINDINGS, mark), *stale])
    assert [(each, error.reason) for each, error in converted.unused] == [(each, "stale_owner") for each in stale]
    assert one.states.unsaved == {}


def test_of_too_many_targets_the_one_silent_for_longest_is_forgotten(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(converter, "TARGETS_MAX", 2)
    one, tables = made(), [table(1, target=f"dcgm/{n}") for n in range(3)]
    for n in (0, 1, 0, 2):
        one.convert([of_batch(batch(T0 + 10 * S, tables[n]))])
    outcomes = [one.convert([of_batch(batch(T0 + 10 * S, tables[n]))]).duplicates for n in (0, 2)]
    assert outcomes == [1, 1], "these are known"
    assert one.convert([of_batch(batch(T0 + 10 * S, tables[1]))]).duplicates == 0


def test_the_position_and_what_is_shown_survive_a_restart(tmp_path):
    first = Position(tmp_path, "prometheus")
    first.open()
    assert first.load() == ({}, [])
    first.save({("t", 0): 7}, {PLACE: 3}, {"finding/f1": b"one", "incident/i1": b"two"})
    first.save({("t", 0): 9, ("t", 1): 1}, {PLACE: 4}, {"finding/f1": None, "incident/i1": b"newer"})
    first.close()
    second = Position(tmp_path, "prometheus")
    second.open()
    assert second.load() == ({("t", 0): 9, ("t", 1): 1}, [b"newer"])
    assert second.load_epochs() == {PLACE: 4}
    second.close()


def test_a_position_of_the_first_version_is_read(tmp_path):
    with sqlite3.connect(tmp_path / "default.sqlite") as database:
        database.execute("CREATE TABLE facts (key TEXT PRIMARY KEY, fact BLOB)")
        database.execute("INSERT INTO facts VALUES ('finding/f1', ?)", (encode_record(finding()),))
        database.execute("PRAGMA user_version = 1")
    position = Position(tmp_path, "default")
    position.open()
    one = made()
    one.states.restore(position.load()[1])
    one.states.update_finding(finding(FindingState.CLEARED))
    assert [len(block) for block in one.states.blocks(1)] == [1], "its end is shown"
    position.close()
