"""Ports of NX-OS have one name, in series and in links."""

import pytest

from ingest.collectors.gnmi.paths.cisco_ports import long_name
from ingest.collectors.gnmi.paths.elements import elements_of, parse_path
from ingest.collectors.gnmi.paths.metadata import MetadataPath
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.collectors.gnmi.paths.resolve import Resolver
from ingest.collectors.gnmi.paths.series_rows import SeriesRows


@pytest.mark.parametrize(
    ("port", "name"),
    [
        ("eth1/1", "Ethernet1/1"),
        ("Eth1/1/2", "Ethernet1/1/2"),
        ("eth101/1/4.12", "Ethernet101/1/4.12"),
        ("po12", "port-channel12"),
        *((same, same) for same in ("Ethernet1/1", "port-channel12", "mgmt0", "Ethernet4", "eth0", "pod1", "eth1/1a")),
        *((same, same) for same in ("GigabitEthernet1/0/1", "HundredGigE0/0/0/1", "")),
    ],
)
def test_a_port_has_the_name_of_the_command_line(port: str, name: str) -> None:
    assert long_name(port) == name


@pytest.mark.parametrize(("sources", "port"), [(("cisco", "openconfig"), "Ethernet1/1"), (("openconfig",), "eth1/1")])
def test_only_cisco_s_ports_are_renamed(sources: tuple[str, ...], port: str) -> None:
    resolver, rows = Resolver(Naming(sources)), SeriesRows("gnmi/a:1", "leaf1", 10)
    interface = "/interfaces/interface[name=eth1/1]/state"
    resolver.resolve(elements_of(parse_path(f"{interface}/counters/in-octets")), rows)
    assert rows.table.keys == (f'fabric_port_receive_bytes_total{{device="leaf1",port="{port}"}}',)
    neighbour = "/lldp/interfaces/interface[name=eth1/1]/neighbors/neighbor[id=1]/state/port-id"
    found = resolver.resolve(elements_of(parse_path(neighbour)), rows)
    assert isinstance(found, MetadataPath)
    assert found.port == port
