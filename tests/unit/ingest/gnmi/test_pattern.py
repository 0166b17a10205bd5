"""Paths of the catalogue against paths of messages, and what a path is."""

import pytest

from ingest.collectors.gnmi.paths.elements import Elements, elements_of, parse_path
from ingest.collectors.gnmi.paths.metadata import MetadataKind, MetadataPath, metadata_path
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.collectors.gnmi.paths.pattern import PathPattern
from ingest.collectors.gnmi.paths.resolve import Resolver
from ingest.collectors.gnmi.paths.series_rows import Leaf, SeriesRows


def steps(text: str) -> Elements:
    return elements_of(parse_path(text))


@pytest.mark.parametrize(
    ("pattern", "path", "labels"),
    [
        ("a/b", "a/b", {}),
        ("a/b", "a/c", None),
        ("a/b", "a", None),
        ("a/b", "a/b/c", None),
        # a label that fills a step is any text, also with colons
        ("PORT/{port}/alias", "PORT/Ethernet0/alias", {"port": "Ethernet0"}),
        ("PORT/{port}/alias", "PORT/oid:0x1/alias", {"port": "oid:0x1"}),
        # as a part of a step it ends at a colon; known numbers are digits
        ("Q/{port}:{queue}", "Q/Ethernet4:3", {"port": "Ethernet4", "queue": "3"}),
        ("Q/{port}:{queue}", "Q/Ethernet4", None),
        ("Q/{port}:{queue}", "Q/Ethernet4:x", None),
        ("Q/{port}:{queue}", "Q/Ethernet4:3:periodic", None),
        ("Q/{port}:{queue}:periodic", "Q/Ethernet4:3:periodic", {"port": "Ethernet4", "queue": "3"}),
        ("S/PFC_{priority}_RX", "S/PFC_7_RX", {"priority": "7"}),
        ("S/PFC_{priority}_RX", "S/PFC_x_RX", None),
        # an underscore matches and names nothing
        ("T/{_}/{peer}", "T/default/192.0.2.1", {"peer": "192.0.2.1"}),
        # text around a label is no pattern
        ("S/a.{port}", "S/axEthernet0", None),
        # keys: those of the pattern must be there, others may be
        ("i[name={port}]/s", "i[name=Ethernet1]/s", {"port": "Ethernet1"}),
        ("i[name={port}]/s", "i[name=Ethernet1][id=2]/s", {"port": "Ethernet1"}),
        ("i[name={port}]/s", "i/s", None),
        ("i[type=a][name={port}]/s", "i[name=Ethernet1][type=a]/s", {"port": "Ethernet1"}),
        ("i[type=a][name={port}]/s", "i[name=Ethernet1][type=b]/s", None),
        ("i/s", "i[name=Ethernet1]/s", {}),
    ],
)
def test_patterns(pattern: str, path: str, labels: dict[str, str] | None) -> None:
    assert PathPattern.of(pattern).match(steps(path)) == labels


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("PORT_TABLE/Ethernet0/alias", (MetadataKind.ALIAS, "Ethernet0", "")),
        ("PORT/Ethernet0/alias", (MetadataKind.ALIAS, "Ethernet0", "")),
        ("COUNTERS_PORT_NAME_MAP/Ethernet0", (MetadataKind.ALIAS, "Ethernet0", "")),
        ("LLDP_ENTRY_TABLE/Ethernet0/lldp_rem_sys_name", (MetadataKind.NEIGHBOUR, "Ethernet0", "")),
        ("LLDP_ENTRY_TABLE/Ethernet0/lldp_rem_port_id", (MetadataKind.NEIGHBOUR_PORT, "Ethernet0", "")),
        ("interfaces/interface[name=Ethernet1]/state/transceiver", (MetadataKind.COMPONENT, "Ethernet1", "")),
        (
            "lldp/interfaces/interface[name=Ethernet1]/neighbors/neighbor[id=7]/state/system-name",
            (MetadataKind.NEIGHBOUR, "Ethernet1", "7"),
        ),
        (
            "lldp/interfaces/interface[name=Ethernet1]/neighbors/neighbor[id=7]/state/port-id",
            (MetadataKind.NEIGHBOUR_PORT, "Ethernet1", "7"),
        ),
        ("PORT_TABLE/Ethernet0/speed", None),
        ("lldp/interfaces/interface[name=Ethernet1]/neighbors/neighbor[id=7]/state/ttl", None),
    ],
)
def test_metadata_paths(path: str, expected: tuple[MetadataKind, str, str] | None) -> None:
    elements = steps(path)
    found = metadata_path(elements, elements)
    assert found == (None if expected is None else MetadataPath(*expected, raw=elements))


def test_a_path_is_a_series_metadata_or_neither() -> None:
    resolver, rows = Resolver(Naming(("sonic", "openconfig"))), SeriesRows("gnmi/a:1", "leaf1", 10)
    series = resolver.resolve(steps("COUNTERS/Ethernet0/SAI_PORT_STAT_IF_IN_OCTETS"), rows)
    assert isinstance(series, Leaf)
    assert rows.table.keys == ('fabric_port_receive_bytes_total{device="leaf1",port="Ethernet0"}',)
    assert isinstance(resolver.resolve(steps("PORT_TABLE/Ethernet0/alias"), rows), MetadataPath)
    assert resolver.resolve(steps("PORT_TABLE/Ethernet0/fantasy"), rows) is None
    assert resolver.resolve((), rows) is None


def test_an_entry_of_an_unknown_port_is_counted_until_its_name_is_learnt() -> None:
    resolver, rows = Resolver(Naming(("sonic",))), SeriesRows("gnmi/a:1", "leaf1", 10)
    path = steps("COUNTERS/Ethernet*/etp1/SAI_PORT_STAT_IF_IN_OCTETS")
    assert resolver.resolve(path, rows) is None
    assert resolver.unnamed == 1
    resolver.names.learn("etp1", "Ethernet4")
    found = resolver.resolve(path, rows)
    assert isinstance(found, Leaf)
    assert found.named.labels == {"port": "Ethernet4"}


def test_optics_of_a_component_belong_to_the_port_that_names_it() -> None:
    resolver, rows = Resolver(Naming(("openconfig",))), SeriesRows("gnmi/a:1", "leaf1", 10)
    text = "components/component[name={}]/transceiver/physical-channels/channel[index=0]/state/input-power/instant"
    resolver.names.learn("Ethernet1 transceiver", "Ethernet1")
    for component, port in (("Ethernet1 transceiver", "Ethernet1"), ("Xcvr 2", "Xcvr 2")):
        found = resolver.resolve(steps(text.format(component)), rows)
        assert isinstance(found, Leaf)
        assert found.named.labels["port"] == port
