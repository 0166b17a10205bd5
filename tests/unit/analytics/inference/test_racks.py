"""Racks from host names, and names that only look like it."""

import pytest

from analytics.inference.racks import racks_of


@pytest.mark.parametrize(
    ("names", "racks"),
    [
        (["r12n04", "r12n05", "r13n01"], ["r12", "r12", "r13"]),
        (["dc1-rack3-u07", "dc1-rack3-u09", "dc1-rack4-u07"], ["r3", "r3", "r4"]),
        (["gpu-r1-node1", "gpu-r2-node1"], ["r1", "r2"]),
    ],
)
def test_systematic_names_say_the_rack(names: list[str], racks: list[str]) -> None:
    assert list(racks_of(names).values()) == racks


@pytest.mark.parametrize(
    "names",
    [
        ["node1", "node2", "node3"],
        ["r650-01", "r650-02", "r750-01"],  # models
        ["r1n1", "r1n2"],  # one name for all
        ["r1n1", "r2n1", "login", "head"],  # half of them
        ["server1n1", "server2n1"],
        [f"r1n{n}" for n in range(60)] + ["r2n1"],  # more than a rack holds
        [],
    ],
)
def test_other_names_say_none(names: list[str]) -> None:
    assert racks_of(names) == {}
