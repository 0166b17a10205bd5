"""Serials of modules, from paths as agents send them to facts of the topology."""

import orjson
import pytest

from common.units import NS_PER_S as S
from ingest.collectors.gnmi.decode.decoder import Decoder
from ingest.collectors.gnmi.paths.elements import parse_path
from ingest.collectors.gnmi.paths.metadata import MetadataKind, MetadataPath, MetadataUpdate
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.collectors.gnmi.subscriptions import DEFAULTS
from ingest.collectors.gnmi.transceivers import TransceiverTable
from telemetry.gnmi import gnmi_pb2
from telemetry.topology import TopologyFact, Transceiver

NOW = 1_700_000_000 * S
K = MetadataKind


def update(kind: MetadataKind, name: str, text: str | None, at_s: int = 1) -> MetadataUpdate:
    return MetadataUpdate(MetadataPath(kind, name, "", ()), text, at_s * S)


def modules(facts: list[TopologyFact]) -> list[tuple[str, str, bool]]:
    return [(f.entity.port, f.entity.serial, f.gone) for f in facts if isinstance(f.entity, Transceiver)]


def message(path: str, value: object, *deleted: str) -> bytes:
    notification = gnmi_pb2.Notification(timestamp=NOW)
    notification.delete.extend(map(parse_path, deleted))
    body = gnmi_pb2.TypedValue(json_ietf_val=orjson.dumps(value))
    notification.update.add(path=parse_path(path), val=body)
    return gnmi_pb2.SubscribeResponse(update=notification).SerializeToString()


def test_a_module_that_is_replaced_and_one_that_is_pulled() -> None:
    table = TransceiverTable("leaf1")
    (fact,) = table.update([update(K.SERIAL, "Ethernet0", "A")])
    assert fact == TopologyFact(Transceiver("leaf1", "Ethernet0", "A"), 1 * S, "gnmi/leaf1")
    assert table.update([update(K.SERIAL, "Ethernet0", "A", 2)]) == []
    assert modules(table.update([update(K.SERIAL, "Ethernet0", "B", 3)])) == [("Ethernet0", "B", False)]
    assert modules(table.update([update(K.SERIAL, "Ethernet0", None, 4)])) == [("Ethernet0", "B", True)]
    assert table.update([update(K.SERIAL, "Ethernet0", None, 5)]) == []


@pytest.mark.parametrize("text", ["", "                ", "X" * 65])
def test_what_is_no_serial(text: str) -> None:
    assert TransceiverTable("leaf1").update([update(K.SERIAL, "Ethernet0", text)]) == []


@pytest.mark.parametrize("order", [1, -1])
def test_a_serial_of_a_component_is_of_the_port_that_names_it(order: int) -> None:
    updates = [update(K.COMPONENT, "Ethernet1/1", "xcvr1"), update(K.COMPONENT_SERIAL, "xcvr1", "A")]
    table = TransceiverTable("leaf1")
    assert modules(table.update(updates[::order])) == [("Ethernet1/1", "A", False)]
    assert modules(table.update([update(K.COMPONENT_SERIAL, "xcvr1", "B", 2)])) == [("Ethernet1/1", "B", False)]


def test_the_table_of_a_sonic_switch() -> None:
    """In the form of its STATE_DB; a port without a module says N/A or has no row."""
    decoder, table = Decoder("leaf1:8080", "leaf1", Naming(("sonic", "openconfig"))), TransceiverTable("leaf1")
    rows = {
        "Ethernet0": {"type": "QSFP28 or later", "serial": "MT1706FT02064   ", "manufacturer": "Mellanox"},
        "TRANSCEIVER_INFO|Ethernet8": {"cmis_rev": "5.0", "serial": "INKAO2900002A", "model": "C-DQ8FNM010-N00"},
        "Ethernet12": {"serial": "N/A"},
    }
    decoded = decoder.decode([message("/TRANSCEIVER_INFO", rows)], NOW)
    assert modules(table.update(decoded.metadata)) == [
        ("Ethernet0", "MT1706FT02064", False),
        ("Ethernet8", "INKAO2900002A", False),
    ]
    for _ in range(3):  # documents that repeat are read by their template
        decoded = decoder.decode([message("/TRANSCEIVER_INFO", rows)], NOW)
        assert table.update(decoded.metadata) == []
    rows["Ethernet0"]["serial"] = "MT1706FT02065   "
    decoded = decoder.decode([message("/TRANSCEIVER_INFO", rows)], NOW)
    assert modules(table.update(decoded.metadata)) == [("Ethernet0", "MT1706FT02065", False)]
    decoded = decoder.decode([message("/TRANSCEIVER_INFO", {}, "/TRANSCEIVER_INFO/Ethernet0")], NOW)
    assert modules(table.update(decoded.metadata)) == [("Ethernet0", "MT1706FT02065", True)]


def test_the_components_of_an_openconfig_switch() -> None:
    decoder, table = Decoder("leaf1:6030", "leaf1", Naming(("arista", "openconfig"))), TransceiverTable("leaf1")
    messages = [
        message(
            "/components/component[name=xcvr49]/transceiver", {"state": {"serial-no": "XKE1", "present": "PRESENT"}}
        ),
        message("/interfaces/interface[name=Ethernet49/1]/state", {"transceiver": "xcvr49"}),
    ]
    assert modules(table.update(decoder.decode(messages, NOW).metadata)) == [("Ethernet49/1", "XKE1", False)]


def test_sonic_switches_are_asked_for_serials() -> None:
    paths = {path.path for subscriptions in DEFAULTS.values() for each in subscriptions for path in each.paths}
    assert {"TRANSCEIVER_INFO", "/components/component[name=*]/transceiver"} <= paths
