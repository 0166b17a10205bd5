import pytest

from ingest.collectors.gnmi.links import LinkBook
from ingest.collectors.gnmi.paths.metadata import Fact, Observation, Watch
from telemetry.topology import Link, TopologyFact

S = 1_000_000_000
LINK = Link("leaf1", "Ethernet0", "spine1", "Ethernet8")


def said(port: str, fact: Fact, text: str | None, at_s: int = 1) -> Observation:
    return Observation(Watch(fact, port, "1", ()), text, at_s * S)


def neighbour(port: str, device: str | None, other: str | None, at_s: int = 1) -> list[Observation]:
    return [said(port, Fact.NEIGHBOUR, device, at_s), said(port, Fact.NEIGHBOUR_PORT, other, at_s)]


def links(facts: list[TopologyFact]) -> list[tuple[str, bool]]:
    return [(fact.entity.key.removeprefix("link/"), fact.gone) for fact in facts]


def test_two_ends_are_one_link() -> None:
    book = LinkBook()
    assert [fact.entity for fact in book.observe("leaf1", neighbour("Ethernet0", "spine1", "Ethernet8"))] == [LINK]
    assert book.observe("spine1", neighbour("Ethernet8", "leaf1", "Ethernet0")) == []
    assert book.observe("leaf1", neighbour("Ethernet0", "spine1", "Ethernet8", 2)) == []


def test_one_half_of_a_neighbour_is_no_link() -> None:
    assert LinkBook().observe("leaf1", [said("Ethernet0", Fact.NEIGHBOUR, "spine1")]) == []


def test_a_domain_name_is_cut_to_the_device() -> None:
    facts = LinkBook().observe("leaf1", neighbour("Ethernet0", "spine1.dc1.example", "Ethernet8"))
    assert [fact.entity for fact in facts] == [LINK]


def test_a_link_is_gone_once_both_ends_lost_it_for_the_hold_time() -> None:
    book = LinkBook(hold_s=600)
    book.observe("leaf1", neighbour("Ethernet0", "spine1", "Ethernet8"))
    book.observe("spine1", neighbour("Ethernet8", "leaf1", "Ethernet0"))
    assert book.observe("leaf1", neighbour("Ethernet0", None, None, 10)) == []
    assert book.expire(1000 * S) == []
    assert book.observe("spine1", neighbour("Ethernet8", None, None, 20)) == []
    assert book.expire(619 * S) == []
    (gone,) = book.expire(620 * S)
    assert (gone.entity, gone.gone, gone.observed_ns) == (LINK, True, 20 * S)
    assert book.expire(10_000 * S) == []


def test_a_neighbour_that_comes_back_in_time_was_never_gone() -> None:
    book = LinkBook(hold_s=600)
    book.observe("leaf1", neighbour("Ethernet0", "node1", "mlx5_0"))
    book.observe("leaf1", neighbour("Ethernet0", None, None, 10))
    assert book.observe("leaf1", neighbour("Ethernet0", "node1", "mlx5_0", 20)) == []
    assert book.expire(10_000 * S) == []


def test_another_neighbour_ends_the_old_link_at_once() -> None:
    book = LinkBook()
    book.observe("leaf1", neighbour("Ethernet0", "node1", "mlx5_0"))
    facts = book.observe("leaf1", [said("Ethernet0", Fact.NEIGHBOUR, "node2", 5)])
    assert links(facts) == [("leaf1/Ethernet0--node1/mlx5_0", True), ("leaf1/Ethernet0--node2/mlx5_0", False)]


def test_an_alias_of_the_far_port_is_resolved_when_its_switch_tells_it() -> None:
    book = LinkBook()
    facts = book.observe("leaf1", neighbour("Ethernet0", "spine1", "etp3"))
    assert links(facts) == [("leaf1/Ethernet0--spine1/etp3", False)]
    facts = book.observe("spine1", [said("Ethernet8", Fact.ALIAS, "etp3", 2)])
    assert links(facts) == [("leaf1/Ethernet0--spine1/etp3", True), ("leaf1/Ethernet0--spine1/Ethernet8", False)]


@pytest.mark.parametrize(("near", "far", "rated"), [(4e11, 2e11, 2e11), (4e11, None, 4e11), (None, None, 0.0)])
def test_a_link_is_as_fast_as_its_slower_end(near: float | None, far: float | None, rated: float) -> None:
    book = LinkBook()
    for device, port, speed in (("leaf1", "Ethernet0", near), ("spine1", "Ethernet8", far)):
        if speed is not None:
            book.rate(device, port, speed)
    (fact,) = book.observe("leaf1", neighbour("Ethernet0", "spine1", "Ethernet8"))
    assert isinstance(fact.entity, Link)
    assert fact.entity.bits_per_second == rated


def test_a_downgrade_does_not_change_what_a_link_is_rated_for() -> None:
    book = LinkBook()
    book.observe("leaf1", neighbour("Ethernet0", "spine1", "Ethernet8"))
    book.rate("leaf1", "Ethernet0", 4e11)
    (fact,) = book.expire(5 * S)
    assert isinstance(fact.entity, Link)
    assert fact.entity.bits_per_second == 4e11
    book.rate("leaf1", "Ethernet0", 1e11)
    assert book.expire(6 * S) == []
