"""What paths of an OpenConfig switch select, in every encoding."""

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from simulator.counters.readings import RX, Readings
from simulator.servers.gnmi.openconfig import OpenConfigTree
from simulator.servers.gnmi.openconfig_schema import LEAVES, Form, _speed_index
from simulator.servers.gnmi.paths import elems_of, parse_elems, to_proto
from simulator.servers.gnmi.query import Absent
from simulator.servers.snapshot import Snapshot
from telemetry.gnmi import gnmi_pb2
from tests.unit.simulator.servers.readings import filled_readings, later, small_layout

LAYOUT = small_layout()
READINGS: Readings = filled_readings(LAYOUT)
SWITCH = "spine1"
NAMES = [LAYOUT.ports[i].name for i in LAYOUT.switch_ports[SWITCH]]
EMPTY = gnmi_pb2.Path()


def tree() -> OpenConfigTree:
    return OpenConfigTree(LAYOUT, SWITCH)


def updates(path: str, readings: Readings = READINGS) -> dict[str, gnmi_pb2.TypedValue]:
    """Leaf by whole path, of a PROTO subscription."""
    query = tree().query(EMPTY, to_proto(parse_elems(path)), gnmi_pb2.PROTO)
    found = {}
    for message in query.full(Snapshot(1, readings), 5):
        update = gnmi_pb2.SubscribeResponse.FromString(message).update
        for one in update.update:
            elems = elems_of(update.prefix, one.path)
            found["/".join(e.name + "".join(f"[{k}={v}]" for k, v in sorted(e.keys)) for e in elems)] = one.val
    return found


def document(path: str, encoding: gnmi_pb2.Encoding, readings: Readings = READINGS) -> dict[str, Any]:
    found = tree().get(EMPTY, to_proto(parse_elems(path)), encoding, Snapshot(1, readings), 5)
    assert found is not None
    (update,) = found.update
    value: dict[str, Any] = json.loads(update.val.json_val or update.val.json_ietf_val)
    return value


def test_every_leaf_has_a_path_of_its_own() -> None:
    paths = [(leaf.container.prefix, leaf.path) for leaf in LEAVES]
    assert len(set(paths)) == len(paths)


@pytest.mark.parametrize(
    ("path", "count"),
    [
        ("interfaces/interface/state/oper-status", len(NAMES)),
        ("interfaces/interface[name=Ethernet2/1]/state/oper-status", 1),
        ("interfaces/interface[name=Ethernet2/1]/state/counters", 12),
        ("interfaces/interface[name=Ethernet2/1]/ethernet/pfc", 8 * 4 + 1),
        ("qos/interfaces/interface[interface-id=Ethernet2/1]", 8 * 5),
        ("components/component[name=Ethernet1/1]", 4 * 3 + 2 + 4),
        ("lldp/interfaces/interface[name=Ethernet1/1]", 5),
        ("network-instances", len(NAMES)),
        ("openconfig-interfaces:interfaces/interface/state/last-change", len(NAMES)),
    ],
)
def test_a_path_selects_the_leaves_below_it(path: str, count: int) -> None:
    assert len(updates(path)) == count


@pytest.mark.parametrize("path", ["acl", "interfaces/interface[name=Ethernet99/1]", "interfaces/interface/state/mtu"])
def test_what_the_switch_does_not_have_is_absent(path: str) -> None:
    proto = to_proto(parse_elems(path))
    assert isinstance(tree().query(EMPTY, proto, gnmi_pb2.PROTO), Absent)
    assert tree().get(EMPTY, proto, gnmi_pb2.JSON, Snapshot(1, READINGS), 5) is None


def test_values_are_typed_in_proto() -> None:
    at = LAYOUT.port_index[SWITCH, "Ethernet2/1"]
    found = updates("interfaces/interface[name=Ethernet2/1]")
    base = "interfaces/interface[name=Ethernet2/1]"
    assert found[f"{base}/state/counters/in-octets"].uint_val == int(READINGS.ports.bytes[at, RX])
    assert found[f"{base}/state/oper-status"].string_val == "UP"
    assert found[f"{base}/ethernet/state/pre-fec-ber/instant"].double_val == READINGS.ports.ber[at, 0]
    pause = found[f"{base}/ethernet/pfc/priorities/priority[index=3]/state/pfc-on-total-rx-time"]
    assert pause.uint_val == int(READINGS.ports.pause_us[at, 3, RX] * 1e3), "nanoseconds"


