"""gNMI paths: what a pattern selects."""

import pytest

from simulator.servers.gnmi.paths import match, parse_elems

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
