"""What NX-OS' commands show (``data-source NX-API``): tables of rows, in GPB and JSON.

``show system resources`` is as a switch of Cisco's lab sent it; of the others the names of tables, rows and columns are
published, no message of them is at hand.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ingest.collectors.cisco_mdt.decode.decoder import Decoder
from ingest.collectors.gnmi.decode.decode_buffer import Decoded
from ingest.collectors.gnmi.paths.metadata import MetadataKind
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.ledger import DropReason
from tests.unit.ingest.cisco_mdt.telemetry import NOW_NS, nxos, nxos_json

NAMING = Naming(("cisco", "openconfig"))
PORT = 'device="leaf1",port="Ethernet1/1"'
both_encodings = pytest.mark.parametrize("made", [nxos, nxos_json])


def values(decoded: Decoded) -> dict[str, float]:
    keys = [decoded.table.keys[row] for row in decoded.rows.tolist()]
    assert len(keys) == len(set(keys))
    return dict(zip(keys, decoded.values.tolist(), strict=True))


def table(name: str, *rows: Mapping[str, Any]) -> dict[str, Any]:
    """A single row is a list in GPB, and none in JSON."""
    return {f"TABLE_{name}": [{f"ROW_{name}": list(rows)}]}


def entry(kind: str, unit: str, unicast: int, multicast: int) -> dict[str, Any]:
    return {
        "eq-stat-type": kind,
        "eq-stat-units": unit,
        "eq-uc-stat-value": str(unicast),
        "eq-oobfc-uc-stat-value": "0",
        "eq-mc-stat-value": str(multicast),
    }


QUEUES = table(
    "module",
    table(
        "queuing_interface",
        {
            "dir": "Egress",
            "if_name_str": "Ethernet1/1",
            **table(
                "qosgrp_egress_stats",
                {
                    "eq-qosgrp": "3",
                    **table(
                        "qosgrp_egress_stats_entry",
                        entry("Tx", "Pkts", 10, 1),
                        entry("WRED/AFD & Tail Drop", "Pkts", 2, 0),
                        entry("Q Depth", "Byts", 4096, 0),
                    ),
                },
            ),
            **table("pfc_stats", {"cos": "3", "rx-pause-count": "7", "tx-pause-count": "8"}),
        },
    ),
)


@both_encodings
@pytest.mark.parametrize(
    ("command", "shown", "expected"),
    [
        (
            "show system resources",
            {"timestamp": "12:00", "memory_usage_total": 6066740, "memory_usage_used": "4514348"}
            | table("cpu_usage", {"cpuid": 0, "idle": "71.13"}, {"cpuid": 1, "idle": "83.51"}),
            {
                'fabric_device_memory_bytes{device="leaf1",part="system",state="total"}': 6066740 * 1024,
                'fabric_device_memory_bytes{device="leaf1",part="system",state="used"}': 4514348 * 1024,
            },
        ),
        (
            "show interface ethernet 1/1",
            table("interface", {"interface": "Ethernet1/1", "state": "up", "eth_inbytes": 9, "eth_bw": 400000000}),
            {
                f"fabric_port_up{{{PORT}}}": 1,
                f"fabric_port_receive_bytes_total{{{PORT}}}": 9,
                f"fabric_port_speed_bits_per_second{{{PORT}}}": 400e9,
            },
        ),
        (
            "show queuing interface",
            QUEUES,
            {
                f'fabric_queue_transmit_packets_total{{{PORT},queue="3"}}': 11,
                f'fabric_queue_dropped_packets_total{{{PORT},queue="3"}}': 2,
                f'fabric_queue_occupancy_bytes{{{PORT},queue="3"}}': 4096,
                'fabric_port_pfc_pause_frames_total{device="leaf1",direction="rx",port="Ethernet1/1",priority="3"}': 7,
                'fabric_port_pfc_pause_frames_total{device="leaf1",direction="tx",port="Ethernet1/1",priority="3"}': 8,
            },
        ),
        (
            "show interface  transceiver details",
            table(
                "interface",
                {
                    "interface": "Ethernet1/1",
                    "sfp": "present",
                    **table("lane", {"lane_number": 1, "rx_pwr": "-1.50"}, {"lane_number": 2, "rx_pwr": "-1.75"}),
                },
                {
                    "interface": "Ethernet1/2",
                    **table("lane", {"rx_pwr": "-2.00", "current": "6.5", "rx_pwr_warn_hi": "1"}),
                },
            ),
            {
                'fabric_port_optical_power_dbm{device="leaf1",direction="rx",lane="1",port="Ethernet1/1"}': -1.5,
                'fabric_port_optical_power_dbm{device="leaf1",direction="rx",lane="2",port="Ethernet1/1"}': -1.75,
                'fabric_port_optical_power_dbm{device="leaf1",direction="rx",lane="1",port="Ethernet1/2"}': -2.0,
                'fabric_port_laser_bias_amperes{device="leaf1",lane="1",port="Ethernet1/2"}': 0.0065,
            },
        ),
        (
            "show environment temperature",
            table("tempinfo", {"tempmod": "1", "sensor": "FRONT", "curtemp": "31", "alarmstatus": "Ok"}),
            {'fabric_device_temperature_celsius{device="leaf1",sensor="1 FRONT"}': 31},
        ),
    ],
    ids=["resources", "interface", "queuing", "transceiver", "temperature"],
)
def test_what_a_command_shows(
    made: Callable[..., bytes], command: str, shown: dict[str, Any], expected: dict[str, float]
) -> None:
    own = Decoder("mdt/leaf1", "leaf1", NAMING)
    for _ in range(2):
        assert values(own.decode([made(command, shown)], NOW_NS)) == pytest.approx(expected)


@both_encodings
def test_modules_are_facts(made: Callable[..., bytes]) -> None:
    row = {"interface": "Ethernet1/1", "serialnum": "ABC123", "name": "CISCO-X", "partnum": "P-1"}
    data = made("show interface transceiver details", table("interface", row))
    found = Decoder("mdt/leaf1", "leaf1", NAMING).decode([data], NOW_NS)
    assert {(update.path.kind, update.path.port, update.text) for update in found.metadata} == {
        (MetadataKind.SERIAL, "Ethernet1/1", "ABC123"),
        (MetadataKind.VENDOR, "Ethernet1/1", "CISCO-X"),
        (MetadataKind.PART, "Ethernet1/1", "P-1"),
    }


@both_encodings
def test_tables_that_nothing_maps_and_values_that_are_none_are_counted(made: Callable[..., bytes]) -> None:
    own = Decoder("mdt/leaf1", "leaf1", NAMING)
    shown = table("vrf", {"name": "a", "routes": 5}, {"name": "b", "routes": 6}) | table("interface", {"state": "up"})
    for _ in range(2):
        assert own.decode([made("show ip route summary", shown)], NOW_NS).updates == 5
        broken = table("interface", {"interface": "Ethernet1/1", "eth_crc": "many", "eth_mtu": "--"})
        found = own.decode([made("show interface", broken)], NOW_NS)
        assert found.drops == {DropReason.BAD_FORMAT: 1, DropReason.NO_VALUE: 1}
    assert "show ip route summary/TABLE_vrf/ROW_vrf/routes" in own.unmapped.names
