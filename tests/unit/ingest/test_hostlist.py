"""Hostlists, in the forms that ``scontrol show hostnames`` expands."""

import pytest

from common.errors import BadInput
from ingest.collectors.hostlist import HOSTS_MAX, expand, indices


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("", ()),
        (" ", ()),
        ("node1", ("node1",)),
        ("node1,node2", ("node1", "node2")),
        (" node1 , node2 ", ("node1", "node2")),
        ("node1,,node2,", ("node1", "node2")),
        ("node[1-4,7]", ("node1", "node2", "node3", "node4", "node7")),
        ("node[7,1-2]", ("node7", "node1", "node2")),
        ("node[3]", ("node3",)),
        ("node[5-5]", ("node5",)),
        ("[1-2]", ("1", "2")),
        # the width of the first number is kept
        ("node[08-10]", ("node08", "node09", "node10")),
        ("node[001-003]", ("node001", "node002", "node003")),
        ("node[9-11]", ("node9", "node10", "node11")),
        ("node[1-2,007]", ("node1", "node2", "node007")),
        # brackets between other text, and several of them
        ("a[1-2]b", ("a1b", "a2b")),
        ("a[1-2],b,c[3]", ("a1", "a2", "b", "c3")),
        ("r[1-2]n[1-2]", ("r1n1", "r1n2", "r2n1", "r2n2")),
        ("r[1-2]n[1-2]-ib", ("r1n1-ib", "r1n2-ib", "r2n1-ib", "r2n2-ib")),
        ("node[1, 2]", ("node1", "node2")),
    ],
)
def test_hostlists(text: str, hosts: tuple[str, ...]) -> None:
    assert expand(text) == hosts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node[1-", "brackets do not match"),
        ("node]1[", "brackets do not match"),
        ("node1]", "brackets do not match"),
        ("node[[1]]", "brackets do not match"),
        ("node[a-b]", "'a-b' is no range of numbers"),
        ("node[]", "'' is no range of numbers"),
        ("node[1,]", "'' is no range of numbers"),
        ("node[1-2-3]", "'1-2-3' is no range of numbers"),
        ("node[-1]", "'-1' is no range of numbers"),
        ("node[1-]", "'1-' is no range of numbers"),
        ("node[1-²]", "'1-²' is no range of numbers"),
        ("node[²]", "'²' is no range of numbers"),
    ],
)
def test_malformed_hostlists_are_refused(text: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        expand(text)
    assert message in str(caught.value)
    assert caught.value.reason == "bad_format"


@pytest.mark.parametrize(
    "text",
    ["n[1-99999999]", "n[1-999]m[1-999]", "n[0-65536]", "n[0-65535,0]", f"n[{9:0>5000}]", "a," * HOSTS_MAX + "b"],
)
def test_more_hosts_than_the_limit_are_refused(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        expand(text)
    assert caught.value.reason == "too_large"


def test_as_many_hosts_as_the_limit_are_expanded() -> None:
    hosts = expand(f"n[1-{HOSTS_MAX}]")
    assert (len(hosts), hosts[0], hosts[-1]) == (65_536, "n1", "n65536")


def test_a_long_text_is_cut_in_the_message() -> None:
    with pytest.raises(BadInput) as caught:
        expand("x" * 1000 + "]")
    assert len(str(caught.value)) < 150


@pytest.mark.parametrize(("text", "expected"), [("0", (0,)), ("0,2-4", (0, 2, 3, 4)), ("03-04", (3, 4))])
def test_indices(text: str, expected: tuple[int, ...]) -> None:
    assert indices(text) == expected


@pytest.mark.parametrize("text", ["", "a", "0,", "1-x"])
def test_malformed_indices_are_refused(text: str) -> None:
    with pytest.raises(BadInput):
        indices(text)
