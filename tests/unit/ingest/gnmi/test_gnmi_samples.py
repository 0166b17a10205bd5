"""Payloads of real agents and of other projects' tests, to the canonical series that they hold."""

import csv
import json
import re
from typing import Any

import pytest
from google.protobuf import json_format

from ingest.collectors.gnmi.decode.decode_buffer import Decoded
from ingest.collectors.gnmi.decode.decoder import Decoder
from ingest.collectors.gnmi.paths.elements import parse_path
from ingest.collectors.gnmi.paths.naming import Naming
from telemetry.catalogue import metrics, origins_of
from telemetry.gnmi import gnmi_pb2
from tests.samples import SAMPLES

RESPONSES = SAMPLES / "openconfig" / "gnmi_responses"
NOW = 1_700_000_000_000_000_000
NAMING = Naming(("sonic", "openconfig", "arista", "junos"))

# What Telegraf calls the leaf behind a canonical series.
FIELDS = {
    "fabric_port_receive_bytes_total": "in_octets",
    "fabric_port_transmit_bytes_total": "out_octets",
    "fabric_port_fcs_errors_total": "in_fcs_errors",
    "fabric_device_temperature_celsius": "instant",
    "fabric_device_psu_watts": "openconfig_platform_psu:output_power",
    "fabric_queue_transmit_packets_total": "egress/packets",
    "fabric_queue_transmit_bytes_total": "egress/bytes",
    "fabric_queue_dropped_packets_total": "egress/tail_drop_packets",
    "fabric_queue_dropped_bytes_total": "egress/tail_drop_bytes",
    "fabric_queue_occupancy_peak_bytes": "egress/peak_buffer_occupancy_bytes",
}
Series = dict[str, tuple[float, int]]


def decode_responses(name: str) -> tuple[Decoded, Series]:
    """A recorded stream; each message at its own time, so that none is too old."""
    decoder = Decoder("sample", "switch1", NAMING)
    found: Series = {}
    decoded = decoder.decode([], NOW)
    for entry in json.loads((RESPONSES / f"{name}.json").read_text()):
        message = json_format.ParseDict(entry, gnmi_pb2.SubscribeResponse())
        decoded = decoder.decode([message.SerializeToString()], message.update.timestamp)
        rows = zip(decoded.rows.tolist(), decoded.values.tolist(), decoded.times_ns.tolist(), strict=True)
        found |= {decoded.table.keys[row]: (value, time) for row, value, time in rows}
    return decoded, found


def influx(name: str) -> set[tuple[str, float, int]]:
    """Field, value and time of each number that Telegraf reads from the same messages."""
    points = set()
    for line in (RESPONSES / f"{name}.influx").read_text().splitlines():
        _, fields, time = re.split(r"(?<!\\) ", line)
        for field in fields.split(","):
            key, _, value = field.partition("=")
            if re.fullmatch(r"-?[0-9.]+[iu]?", value):
                points.add((key, float(value.rstrip("iu")), int(time)))
    return points


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("arista_interface_counters", 13),
        ("platform_psu_temperature", 13),
        ("optical_channel_json", 6),
        ("junos_queue_monitor", 130),
    ],
)
def test_the_same_values_as_telegraf_reads(name: str, count: int) -> None:
    _, found = decode_responses(name)
    assert len(found) == count
    expected = influx(name)
    for key, (value, time) in found.items():
        metric = key.partition("{")[0]
        if metric in FIELDS:
            suffix = FIELDS[metric]
            assert any(
                point[0].endswith(suffix) and point[1] == pytest.approx(value) and point[2] == time
                for point in expected
            ), key


def test_currents_and_voltages_of_power_supplies() -> None:
    """Of PowerSupply1/A, in the recorded message."""
    _, found = decode_responses("platform_psu_temperature")
    of = 'device="switch1",kind="%s",sensor="PowerSupply1/A"'
    values = {key: value for key, (value, _) in found.items() if "PowerSupply1/A" in key}
    assert values == {
        'fabric_device_psu_watts{device="switch1",sensor="PowerSupply1/A"}': 68.625,
        f"fabric_device_psu_volts{{{of % 'input'}}}": 208.5,
        f"fabric_device_psu_volts{{{of % 'output'}}}": pytest.approx(56.367),
        f"fabric_device_psu_amperes{{{of % 'input'}}}": pytest.approx(0.471),
        f"fabric_device_psu_amperes{{{of % 'output'}}}": pytest.approx(1.203),
    }


def test_early_drops_of_junos_by_colour() -> None:
    _, found = decode_responses("junos_queue_monitor")
    of = '{color="3",device="switch1",port="xe-0/0/0:0",queue="0"}'
    assert found[f"fabric_queue_wred_dropped_packets_by_color_total{of}"][0] == 0
    assert found[f"fabric_queue_wred_dropped_bytes_by_color_total{of}"][0] == 0


