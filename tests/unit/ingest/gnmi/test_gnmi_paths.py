import pytest

from common.errors import ConfigError
from ingest.collectors.gnmi.config import Source
from ingest.collectors.gnmi.paths.elements import below, elements_of, parse_path
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.collectors.gnmi.paths.sonic import PortNames, is_sonic, normal_form
from telemetry.catalogue import origins_of
from telemetry.gnmi import gnmi_pb2

NAMING = Naming(Source)


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
        ("COUNTERS/SWITCH*/SWITCH_ID/SAI_X", "COUNTERS/SWITCH_ID/SAI_X"),
        ("COUNTERS/*/VoQs/lc1|Asic0|Ethernet0:3/SAI_X", "COUNTERS/VoQs/lc1|Asic0|Ethernet0:3/SAI_X"),
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


@pytest.mark.parametrize(
    ("field", "group"),
    [("SAI_QUEUE_STAT_BYTES", "Queues"), ("SAI_INGRESS_PRIORITY_GROUP_STAT_PACKETS", "PriorityGroups")],
)
def test_queues_and_priority_groups_by_id_are_those_of_their_port(field: str, group: str) -> None:
    known = names(**{"oid:0x15000000000358": "Ethernet0:3"})
    found = normal_form(tuple((step, ()) for step in ("COUNTERS", "oid:0x15000000000358", field)), known)
    assert found == tuple((step, ()) for step in ("COUNTERS", group, "Ethernet0:3", field))


@pytest.mark.parametrize("source", Source)
def test_every_origin_of_the_catalogue_is_found_again_with_its_labels(source: str) -> None:
    values = {"port": "Ethernet4", "queue": "3", "priority": "3", "pg": "3", "lane": "1", "pool": "ingress", "_": "x"}
    values |= {"sensor": "PSU 1", "peer": "192.0.2.1", "bin": "15", "size": "65_TO_127", "color": "1", "name": "LLR"}
    values |= {"target": "lc1|Asic0|Ethernet0", "address": "00:01.0", "part": "0/RP0", "slot": "1", "number": "2"}
    for metric, origin in origins_of(source):
        text = origin.name.format(**values)
        found = NAMING.name(elements_of(parse_path(text)))
        assert found is not None, text
        assert found.metric is metric, text
        assert {*found.labels, "device"} == set(metric.labels), text
        expected = values | {label: made.format(**values) for label, made in origin.labels.items()}
        assert all(value == expected.get(label, value) for label, value in found.labels.items()), text


def test_a_periodic_entry_is_no_queue_and_a_breakout_port_keeps_its_colon() -> None:
    path = parse_path("COUNTERS/Queues/Ethernet4:3:periodic/SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES")
    found = NAMING.name(elements_of(path))
    assert found is not None
    assert found.labels == {"port": "Ethernet4", "queue": "3", "reset": "interval"}
    junos = NAMING.name(elements_of(parse_path("/interfaces/interface[name=xe-0/0/0:0]/state/counters/in-octets")))
    assert junos is not None
    assert junos.labels == {"port": "xe-0/0/0:0"}


