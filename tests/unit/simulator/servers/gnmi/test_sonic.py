"""What paths of a SONiC switch select, and the maps of strings that it answers with."""

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from common.units import NS_PER_S
from simulator.counters.readings import RX, TX, Readings
from simulator.layout import peer_address
from simulator.servers.gnmi.paths import parse_elems, to_proto
from simulator.servers.gnmi.peers import LLDP_HOLD_NS, chassis_id, neighbour_known
from simulator.servers.gnmi.query import Absent
from simulator.servers.gnmi.sonic import SonicTree
from simulator.servers.snapshot import Snapshot
from telemetry.gnmi import gnmi_pb2
from tests.unit.simulator.servers.readings import filled_readings, later, small_layout

LAYOUT = small_layout()
READINGS: Readings = filled_readings(LAYOUT)
SWITCH = "leaf1"
PORTS = LAYOUT.switch_ports[SWITCH]
UPLINKS = [i for i in PORTS if LAYOUT.ports[i].peer_port >= 0]


def get(database: str, path: str, readings: Readings = READINGS, *, alias: bool = False) -> gnmi_pb2.TypedValue | None:
    tree = SonicTree(LAYOUT, SWITCH, alias)
    prefix = gnmi_pb2.Path(target=database)
    found = tree.get(prefix, to_proto(parse_elems(path)), gnmi_pb2.JSON_IETF, Snapshot(1, readings), 5)
    return None if found is None else found.update[0].val


def document(database: str, path: str, readings: Readings = READINGS, *, alias: bool = False) -> dict[str, Any]:
    value = get(database, path, readings, alias=alias)
    assert value is not None
    found: dict[str, Any] = json.loads(value.json_ietf_val)
    return found


@pytest.mark.parametrize(
    ("database", "path", "keys"),
    [
        ("COUNTERS_DB", "COUNTERS/Ethernet*", [LAYOUT.ports[i].name for i in PORTS]),
        ("COUNTERS_DB", "COUNTERS", [LAYOUT.ports[i].name for i in PORTS]),
        ("COUNTERS_DB", "COUNTERS/Ethernet1*", [p.name for i in PORTS if (p := LAYOUT.ports[i]).name[8:9] == "1"]),
        ("COUNTERS_DB", "COUNTERS/Ethernet4/PriorityGroups", [f"Ethernet4:{k}" for k in range(8)]),
        ("COUNTERS_DB", "COUNTERS/Ethernet4/Pfcwd", ["Ethernet4:3"]),
        ("COUNTERS_DB", "PERIODIC_WATERMARKS/Ethernet0/Queues", [f"Ethernet0:{k}" for k in range(8)]),
        ("APPL_DB", "PORT_TABLE", [LAYOUT.ports[i].name for i in PORTS]),
        ("STATE_DB", "NEIGH_STATE_TABLE", [peer_address(LAYOUT, i) for i in UPLINKS]),
    ],
)
def test_a_path_selects_the_rows_of_its_table(database: str, path: str, keys: list[str]) -> None:
    assert list(document(database, path)) == keys


@pytest.mark.parametrize(
    ("database", "path"),
    [
        ("COUNTERS_DB", "TEMPERATURES"),
        ("APPL_DB", "COUNTERS"),
        ("COUNTERS_DB", "COUNTERS/Ethernet999"),
        ("COUNTERS_DB", "COUNTERS/Ethernet4/NO_SUCH_FIELD"),
        ("COUNTERS_DB", "COUNTERS/Ethernet4/Queues/SAI_QUEUE_STAT_BYTES"),
        ("COUNTERS_DB", "COUNTERS/Ethernet4/Buffers"),
    ],
)
def test_what_the_switch_does_not_have_is_absent(database: str, path: str) -> None:
    assert get(database, path) is None
    prefix = gnmi_pb2.Path(target=database)
    query = SonicTree(LAYOUT, SWITCH).query(prefix, to_proto(parse_elems(path)), gnmi_pb2.JSON_IETF)
    assert isinstance(query, Absent)
    assert list(query.full(Snapshot(1, READINGS), 5)) == list(query.changes(Snapshot(1, READINGS), 5)) == []


def test_one_key_gives_the_row_itself_and_one_field_a_string() -> None:
    at = LAYOUT.port_index[SWITCH, "Ethernet4"]
    row = document("COUNTERS_DB", "COUNTERS/Ethernet4")
    assert row["SAI_PORT_STAT_IF_IN_OCTETS"] == str(int(READINGS.ports.bytes[at, RX]))
    assert row["SAI_PORT_STAT_IF_OUT_DISCARDS"] == str(int(READINGS.ports.discards[at, TX]))
    value = get("COUNTERS_DB", "COUNTERS/Ethernet4/SAI_PORT_STAT_IF_IN_OCTETS")
    assert value is not None
    assert value.string_val == row["SAI_PORT_STAT_IF_IN_OCTETS"]


def test_only_the_lossless_priority_has_pause_times_and_a_queue_depth() -> None:
    row = document("COUNTERS_DB", "COUNTERS/Ethernet4")
    assert [k for k in range(8) if f"SAI_PORT_STAT_PFC_{k}_RX_PKTS" in row] == list(range(8))
    assert [k for k in range(8) if f"SAI_PORT_STAT_PFC_{k}_RX_PAUSE_DURATION_US" in row] == [3]
    queues = document("COUNTERS_DB", "COUNTERS/Ethernet4/Queues")
    assert [k for k in range(8) if "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES" in queues[f"Ethernet4:{k}"]] == [3]


