"""The modules that switches of both flavours report, as ingest reads them."""

from collections import Counter
from collections.abc import Iterable, Sequence

from ingest.collectors.gnmi.decode.decoder import Decoder
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.collectors.gnmi.transceivers import TransceiverTable
from simulator.config import SimulatorConfig
from simulator.layout import Layout
from simulator.servers.gnmi.openconfig import OpenConfigTree
from simulator.servers.gnmi.paths import parse_elems, to_proto
from simulator.servers.gnmi.sonic import SonicTree
from simulator.servers.snapshot import Snapshot
from simulator.wiring import build_layout
from telemetry.gnmi import gnmi_pb2
from telemetry.topology import Transceiver
from tests.unit.simulator.servers.readings import NOW_NS, filled_readings, small_layout

LAYOUT = small_layout()
READINGS = filled_readings(LAYOUT)


def modules(tree: SonicTree | OpenConfigTree, switch: str, target: str, paths: Iterable[str]) -> Sequence[Transceiver]:
    decoder, table = Decoder(switch, switch, Naming(("sonic", "openconfig"))), TransceiverTable(switch)
    encoding = gnmi_pb2.JSON_IETF if target else gnmi_pb2.PROTO
    found = []
    for path in paths:
        query = tree.query(gnmi_pb2.Path(target=target), to_proto(parse_elems(path)), encoding)
        decoded = decoder.decode(list(query.full(Snapshot(1, READINGS), NOW_NS)), NOW_NS)
        found += [fact.entity for fact in table.update(decoded.metadata)]
    return [entity for entity in found if isinstance(entity, Transceiver)]


def expected(switch: str, port: int) -> tuple[str, str, str, str, str]:
    gigabits = round(LAYOUT.ports[port].bits_per_second / 1e9)
    return switch, LAYOUT.ports[port].name, f"SIM{port:07d}", "SIMOPTICS", f"SIM-{gigabits}G-DR4"


def test_a_sonic_switch_states_all_of_each_module() -> None:
    found = modules(SonicTree(LAYOUT, "leaf1"), "leaf1", "STATE_DB", ["TRANSCEIVER_INFO"])
    assert [(one.device, one.port, one.serial, one.vendor, one.part) for one in found] == [
        expected("leaf1", port) for port in LAYOUT.switch_ports["leaf1"]
    ]
    assert all(one.lot == f"SIMOPTICS {one.part} {one.date_code}" for one in found)


def test_so_does_an_openconfig_switch_below_its_components() -> None:
    paths = ("components/component/transceiver", "interfaces/interface/state")
    found = modules(OpenConfigTree(LAYOUT, "spine1"), "spine1", "", paths)
    assert [(one.device, one.port, one.serial, one.vendor, one.part) for one in found] == [
        expected("spine1", port) for port in LAYOUT.switch_ports["spine1"]
    ]
    assert {len(one.date_code) for one in found} == {len("2024-01-31")}


def lots(layout: Layout) -> Counter[str]:
    found: list[str] = []
    for switch in layout.switches:
        tree, path = SonicTree(layout, switch), to_proto(parse_elems("TRANSCEIVER_INFO"))
        query = tree.query(gnmi_pb2.Path(target="STATE_DB"), path, gnmi_pb2.JSON_IETF)
        decoder = Decoder(switch, switch, Naming(("sonic", "openconfig")))
        facts = TransceiverTable(switch).update(
            decoder.decode(list(query.full(Snapshot(1, READINGS), NOW_NS)), NOW_NS).metadata
        )
        found += [fact.entity.lot for fact in facts if isinstance(fact.entity, Transceiver)]
    return Counter(found)


def test_a_lot_is_some_dozens_of_modules_in_many_switches_and_always_the_same() -> None:
    layout = build_layout(SimulatorConfig(hosts=32))
    found = lots(layout)
    assert found == lots(build_layout(SimulatorConfig(hosts=32, seed=7)))
    assert sum(found.values()) == len(layout.ports)
    assert all(24 <= size <= 96 for size in found.values()), found
