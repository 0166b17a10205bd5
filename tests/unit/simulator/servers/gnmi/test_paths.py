"""gNMI paths: to and from the wire, and what a pattern selects."""

import pytest

from simulator.servers.gnmi.paths import PORT, Elem, elems_of, json_value, match, parse_elems, to_proto, without_modules
from telemetry.gnmi import gnmi_pb2

LEAF = parse_elems("interfaces/interface[name={port}]/ethernet/pfc/priorities/priority[index=3]/state/in-frames")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("", (True, None)),
        ("interfaces", (True, None)),
        ("interfaces/interface", (True, None)),
        ("interfaces/interface[name=*]/ethernet/pfc", (True, None)),
        ("interfaces/interface[name=Ethernet3/1]/ethernet", (True, "Ethernet3/1")),
        ("interfaces/*/ethernet", (True, None)),
        ("interfaces/.../in-frames", (True, None)),
        ("interfaces/interface[name=Ethernet3/1]/.../state", (True, "Ethernet3/1")),
        ("interfaces/interface/ethernet/pfc/priorities/priority[index=3]/state/in-frames", (True, None)),
        ("interfaces/interface/ethernet/pfc/priorities/priority[index=4]", (False, None)),
        ("interfaces/interface[ifindex=3]", (False, None)),
        ("interfaces/interface/state", (False, None)),
        ("interfaces/interface/ethernet/pfc/priorities/priority/state/in-frames/more", (False, None)),
        ("lldp", (False, None)),
    ],
)
def test_a_pattern_selects_what_is_at_and_below_it(pattern: str, expected: tuple[bool, str | None]) -> None:
    assert match(parse_elems(pattern), LEAF) == expected


def test_slashes_inside_keys_do_not_split_a_path() -> None:
    assert [elem.name for elem in parse_elems("/a/b[x=Ethernet1/1][y=2]/c")] == ["a", "b", "c"]
    assert parse_elems("/a/b[x=Ethernet1/1][y=2]/c")[1].keys == (("x", "Ethernet1/1"), ("y", "2"))


@pytest.mark.parametrize("text", ["", "interfaces", "a/b[x=Ethernet1/1]/c", "a[k=1][l=2]/b"])
def test_a_path_survives_the_wire(text: str) -> None:
    proto = to_proto(parse_elems(text), "COUNTERS_DB")
    assert proto.target == "COUNTERS_DB"
    found = [(elem.name, dict(elem.keys)) for elem in elems_of(gnmi_pb2.Path(), proto)]  # keys have no order there
    assert found == [(elem.name, dict(elem.keys)) for elem in parse_elems(text)]


def test_a_path_continues_its_prefix() -> None:
    prefix, path = to_proto(parse_elems("interfaces/interface[name=Ethernet1/1]")), to_proto(parse_elems("state/mtu"))
    assert elems_of(prefix, path) == parse_elems("interfaces/interface[name=Ethernet1/1]/state/mtu")


@pytest.mark.parametrize(
    ("name", "plain"),
    [("openconfig-interfaces:interfaces", "interfaces"), ("interfaces", "interfaces"), ("a:b:c", "c")],
)
def test_modules_of_names_are_left_out_and_keys_stay(name: str, plain: str) -> None:
    assert without_modules((Elem(name, (("name", "a:b"),)),)) == (Elem(plain, (("name", "a:b"),)),)


def test_the_placeholder_is_replaced_by_the_port_and_other_keys_stay() -> None:
    elem = Elem("interface", (("name", PORT), ("index", "3")))
    assert elem.with_port("Ethernet3/1") == Elem("interface", (("name", "Ethernet3/1"), ("index", "3")))


@pytest.mark.parametrize(
    ("pattern", "selected"),
    [
        ("interfaces/interface[name=Ethernet*]", True),  # the caller matches the name of the port
        ("inter*/interface", True),
        (".../priority[index=3]", True),
        (".../priority[index=*]/state", True),
        (".../priority[index=3]/state/out-frames", False),
        ("...", True),
        ("interfaces/.../.../in-frames", True),
        ("interfaces/.../lldp", False),
    ],
)
def test_wildcards_stand_for_names_values_and_levels(pattern: str, selected: bool) -> None:
    assert match(parse_elems(pattern), LEAF)[0] is selected


@pytest.mark.parametrize(("encoding", "member"), [(gnmi_pb2.JSON, "json_val"), (gnmi_pb2.JSON_IETF, "json_ietf_val")])
def test_json_is_in_the_member_of_its_encoding(encoding: int, member: str) -> None:
    value = json_value(b"[1]", encoding)
    assert (value.WhichOneof("value"), getattr(value, member)) == (member, b"[1]")