def test_states_are_words_and_speeds_megabits() -> None:
    row = document("APPL_DB", "PORT_TABLE/Ethernet4")
    assert (row["oper_status"], row["admin_status"], row["speed"], row["alias"]) == ("up", "up", "400000", "etp2")
    down = dataclasses.replace(READINGS, ports=dataclasses.replace(READINGS.ports, up=~READINGS.ports.up))
    assert document("APPL_DB", "PORT_TABLE/Ethernet4", down)["oper_status"] == "down"
    assert {row["state"] for row in document("STATE_DB", "NEIGH_STATE_TABLE", down).values()} == {"Idle"}


def test_a_session_is_idle_without_a_routing_daemon_though_its_link_is_up() -> None:
    lost = dataclasses.replace(READINGS.ports, daemon_down=np.ones_like(READINGS.ports.up))
    without = dataclasses.replace(READINGS, ports=lost)
    assert document("APPL_DB", "PORT_TABLE/Ethernet4", without)["oper_status"] == "up"
    assert {row["state"] for row in document("STATE_DB", "NEIGH_STATE_TABLE", without).values()} == {"Idle"}


def test_wildcards_answer_with_vendor_names_where_the_platform_has_aliases() -> None:
    assert list(document("COUNTERS_DB", "COUNTERS/Ethernet*", alias=True)) == [
        f"etp{k}" for k in range(1, len(PORTS) + 1)
    ]
    assert next(iter(document("APPL_DB", "PORT_TABLE", alias=True))) == "Ethernet0"
    assert "SAI_PORT_STAT_IF_IN_OCTETS" in document("COUNTERS_DB", "COUNTERS/Ethernet0", alias=True)


def test_sensors_of_a_transceiver_are_dbm_and_milliamperes() -> None:
    at = LAYOUT.port_index[SWITCH, "Ethernet0"]
    row = document("STATE_DB", "TRANSCEIVER_DOM_SENSOR/Ethernet0")
    assert row["rx2power"] == f"{READINGS.ports.rx_power_dbm[at, 1]:.4f}"
    assert row["tx4bias"] == f"{READINGS.ports.bias_amperes[at, 3] * 1e3:.4f}"


def changes(*readings: Readings) -> list[dict[str, Any]]:
    """The updates of an ON_CHANGE subscription to the ports' table, one for each snapshot that changes it."""
    query = SonicTree(LAYOUT, SWITCH).query(
        gnmi_pb2.Path(target="APPL_DB"), to_proto(parse_elems("PORT_TABLE")), gnmi_pb2.JSON_IETF
    )
    list(query.full(Snapshot(1, READINGS), 5))
    found = []
    for number, one in enumerate(readings, 2):
        for message in query.changes(Snapshot(number, one), 5):
            update = gnmi_pb2.SubscribeResponse.FromString(message).update
            found.append(json.loads(update.update[0].val.json_ietf_val))
    return found


def test_only_rows_that_changed_are_sent_on_change() -> None:
    ports = READINGS.ports
    up = ports.up.copy()
    up[LAYOUT.port_index[SWITCH, "Ethernet4"]] = False
    down = dataclasses.replace(READINGS, ports=dataclasses.replace(ports, up=up))
    sent = changes(later(READINGS, 1, 100), down, down, READINGS)
    assert [{name: row["oper_status"] for name, row in rows.items()} for rows in sent] == [
        {"Ethernet4": "down"},
        {"Ethernet4": "up"},
    ]


@pytest.mark.parametrize(
    ("up", "since_s", "known"), [(True, 1000, True), (False, 0, True), (False, 119, True), (False, 120, False)]
)
def test_a_neighbour_is_known_until_its_time_to_live(up: bool, since_s: int, known: bool) -> None:
    assert LLDP_HOLD_NS == 120 * NS_PER_S
    readings = filled_readings(LAYOUT)
    readings.ports.up[7] = up
    readings.ports.last_change_ns[7] = readings.now_ns - since_s * 1 * NS_PER_S
    assert neighbour_known(readings, np.array([7])).tolist() == [known]


def test_both_ends_of_a_session_are_the_two_addresses_of_one_network() -> None:
    port = UPLINKS[0]
    peer = LAYOUT.ports[port].peer_port
    mine, other = (peer_address(LAYOUT, at).split(".") for at in (port, peer))
    assert mine[:3] == other[:3]
    assert abs(int(mine[3]) - int(other[3])) == 1
    assert min(int(mine[3]), int(other[3])) % 2 == 0
    addresses = [peer_address(LAYOUT, i) for i, p in enumerate(LAYOUT.ports) if p.peer_port >= 0]
    assert len(set(addresses)) == len(addresses)


@pytest.mark.parametrize(("device", "mac"), [(0, "02:00:00:00:00:00"), (258, "02:00:00:00:01:02")])
def test_a_chassis_id_is_a_locally_administered_mac_address(device: int, mac: str) -> None:
    assert chassis_id(device) == mac