@pytest.mark.parametrize(
    ("text", "origin", "elements"),
    [
        ("", "", []),
        ("/", "", []),
        ("a", "", [("a", {})]),
        ("/a/b/", "", [("a", {}), ("b", {})]),
        ("openconfig:/a", "openconfig", [("a", {})]),
        ("eos_native:/Sysdb/x", "eos_native", [("Sysdb", {}), ("x", {})]),
        ("a:b/c", "", [("a:b", {}), ("c", {})]),  # no origin without a slash behind the colon
        ("/a[b=1]", "", [("a", {"b": "1"})]),
        ("/a[b=1][c=2]/d", "", [("a", {"b": "1", "c": "2"}), ("d", {})]),
        ("/a[b=]", "", [("a", {"b": ""})]),
        ("/a[b=*]", "", [("a", {"b": "*"})]),
        ("/a[b=x/y]/c", "", [("a", {"b": "x/y"}), ("c", {})]),
        ("/a[b=x=y]", "", [("a", {"b": "x=y"})]),
        (r"/a[b=x\]y]", "", [("a", {"b": "x]y"})]),
        (r"/a[b=x\\]", "", [("a", {"b": "x\\"})]),
        (r"/a\/b", "", [("a/b", {})]),
        ("/a b/c", "", [("a b", {}), ("c", {})]),
    ],
)
def test_paths_as_text(text: str, origin: str, elements: list[tuple[str, dict[str, str]]]) -> None:
    """Source: openconfig/reference, rpc/gnmi/gnmi-path-strings.md."""
    path = parse_path(text)
    assert path.origin == origin
    assert [(elem.name, dict(elem.key)) for elem in path.elem] == elements


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("//a", "expected a name at character 2"),
        ("/a//b", "expected a name at character 4"),
        ("oc:/a//b", "expected a name at character 7"),
        ("/a[b]", "expected / or .key=value. after 'a'"),
        ("/a[b=1", "expected / or .key=value. after 'a'"),
        ("/a[b=1]c", "expected / or .key=value. after 'a'"),
        ("/[b=1]", "expected a name at character 2"),
    ],
)
def test_errors_of_paths_name_the_place(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_path(text)


def sonic(*steps: str) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    return tuple((step, ()) for step in steps)


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("COUNTERS", True),
        ("PORT_TABLE", True),
        ("A1_B", True),
        ("interfaces", False),
        ("Counters", False),
        ("C", False),
    ],
)
def test_tables_of_sonic_are_upper_case(first: str, expected: bool) -> None:
    assert is_sonic(sonic(first, "x")) is expected


def test_an_empty_path_is_no_sonic_path() -> None:
    assert not is_sonic(())


@pytest.mark.parametrize(
    ("steps", "normal"),
    [
        (("COUNTERS",), ("COUNTERS",)),
        (("COUNTERS", "Ethernet*"), ("COUNTERS",)),
        (("COUNTERS", "Ethernet*", "etp1"), ("COUNTERS",)),  # half of an entry names nothing
        (("COUNTERS", "Ethernet*", "PortChannel1", "X"), ("COUNTERS", "PortChannel1", "X")),
        (("COUNTERS", "Ethernet0", "Pfcwd", "Ethernet0:3", "X"), ("COUNTERS", "Pfcwd", "Ethernet0:3", "X")),
        (("COUNTERS", "Ethernet*", "VoQs", "etp1:5", "X"), ("COUNTERS", "VoQs", "Ethernet4:5", "X")),
        (("RATES", "oid:0x1", "X"), ("RATES", "Ethernet8", "X")),
        (("RATES", "oid:0x2", "X"), None),
        (("PORT_TABLE", "anything", "X"), ("PORT_TABLE", "anything", "X")),  # its entries are no ports of counters
        (("PORT_TABLE", "PORT_TABLE:Ethernet0", "X"), ("PORT_TABLE", "Ethernet0", "X")),
        (("NEIGH_STATE_TABLE", "NEIGH_STATE_TABLE|10.0.0.1", "X"), ("NEIGH_STATE_TABLE", "10.0.0.1", "X")),
    ],
)  # fmt: skip
def test_normal_forms_of_sonic(steps: tuple[str, ...], normal: tuple[str, ...] | None) -> None:
    known = names(etp1="Ethernet4", **{"oid:0x1": "Ethernet8"})
    assert normal_form(sonic(*steps), known) == (None if normal is None else sonic(*normal))


def test_port_names_change_their_version_only_when_they_learn() -> None:
    known = PortNames()
    for other, port, version in (
        ("etp1", "Ethernet0", 1),
        ("etp1", "Ethernet0", 1),
        ("etp1", "Ethernet4", 2),
        ("", "Ethernet8", 2),
        ("Ethernet8", "Ethernet8", 2),
    ):
        known.learn(other, port)
        assert known.version == version
    assert known.ports == {"etp1": "Ethernet4"}


@pytest.mark.parametrize(
    ("name", "port"),
    [
        *(("Ethernet0", "Ethernet0"), ("PortChannel12", "PortChannel12"), ("etp1", "Ethernet4")),
        *(("etp2", None), ("Ethernet", None), ("eth0", None)),
    ],
)
def test_names_that_are_ports_and_names_that_stand_for_one(name: str, port: str | None) -> None:
    assert names(etp1="Ethernet4").resolve(name) == port