@pytest.mark.parametrize(
    ("encoding", "octets"), [(gnmi_pb2.JSON, int), (gnmi_pb2.JSON_IETF, str)], ids=["JSON", "JSON_IETF"]
)
def test_64_bit_numbers_are_strings_in_json_ietf_alone(encoding: gnmi_pb2.Encoding, octets: type) -> None:
    """RFC 7951, section 6.1."""
    found = document("interfaces/interface[name=Ethernet1/1]", encoding)
    (interface,) = found["openconfig-interfaces:interfaces"]["interface"]
    assert isinstance(interface["state"]["counters"]["in-octets"], octets)
    assert isinstance(interface["ethernet"]["state"]["pre-fec-ber"]["instant"], float)
    assert interface["name"] == "Ethernet1/1"


def test_lists_become_arrays_whose_entries_have_their_keys() -> None:
    found = document("interfaces", gnmi_pb2.JSON)
    interfaces = found["openconfig-interfaces:interfaces"]["interface"]
    assert [one["name"] for one in interfaces] == NAMES
    assert [one["index"] for one in interfaces[0]["ethernet"]["pfc"]["priorities"]["priority"]] == [
        str(k) for k in range(8)
    ]


@pytest.mark.parametrize(
    ("bits_per_second", "name"),
    [
        (400e9, "SPEED_400GB"),
        (100e9, "SPEED_100GB"),
        (1600e9, "SPEED_1600GB"),
        (123e9, "SPEED_UNKNOWN"),
        (0.0, "SPEED_UNKNOWN"),
    ],
)
def test_speeds_are_identities(bits_per_second: float, name: str) -> None:
    readings = filled_readings(LAYOUT)
    readings.ports.speed[:] = bits_per_second
    leaf = next(leaf for leaf in LEAVES if leaf.path[-1].name == "port-speed")
    assert leaf.form is Form.STRING
    assert {leaf.enum[i] for i in _speed_index(readings.ports).tolist()} == {name}


def stream(*readings: Readings, path: str = "interfaces") -> list[gnmi_pb2.Notification]:
    query = tree().query(EMPTY, to_proto(parse_elems(path)), gnmi_pb2.PROTO)
    list(query.full(Snapshot(1, READINGS), 5))
    return [
        gnmi_pb2.SubscribeResponse.FromString(message).update
        for number, one in enumerate(readings, 2)
        for message in query.changes(Snapshot(number, one), 5)
    ]


def test_only_leaves_that_changed_are_sent_under_their_prefix() -> None:
    new = later(READINGS, 1, 0)
    ports = dataclasses.replace(new.ports, flaps=new.ports.flaps.copy())
    ports.flaps[LAYOUT.port_index[SWITCH, "Ethernet3/1"]] += 1
    (sent,) = stream(dataclasses.replace(new, ports=ports))
    assert sent.prefix.elem[1].key["name"] == "Ethernet3/1"
    assert [one.path.elem[-1].name for one in sent.update] == ["carrier-transitions"]
    assert stream(new) == []


def test_a_neighbour_that_expired_is_deleted_and_comes_back_complete() -> None:
    at = LAYOUT.port_index[SWITCH, "Ethernet1/1"]
    gone, back = later(READINGS, 200, 0), later(READINGS, 300, 0)
    up = np.ones(len(LAYOUT.ports), np.bool_)
    up[at] = False
    gone = dataclasses.replace(gone, ports=dataclasses.replace(gone.ports, up=up))
    deleted, restored = stream(gone, back, path="lldp")
    assert [elem.name for elem in deleted.delete[0].elem][-1] == "neighbor"
    assert not deleted.update
    assert {one.path.elem[-1].name for one in restored.update} == {
        "system-name",
        "port-id",
        "port-id-type",
        "chassis-id",
        "chassis-id-type",
    }


def test_counters_decide_what_target_defined_samples() -> None:
    def counts(path: str) -> bool:
        return tree().query(EMPTY, to_proto(parse_elems(path)), gnmi_pb2.PROTO).counts

    assert counts("interfaces/interface/state/counters")
    assert counts("interfaces")
    assert not counts("interfaces/interface/state/oper-status")
    assert not counts("lldp")
