"""Modules in ports, from paths as agents send them to facts of the topology."""

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


def test_what_sonic_states_of_a_module() -> None:
    """Padded with blanks; the date ends with the two characters of the lot, which may be blank."""
    decoder, table = Decoder("leaf1:8080", "leaf1", Naming(("sonic", "openconfig"))), TransceiverTable("leaf1")
    row = {"manufacturer": "Amphenol        ", "model": "599690001", "vendor_date": "2012-05-24 "}
    rows = {
        "Ethernet0": {**row, "serial": "APF12210014T7W"},
        "Ethernet4": {"serial": "INKAO1", "manufacturer": "INNOLIGHT", "model": "N/A", "vendor_date": "2020-05-22 A2"},
        "Ethernet8": {"type": "RJ45", "serial": "N/A", "manufacturer": "N/A", "model": "N/A", "vendor_date": "N/A"},
    }
    facts = table.update(decoder.decode([message("/TRANSCEIVER_INFO", rows)], NOW).metadata)
    assert [fact.entity for fact in facts] == [
        Transceiver("leaf1", "Ethernet0", "APF12210014T7W", "Amphenol", "599690001", "2012-05-24"),
        Transceiver("leaf1", "Ethernet4", "INKAO1", "INNOLIGHT", "", "2020-05-22 A2"),
    ]
    assert [fact.entity.lot for fact in facts if isinstance(fact.entity, Transceiver)] == [
        "Amphenol 599690001 2012-05-24",
        "",
    ]


def test_what_openconfig_states_of_a_module() -> None:
    """In messages of their own; of a date and time only the day counts."""
    decoder, table = Decoder("leaf1:6030", "leaf1", Naming(("arista", "openconfig"))), TransceiverTable("leaf1")
    at = "/components/component[name=xcvr49]/transceiver/state"
    leaves = {"vendor": "Arista Networks", "vendor-part": "OSFP-400G", "date-code": "2024-01-31T00:00:00Z"}
    messages = [
        message("/interfaces/interface[name=Ethernet49/1]/state", {"transceiver": "xcvr49"}),
        *(message(f"{at}/{leaf}", text) for leaf, text in leaves.items()),
        message(f"{at}/serial-no", "XKE1"),
    ]
    (fact,) = table.update(decoder.decode(messages, NOW).metadata)
    assert fact.entity == Transceiver("leaf1", "Ethernet49/1", "XKE1", "Arista Networks", "OSFP-400G", "2024-01-31")


def test_a_module_that_states_less_has_nothing_of_the_one_before() -> None:
    table = TransceiverTable("leaf1")
    stated = {K.SERIAL: "A", K.VENDOR: "V", K.PART: "P", K.DATE_CODE: "2024-01-31 T1"}
    (fact,) = table.update(update(kind, "Ethernet0", text) for kind, text in stated.items())
    assert fact.entity == Transceiver("leaf1", "Ethernet0", "A", "V", "P", "2024-01-31 T1")
    assert table.update([update(K.VENDOR, "Ethernet0", "V", 2)]) == []
    (fact,) = table.update([update(K.SERIAL, "Ethernet0", "B", 3), update(K.VENDOR, "Ethernet0", "W", 3)])
    assert fact == TopologyFact(Transceiver("leaf1", "Ethernet0", "B", "W"), 3 * S, "gnmi/leaf1")
    (fact,) = table.update([update(K.PART, "Ethernet0", "Q", 4), update(K.DATE_CODE, "Ethernet0", "X" * 65, 4)])
    assert fact.entity == Transceiver("leaf1", "Ethernet0", "B", "W", "Q")


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
