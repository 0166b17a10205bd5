import pytest

from common.errors import ConfigError
from ingest.collectors.gnmi.paths.elements import below, elements_of, parse_path
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.collectors.gnmi.paths.sonic import PortNames, normal_form
from telemetry.catalogue import origins_of
from telemetry.gnmi import gnmi_pb2

NAMING = Naming(("sonic", "openconfig", "arista", "junos"))


def test_a_path_in_text() -> None:
    path = parse_path("openconfig:/interfaces/interface[name=Ethernet1/1]/state/counters")
    assert path.origin == "openconfig"
    assert [elem.name for elem in path.elem] == ["interfaces", "interface", "state", "counters"]
    assert path.elem[1].key["name"] == "Ethernet1/1"


def test_several_keys_and_escapes() -> None:
    elem = parse_path(r"/a[x=1][y=\]2]/b").elem[0]
    assert dict(elem.key) == {"x": "1", "y": "]2"}


@pytest.mark.parametrize("text", ["/a[b]/c", "/a//b", "/a[b=c"])
def test_malformed_paths_are_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_path(text)


def test_module_prefixes_underscores_and_steps_of_keys_alone_are_one_form() -> None:
    path = gnmi_pb2.Path()
    path.elem.add(name="openconfig-interfaces:interfaces")
    path.elem.add(name="interface", key={"name": "Ethernet4:3"})
    path.elem.add(key={"neighbor_address": "fe80::1"})
    keys = (("name", "Ethernet4:3"), ("neighbor-address", "fe80::1"))
    assert elements_of(path) == (("interfaces", ()), ("interface", keys))


def test_paths_of_agents_before_gnmi_0_4() -> None:
    path = gnmi_pb2.Path(element=["interfaces", "interface[name=Ethernet1]", "state"])
    assert elements_of(path) == elements_of(parse_path("/interfaces/interface[name=Ethernet1]/state"))


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        ("/interfaces", True),
        ("/interfaces/interface[name=Ethernet1]", True),
        ("/interfaces/interface[name=*]", True),
        ("/interfaces/*/state", True),
        ("/interfaces/interface[name=Ethernet2]", False),
        ("/interfaces/interface[name=Ethernet1]/state/mtu/x", False),
    ],
)
def test_below(root: str, expected: bool) -> None:
    path = elements_of(parse_path("/interfaces/interface[name=Ethernet1]/state/mtu"))
    assert below(path, elements_of(parse_path(root))) is expected


def names(**others: str) -> PortNames:
    found = PortNames()
    for other, port in others.items():
        found.learn(other, port)
    return found


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("COUNTERS/Ethernet40/SAI_X", "COUNTERS/Ethernet40/SAI_X"),
        ("COUNTERS/Ethernet*/etp10/SAI_X", "COUNTERS/Ethernet40/SAI_X"),
        ("COUNTERS/Ethernet*/SAI_X/etp10/SAI_X", "COUNTERS/Ethernet40/SAI_X"),
        ("COUNTERS/Ethernet40/Queues/Ethernet40:3/SAI_X", "COUNTERS/Queues/Ethernet40:3/SAI_X"),
        ("COUNTERS/Ethernet*/Queues/etp10:3/SAI_X", "COUNTERS/Queues/Ethernet40:3/SAI_X"),
        ("COUNTERS/Ethernet*/Queues/etp10:3:periodic/SAI_X", "COUNTERS/Queues/Ethernet40:3:periodic/SAI_X"),
        ("NEIGH_STATE_TABLE/NEIGH_STATE_TABLE|fc00::72/state", "NEIGH_STATE_TABLE/fc00::72/state"),
        ("COUNTERS/Ethernet*/nobody/SAI_X", None),
    ],
)
def test_sonic_paths_have_one_form(path: str, normal: str | None) -> None:
    elements = tuple((step, ()) for step in path.split("/"))
    found = normal_form(elements, names(etp10="Ethernet40"))
    assert (found and "/".join(name for name, _ in found)) == normal


def test_objects_by_id_are_named_by_the_name_map() -> None:
    known = names(**{"oid:0x1000000000002": "Ethernet0"})
    elements = tuple((step, ()) for step in ("COUNTERS", "oid:0x1000000000002", "SAI_PORT_STAT_IF_IN_OCTETS"))
    found = normal_form(elements, known)
    assert found is not None
    assert found[1] == ("Ethernet0", ())


@pytest.mark.parametrize("source", ["sonic", "openconfig", "arista", "junos"])
def test_every_origin_of_the_catalogue_is_found_again_with_its_labels(source: str) -> None:
    values = {"port": "Ethernet4", "queue": "3", "priority": "3", "pg": "3", "lane": "1", "pool": "ingress", "_": "x"}
    values |= {"sensor": "PSU 1", "peer": "192.0.2.1"}
    for metric, origin in origins_of(source):
        text = origin.name.format(**values)
        found = NAMING.name(elements_of(parse_path(text)))
        assert found is not None, text
        assert found.metric is metric, text
        assert {*found.labels, "device"} == set(metric.labels), text
        assert all(value == values.get(label, value) for label, value in found.labels.items()), text


def test_a_periodic_entry_is_no_queue_and_a_breakout_port_keeps_its_colon() -> None:
    path = parse_path("COUNTERS/Queues/Ethernet4:3:periodic/SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES")
    found = NAMING.name(elements_of(path))
    assert found is not None
    assert found.labels == {"port": "Ethernet4", "queue": "3", "reset": "interval"}
    junos = NAMING.name(elements_of(parse_path("/interfaces/interface[name=xe-0/0/0:0]/state/counters/in-octets")))
    assert junos is not None
    assert junos.labels == {"port": "xe-0/0/0:0"}
