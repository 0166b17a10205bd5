"""What no target has is in no page and in no tree of a switch; everything else stays."""

import json

import pytest

from simulator.collection.presets import PRESETS
from simulator.counters import canonical
from simulator.servers.collection.omitted import Omits, omits_nothing, omitting
from simulator.servers.gnmi.openconfig import OpenConfigTree
from simulator.servers.gnmi.paths import elems_of, parse_elems, path_text, to_proto
from simulator.servers.gnmi.sonic import SonicTree
from simulator.servers.io_time import IoTimes
from simulator.servers.pages.dcgm import DcgmPage
from simulator.servers.pages.lustre import server_page
from simulator.servers.pages.node import node_page
from simulator.servers.snapshot import Snapshot
from telemetry.catalogue import origins_of
from telemetry.gnmi import gnmi_pb2
from tests.unit.simulator.servers.readings import filled_readings, small_layout

LAYOUT = small_layout()
READINGS = filled_readings(LAYOUT)
FRAMES_ONLY = PRESETS["frames-only"].absent
NO_ECN = PRESETS["no-ecn"].absent


def fields_of(source: str, omits: Omits) -> set[str]:
    """Names that one source serves: of families, SONiC's fields, or OpenConfig's paths."""
    match source:
        case "dcgm":
            return _families(DcgmPage(LAYOUT, "node1", omits).render(READINGS))
        case "node_exporter":
            return _families(node_page(LAYOUT, "node1", omits).render(READINGS))
        case "lustre":
            return _families(server_page(LAYOUT, "oss1", IoTimes(len(LAYOUT.targets)), omits).render(READINGS))
        case "sonic":
            return _sonic(SonicTree(LAYOUT, "leaf1", omits=omits))
        case _:
            return _openconfig(OpenConfigTree(LAYOUT, "spine1", omits))


def _families(page: str) -> set[str]:
    return {line.split()[2] for line in page.splitlines() if line.startswith("# TYPE")}


def _sonic(tree: SonicTree) -> set[str]:
    found = set()
    places = ("COUNTERS", "COUNTERS/Ethernet*/Queues", "COUNTERS/Ethernet*/Pfcwd", "COUNTERS/Ethernet*/PriorityGroups")
    more = ("PERIODIC_WATERMARKS/Ethernet*/PriorityGroups", "RATES/Ethernet*")
    for path in (places[0] + "/Ethernet*", *places[1:], *more):
        prefix = gnmi_pb2.Path(target="COUNTERS_DB")
        message = tree.get(prefix, to_proto(parse_elems(path)), gnmi_pb2.JSON_IETF, Snapshot(1, READINGS), 0)
        if message is not None:
            rows = json.loads(message.update[0].val.json_ietf_val)
            found |= {field for row in rows.values() for field in row}
    return found


def _openconfig(tree: OpenConfigTree) -> set[str]:
    message = tree.get(gnmi_pb2.Path(), gnmi_pb2.Path(), gnmi_pb2.PROTO, Snapshot(1, READINGS), 0)
    assert message is not None
    return {path_text(elems_of(gnmi_pb2.Path(), update.path)).rpartition("/")[2] for update in message.update}


@pytest.mark.parametrize(
    ("source", "absent", "gone"),
    [
        ("node_exporter", FRAMES_ONLY, "node_ethtool_received_prio3_pause_duration"),
        ("node_exporter", FRAMES_ONLY, "node_ethtool_received_prio3_pause_transition"),
        ("sonic", FRAMES_ONLY, "SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US"),
        ("sonic", FRAMES_ONLY, "SAI_PORT_STAT_PFC_3_ON2OFF_RX_PKTS"),
        ("sonic", NO_ECN, "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"),
        ("arista", FRAMES_ONLY, "pfc-on-total-rx-time"),
        ("arista", NO_ECN, "ecn-marked-pkts"),
        ("dcgm", ("gpu_power_watts",), "DCGM_FI_DEV_POWER_USAGE"),
        ("lustre", ("storage_read_bytes_total",), "lustre_read_bytes_total"),
    ],
)
def test_an_absent_metric_has_no_name_and_others_keep_theirs(source: str, absent: tuple[str, ...], gone: str) -> None:
    every = fields_of(source, omits_nothing)
    left = fields_of(source, omitting(absent, source, "openconfig"))
    assert gone in every
    assert gone not in left
    assert {name for name in every - left if "PKTS" in name or "frames" in name} <= {
        "SAI_PORT_STAT_PFC_3_ON2OFF_RX_PKTS"
    }


@pytest.mark.parametrize(
    ("source", "columns"),
    [("node_exporter", canonical.NICS + canonical.HOSTS), ("dcgm", canonical.GPUS), ("lustre", canonical.STORAGE)],
)
def test_every_metric_of_a_page_can_be_absent(source: str, columns: tuple[canonical.Column, ...]) -> None:
    every = fields_of(source, omits_nothing)
    for metric in {column.metric for column in columns}:
        left = fields_of(source, omitting((metric,), source))
        names = {origin.name for of, origin in origins_of(source) if of.name == metric}
        others = {origin.name for of, origin in origins_of(source) if of.name != metric}
        assert every - left or names & others, f"{metric} is still there"