def test_states_and_syncs() -> None:
    decoded, found = decode_responses("bgp_neighbor_session_state")
    assert found == {'fabric_bgp_session_up{device="switch1",peer="192.0.2.1"}': (1.0, 1543236572000000000)}
    assert decoded.syncs == 1


def test_processors_and_memory_as_a_switch_and_a_card_sent_them() -> None:
    _, found = decode_responses("eos_cpu_memory")
    assert found == {
        'fabric_device_memory_bytes{device="switch1",part="system",state="used"}': (3479527424.0, 1709737753565697718)
    }
    _, found = decode_responses("optical_channel_json")
    card = {key: value for key, (value, _) in found.items() if 'part="CM-1"' in key}
    assert card == {
        'fabric_device_cpu_ratio{device="switch1",part="CM-1"}': 0.16,
        'fabric_device_memory_bytes{device="switch1",part="CM-1",state="available"}': 5041100000.0,
        'fabric_device_memory_bytes{device="switch1",part="CM-1",state="used"}': 3099808000.0,
    }


@pytest.mark.parametrize("name", ["eos_native_origin", "delete_notification"])
def test_messages_outside_the_catalogue_make_no_series_and_no_error(name: str) -> None:
    decoded, found = decode_responses(name)
    assert (found, decoded.malformed, decoded.drops.total()) == ({}, 0, 0)


def body(name: str) -> Any:
    return json.loads((SAMPLES / "sonic" / "gnmi" / f"{name}.json").read_text())


def decode_sonic(path: str, document: Any, *before: tuple[str, Any]) -> dict[str, float]:
    """A body at a path, after the bodies that hold port names."""
    decoder = Decoder("sample", "switch1", NAMING)
    decoded = decoder.decode([], NOW)
    for at, content in (*before, (path, document)):
        message = gnmi_pb2.SubscribeResponse()
        message.update.timestamp = NOW
        message.update.prefix.target = "COUNTERS_DB"
        update = message.update.update.add(path=parse_path(at))
        update.val.json_ietf_val = json.dumps(content).encode()
        decoded = decoder.decode([message.SerializeToString()], NOW)
    return {decoded.table.keys[row]: value for row, value in zip(decoded.rows, decoded.values, strict=True)}


PORT_68 = 'device="switch1",port="Ethernet68"'
QUEUE_1 = 'device="switch1",port="Ethernet68",queue="1"'
VOQ_0 = 'device="switch1",queue="0",target="str2-7804-lc7-1|Asic0|Ethernet0"'
ALIASES = ("PORT", body("COUNTERS_PORT_ALIAS_MAP"))


def pfc_7(direction: str) -> str:
    return (
        f'fabric_port_pfc_pause_frames_total{{device="switch1",direction="{direction}",port="Ethernet68",priority="7"}}'
    )


