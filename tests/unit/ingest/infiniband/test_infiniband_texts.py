"""What ibnetdiscover and perfquery print: real outputs, what two of them say together, and what is none."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import BadInput
from ingest.collectors.infiniband.perfquery import Reading, parse_counters
from ingest.collectors.infiniband.topology import SeenLink, link_facts, links_of, names_of, parse_topology
from telemetry.topology import Link
from tests.samples import SAMPLES

FOLDER = SAMPLES / "infiniband"
EDR, HDR = 100e9, 200e9
S = 1_000_000_000
HOLD = 600 * S


def links(text: str | bytes, **settings: object) -> set[Link]:
    fabric = parse_topology(text.encode() if isinstance(text, str) else text)
    return set(links_of(fabric, names_of(fabric, **settings)).values())  # type: ignore[arg-type]


def line(end: str = "SW 5 1 0x5", other: str = "CA 7 1 0x7", name: str = "leaf1", peer: str = "node1 mlx5_0") -> str:
    return f"{end} 4x NDR - {other} ( '{name}' - '{peer}' )\n"


def test_the_links_of_a_real_fabric() -> None:
    assert links((FOLDER / "ibnetdiscover__test.txt").read_bytes()) == {
        Link("ib-i1l1s01", "1", "ib-i1l2s01", "1", EDR),
        Link("ib-i1l1s01", "10", "o0001", "HCA-1", EDR),
        Link("ib-i1l1s01", "11", "o0002", "HCA-1", EDR),
        Link("ib-i4l1s01", "35", "p0001", "HCA-1", EDR),
    }


def test_a_switch_s_own_port_for_collectives_is_no_link() -> None:
    assert links((FOLDER / "ibnetdiscover__test2.txt").read_bytes()) == {
        Link("5FB0405-leaf-IB01", "79", "worker20", "mlx5_3", HDR)
    }


@pytest.mark.parametrize("file", ["test", "test2", "test3"])
def test_every_line_of_a_real_output_is_read(file: str) -> None:
    assert parse_topology((FOLDER / f"ibnetdiscover__{file}.txt").read_bytes()).malformed == 0


@pytest.mark.parametrize(
    ("text", "link"),
    [
        (line(), Link("leaf1", "1", "node1", "mlx5_0", 4 * 100e9)),
        (line(other="CA 7 2 0x7"), Link("leaf1", "1", "node1", "mlx5_0/2", 4 * 100e9)),
        (line(peer="node1.dc1.example mlx5_0"), Link("leaf1", "1", "node1", "mlx5_0", 4 * 100e9)),
        (line(name="MF0;leaf1:MQM8700/U1"), Link("leaf1", "1", "node1", "mlx5_0", 4 * 100e9)),
        (line(peer="MT4129 ConnectX7 Mellanox Technologies"), Link("0x7", "1", "leaf1", "1", 4 * 100e9)),
        (line(name="Quantum Mellanox Technologies"), Link("0x5", "1", "node1", "mlx5_0", 4 * 100e9)),
        (line(peer="node1"), Link("leaf1", "1", "node1", "1", 4 * 100e9)),
        (line(peer=".example mlx5_0"), Link("0x7", "1", "leaf1", "1", 4 * 100e9)),
        (line().replace("NDR", "???"), Link("leaf1", "1", "node1", "mlx5_0", 0.0)),
    ],
)
def test_names_of_devices_and_ports(text: str, link: Link) -> None:
    assert links(text) == {link}


def test_names_that_settings_give() -> None:
    assert links(line(peer="node1 HCA-1"), adapters={"HCA-1": "mlx5_0"}) == {
        Link("leaf1", "1", "node1", "mlx5_0", 4 * 100e9)
    }
    assert links(line(), switches_by="guid") == {Link("0x5", "1", "node1", "mlx5_0", 4 * 100e9)}


def test_two_switches_of_one_name_are_named_by_their_guids() -> None:
    text = line() + line(end="SW 6 1 0x6", other="CA 8 1 0x8", peer="node2 mlx5_0")
    assert {link.a_device for link in links(text)} == {"0x5", "0x6"}


def test_both_ports_of_an_adapter_have_its_name() -> None:
    text = line() + line(end="SW 5 2 0x5", other="CA 8 2 0x8")
    assert {(link.b_device, link.b_port) for link in links(text)} == {("node1", "mlx5_0"), ("node1", "mlx5_0/2")}


def test_a_link_is_one_fact_until_it_has_been_away_for_long() -> None:
    link = Link("leaf1", "1", "node1", "mlx5_0", EDR)
    known, facts = link_facts({}, {link.key: link}, S, HOLD, "ib")
    assert [(fact.entity, fact.gone) for fact in facts] == [(link, False)]
    known, facts = link_facts(known, {link.key: link}, 2 * S, HOLD, "ib")
    assert facts == []
    known, facts = link_facts(known, {}, HOLD, HOLD, "ib")
    assert (facts, known) == ([], {link.key: SeenLink(link, 2 * S)})
    known, facts = link_facts(known, {}, HOLD + 2 * S, HOLD, "ib")
    assert ([(fact.entity, fact.gone) for fact in facts], known) == ([(link, True)], {})


def test_a_port_with_another_link_ends_the_old_one_at_once() -> None:
    old, new = Link("leaf1", "1", "node1", "mlx5_0", EDR), Link("leaf1", "1", "node2", "mlx5_0", EDR)
    known, _ = link_facts({}, {old.key: old}, S, HOLD, "ib")
    _, facts = link_facts(known, {new.key: new}, 2 * S, HOLD, "ib")
    assert {(fact.entity, fact.gone) for fact in facts} == {(new, False), (old, True)}


def test_the_highest_speed_of_a_link_is_its_rated_one() -> None:
    fast, slow = Link("leaf1", "1", "node1", "mlx5_0", EDR), Link("leaf1", "1", "node1", "mlx5_0", EDR / 4)
    known, _ = link_facts({}, {fast.key: fast}, S, HOLD, "ib")
    known, facts = link_facts(known, {slow.key: slow}, 2 * S, HOLD, "ib")
    assert facts == []
    _, facts = link_facts({slow.key: SeenLink(slow, S)}, {fast.key: fast}, 2 * S, HOLD, "ib")
    assert [fact.entity for fact in facts] == [fast]


@pytest.mark.parametrize("text", [b"", b"\n\n", b"ibwarn: [7] mad_rpc_open_port: can't open UMAD port", b"\xff" * 50])
def test_what_is_no_topology(text: bytes) -> None:
    with pytest.raises(BadInput, match="expected lines as of ibnetdiscover -p"):
        parse_topology(text)


def test_counters_of_several_ports() -> None:
    readings, malformed = parse_counters((FOLDER / "perfquery__0x7cfe9003009ce5b0.txt").read_bytes())
    assert malformed == 0
    assert {(each.lid, each.port) for each in readings} == {(1719, 1), (1719, 2)}
    assert Reading(1719, 2, "PortXmitWait", 36510964.0) in readings


def test_a_line_that_is_none_is_counted_and_the_others_are_used() -> None:
    text = b"A: 1\n# Port counters: Lid 7 port 1\nA:....5\nB:...\nC\nSelect:....0x0000\n# without a port\nA:...6\n"
    assert parse_counters(text) == ([Reading(7, 1, "A", 5.0)], 5)


@pytest.mark.parametrize("text", [b"", b"PortXmitData:....5\n", b"# Lid 7 port 1\n", b"\xff" * 50])
def test_what_are_no_counters(text: bytes) -> None:
    with pytest.raises(BadInput, match="expected counters as of perfquery"):
        parse_counters(text)


@given(st.text("CASW 0123456789x-()'LidNDRport#:.\n", max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (parse_topology, parse_counters):
        with suppress(BadInput):
            parse(text.encode())