@pytest.mark.parametrize(
    ("path", "name", "count", "some"),
    [
        ("COUNTERS/Ethernet68", "COUNTERS__Ethernet68", 65, {pfc_7("rx"): 2.0, pfc_7("tx"): 0.0}),
        ("COUNTERS/Ethernet*", "COUNTERS__Ethernet_wildcard_alias", 130, {pfc_7("rx"): 2.0}),
        ("COUNTERS/Ethernet*/SAI_PORT_STAT_PFC_7_RX_PKTS", "COUNTERS__Ethernet_wildcard_PFC_7_RX", 2, {pfc_7("rx"): 2}),
        (
            "COUNTERS/Ethernet*/SAI_PORT_STAT_PFC_7_RX_PKTS",
            "COUNTERS__Ethernet_wildcard_PFC_7_RX_alias",
            2,
            {pfc_7("rx"): 2},
        ),
        (
            "COUNTERS/Ethernet68/Queues",
            "COUNTERS__Ethernet68__Queues",
            24,
            {
                f'fabric_queue_occupancy_peak_bytes{{{QUEUE_1},reset="read"}}': 64.0,
                f"fabric_queue_transmit_bytes_total{{{QUEUE_1}}}": 0.0,
            },
        ),
        ("COUNTERS/Ethernet68/Queues", "COUNTERS__Ethernet68__Queues_alias", 24, {}),
        ("COUNTERS/Ethernet*/Queues", "COUNTERS__Ethernet_wildcard_Queues_alias", 29, {}),
        ("COUNTERS/Ethernet68/Pfcwd", "COUNTERS__Ethernet68__Pfcwd", 10, {}),
        ("COUNTERS/Ethernet*/Pfcwd", "COUNTERS__Ethernet_wildcard_Pfcwd_alias", 10, {}),
        (
            "PERIODIC_WATERMARKS/Ethernet16/PriorityGroups",
            "PERIODIC_WATERMARKS__Ethernet16__PriorityGroups",
            2,
            {'fabric_pg_headroom_peak_bytes{device="switch1",pg="5",port="Ethernet16",reset="interval"}': 0.0},
        ),
        (
            "PERIODIC_WATERMARKS/Ethernet*/PriorityGroups",
            "PERIODIC_WATERMARKS__Ethernet_wildcard__PriorityGroups_alias",
            2,
            {'fabric_pg_occupancy_peak_bytes{device="switch1",pg="5",port="Ethernet16",reset="interval"}': 0.0},
        ),
        ("NEIGH_STATE_TABLE", "NEIGH_STATE_TABLE", 8, {'fabric_bgp_session_up{device="switch1",peer="fc00::7e"}': 1.0}),
        (
            "PORT_TABLE",
            "PORT_TABLE",
            15,
            {
                'fabric_port_up{device="switch1",port="Ethernet0"}': 1.0,
                'fabric_port_flaps_total{device="switch1",port="Ethernet0"}': 3.0,
                'fabric_port_speed_bits_per_second{device="switch1",port="Ethernet0"}': 1e11,
            },
        ),
        ("RATES/Ethernet*", "RATES__Ethernet_wildcard_alias", 2, {}),
        ("RATES/Ethernet89", "RATES__oid__Ethernet89", 2, {}),
        ("PORT_PHY_ATTR/Ethernet*", "PORT_PHY_ATTR__Ethernet_wildcard", 0, {}),
        ("BGP_NEIGHBOR", "BGP_NEIGHBOR", 0, {}),
        (
            "COUNTERS/SWITCH*",
            "COUNTERS__SWITCH_wildcard",
            1,
            {'fabric_device_dropped_packets_total{device="switch1",kind="packet_integrity"}': 0.0},
        ),
        (
            "COUNTERS/*/VoQs",
            "COUNTERS__SwitchName_single",
            80,
            {
                f"fabric_voq_transmit_packets_total{{{VOQ_0}}}": 36.0,
                'fabric_voq_dropped_bytes_total{device="switch1",kind="all",' + VOQ_0.partition(",")[2] + "}": 4545.0,
            },
        ),
        (
            "TRANSCEIVER_STATUS_SW",
            "TRANSCEIVER_STATUS_SW",
            10,
            {'fabric_transceiver_ready{device="switch1",kind="software",port="Ethernet90"}': 1.0},
        ),
        ("/interfaces", "interfaces", 492, {'fabric_port_up{device="switch1",port="Ethernet0"}': 0.0}),
        (
            "/interfaces/interface[name=Ethernet0]",
            "get_interface",
            16,
            {'fabric_port_speed_bits_per_second{device="switch1",port="Ethernet0"}': 4e10},
        ),
    ],
)
def test_sonic_bodies(path: str, name: str, count: int, some: dict[str, float]) -> None:
    found = decode_sonic(path, body(name), ALIASES)
    assert len(found) == count
    assert some.items() <= found.items()
    assert all(set(re.findall(r"(\w+)=", key)) == set(metrics()[key.partition("{")[0]].labels) for key in found)


def test_alias_and_name_are_one_series() -> None:
    by_name = decode_sonic("COUNTERS/Ethernet68/Queues", body("COUNTERS__Ethernet68__Queues"), ALIASES)
    by_alias = decode_sonic("COUNTERS/Ethernet68/Queues", body("COUNTERS__Ethernet68__Queues_alias"), ALIASES)
    assert by_name == by_alias


def test_redis_rows_by_object_id() -> None:
    names = ("COUNTERS_PORT_NAME_MAP", {"Ethernet0": "oid:0x1000000000002"})
    rows = {key.partition(":")[2]: row for key, row in body("PORT_COUNTERS").items()}
    found = decode_sonic("COUNTERS", rows, names)
    assert found['fabric_port_receive_bytes_total{device="switch1",port="Ethernet0"}'] == 19480025.0
    assert found['fabric_port_discards_total{device="switch1",direction="rx",port="Ethernet0"}'] == 957.0


def test_an_empty_counter_is_no_sample() -> None:
    dump = json.loads((SAMPLES / "sonic" / "redis" / "empty_counter.json").read_text())
    empty = dump["COUNTERS:oid:0x1000000000002"]
    assert empty["SAI_PORT_STAT_IF_IN_ERRORS"] == ""
    found = decode_sonic("COUNTERS/Ethernet0", empty)
    assert not any(key.startswith("fabric_port_errors_total") and 'direction="rx"' in key for key in found)
    assert found


def arista_paths() -> dict[str, dict[str, str]]:
    with (SAMPLES / "arista" / "pathreport_EOS-4.36.1F_selected.csv").open(newline="") as file:
        return {row["PATH"].lstrip("/"): row for row in csv.DictReader(file)}


def test_every_arista_origin_is_a_path_that_eos_can_read() -> None:
    report = arista_paths()
    for metric, origin in origins_of("arista"):
        row = report[re.sub(r"\[[^\]]*\]", "", origin.name)]
        assert row["ACCESS"] == "read", origin.name
        if metric.kind == "counter" and "counter32" in row["DERIVED-TYPE"]:
            assert metric.width == 32
