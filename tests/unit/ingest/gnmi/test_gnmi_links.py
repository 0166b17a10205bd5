import pytest

from common.units import NS_PER_S as S
from ingest.collectors.gnmi.links import LinkTable
from ingest.collectors.gnmi.paths.metadata import MetadataKind, MetadataPath, MetadataUpdate
from telemetry.topology import Link, TopologyFact

LINK = Link("leaf1", "Ethernet0", "spine1", "Ethernet8")


def update(port: str, kind: MetadataKind, text: str | None, at_s: int = 1) -> MetadataUpdate:
    return MetadataUpdate(MetadataPath(kind, port, "1", ()), text, at_s * S)


def neighbour(port: str, device: str | None, other: str | None, at_s: int = 1) -> list[MetadataUpdate]:
    return [update(port, MetadataKind.NEIGHBOUR, device, at_s), update(port, MetadataKind.NEIGHBOUR_PORT, other, at_s)]


def links(facts: list[TopologyFact]) -> list[tuple[str, bool]]:
    return [(fact.entity.key.removeprefix("link/"), fact.gone) for fact in facts]


def test_two_ends_are_one_link() -> None:
    table = LinkTable()
    assert [fact.entity for fact in table.update("leaf1", neighbour("Ethernet0", "spine1", "Ethernet8"))] == [LINK]
    assert table.update("spine1", neighbour("Ethernet8", "leaf1", "Ethernet0")) == []
    assert table.update("leaf1", neighbour("Ethernet0", "spine1", "Ethernet8", 2)) == []


def test_one_half_of_a_neighbour_is_no_link() -> None:
    assert LinkTable().update("leaf1", [update("Ethernet0", MetadataKind.NEIGHBOUR, "spine1")]) == []


def test_a_domain_name_is_cut_to_the_device() -> None:
    facts = LinkTable().update("leaf1", neighbour("Ethernet0", "spine1.dc1.example", "Ethernet8"))
    assert [fact.entity for fact in facts] == [LINK]


def test_a_link_is_gone_once_both_ends_lost_it_for_the_hold_time() -> None:
    table = LinkTable(hold_s=600)
    table.update("leaf1", neighbour("Ethernet0", "spine1", "Ethernet8"))
    table.update("spine1", neighbour("Ethernet8", "leaf1", "Ethernet0"))
    assert table.update("leaf1", neighbour("Ethernet0", None, None, 10)) == []
    assert table.expire(1000 * S) == []
    assert table.update("spine1", neighbour("Ethernet8", None, None, 20)) == []
    assert table.expire(619 * S) == []
    (gone,) = table.expire(620 * S)
    assert (gone.entity, gone.gone, gone.observed_ns) == (LINK, True, 20 * S)
    assert table.expire(10_000 * S) == []


def test_a_neighbour_that_comes_back_in_time_was_never_gone() -> None:
    table = LinkTable(hold_s=600)
    table.update("leaf1", neighbour("Ethernet0", "node1", "mlx5_0"))
    table.update("leaf1", neighbour("Ethernet0", None, None, 10))
    assert table.update("leaf1", neighbour("Ethernet0", "node1", "mlx5_0", 20)) == []
    assert table.expire(10_000 * S) == []


def test_another_neighbour_ends_the_old_link_at_once() -> None:
    table = LinkTable()
    table.update("leaf1", neighbour("Ethernet0", "node1", "mlx5_0"))
    facts = table.update("leaf1", [update("Ethernet0", MetadataKind.NEIGHBOUR, "node2", 5)])
    assert links(facts) == [("leaf1/Ethernet0--node1/mlx5_0", True), ("leaf1/Ethernet0--node2/mlx5_0", False)]


def test_an_alias_of_the_far_port_is_resolved_when_its_switch_sends_it() -> None:
    table = LinkTable()
    facts = table.update("leaf1", neighbour("Ethernet0", "spine1", "etp3"))
    assert links(facts) == [("leaf1/Ethernet0--spine1/etp3", False)]
    facts = table.update("spine1", [update("Ethernet8", MetadataKind.ALIAS, "etp3", 2)])
    assert links(facts) == [("leaf1/Ethernet0--spine1/etp3", True), ("leaf1/Ethernet0--spine1/Ethernet8", False)]


@pytest.mark.parametrize(("near", "far", "rated"), [(4e11, 2e11, 2e11), (4e11, None, 4e11), (None, None, 0.0)])
def test_a_link_is_as_fast_as_its_slower_end(near: float | None, far: float | None, rated: float) -> None:
    table = LinkTable()
    for device, port, speed in (("leaf1", "Ethernet0", near), ("spine1", "Ethernet8", far)):
        if speed is not None:
            table.set_speed(device, port, speed)
    (fact,) = table.update("leaf1", neighbour("Ethernet0", "spine1", "Ethernet8"))
    assert isinstance(fact.entity, Link)
    assert fact.entity.bits_per_second == rated


def test_a_downgrade_does_not_change_the_rated_speed_of_a_link() -> None:
    table = LinkTable()
    table.update("leaf1", neighbour("Ethernet0", "spine1", "Ethernet8"))
    table.set_speed("leaf1", "Ethernet0", 4e11)
    (fact,) = table.expire(5 * S)
    assert isinstance(fact.entity, Link)
    assert fact.entity.bits_per_second == 4e11
    table.set_speed("leaf1", "Ethernet0", 1e11)
    assert table.expire(6 * S) == []


def test_a_link_that_the_other_end_still_reports_stays() -> None:
    table = LinkTable(hold_s=10)
    table.update("leaf1", neighbour("Ethernet0", "spine1", "Ethernet8"))
    table.update("spine1", neighbour("Ethernet8", "leaf1", "Ethernet0"))
    assert table.update("leaf1", neighbour("Ethernet0", None, None, 5)) == []
    assert table.expire(1000 * S) == []


def test_a_new_neighbour_of_one_end_leaves_the_link_to_the_other() -> None:
    """The far end has not noticed yet: its report keeps the old link."""
    table = LinkTable()
    table.update("leaf1", neighbour("Ethernet0", "spine1", "Ethernet8"))
    table.update("spine1", neighbour("Ethernet8", "leaf1", "Ethernet0"))
    facts = table.update("leaf1", [update("Ethernet0", MetadataKind.NEIGHBOUR, "spine2", 5)])
    assert links(facts) == [("leaf1/Ethernet0--spine2/Ethernet8", False)]
    facts = table.update("spine1", [update("Ethernet8", MetadataKind.NEIGHBOUR, "leaf2", 6)])
    assert links(facts) == [("leaf1/Ethernet0--spine1/Ethernet8", True), ("leaf2/Ethernet0--spine1/Ethernet8", False)]


def test_several_neighbours_of_one_port_are_several_links() -> None:
    """A switch without LLDP in between shows all that are behind it."""
    table = LinkTable()
    for number, host in (("1", "node1"), ("2", "node2")):
        updates = [
            MetadataUpdate(MetadataPath(kind, "Ethernet0", number, ()), text, S)
            for kind, text in ((MetadataKind.NEIGHBOUR, host), (MetadataKind.NEIGHBOUR_PORT, "eth0"))
        ]
        assert links(table.update("leaf1", updates)) == [(f"leaf1/Ethernet0--{host}/eth0", False)]


def test_the_ends_of_a_link_are_sorted_whoever_reports_it() -> None:
    (fact,) = LinkTable().update("spine1", neighbour("Ethernet8", "leaf1", "Ethernet0"))
    assert fact.entity == LINK
    assert (fact.source, fact.observed_ns, fact.gone) == ("lldp/spine1", S, False)


def test_an_alias_that_is_known_before_the_neighbour_is_used_at_once() -> None:
    table = LinkTable()
    assert table.update("spine1", [update("Ethernet8", MetadataKind.ALIAS, "etp3")]) == []
    facts = table.update("leaf1", neighbour("Ethernet0", "spine1", "etp3"))
    assert [fact.entity for fact in facts] == [LINK]


@pytest.mark.parametrize(("alias", "port"), [("Ethernet8", "Ethernet8"), ("", "Ethernet8")])
def test_an_alias_that_says_nothing_changes_nothing(alias: str, port: str) -> None:
    table = LinkTable()
    table.update("leaf1", neighbour("Ethernet0", "spine1", "Ethernet8"))
    assert table.update("spine1", [update(port, MetadataKind.ALIAS, alias)]) == []


def test_the_component_of_a_port_is_no_neighbour() -> None:
    assert LinkTable().update("leaf1", [update("Ethernet0", MetadataKind.COMPONENT, "Xcvr 1")]) == []


def test_links_are_looked_through_once_a_second() -> None:
    table = LinkTable(hold_s=0.5)
    table.update("leaf1", neighbour("Ethernet0", "node1", "eth0"))
    table.update("leaf1", neighbour("Ethernet0", None, None, 2))
    assert table.expire(2 * S) == []
    assert table.expire(3 * S - 1) == []  # due, but less than a second after the last time
    assert [fact.gone for fact in table.expire(3 * S)] == [True]


def test_a_clock_that_is_set_back_does_not_stop_the_expiry() -> None:
    table = LinkTable(hold_s=1)
    table.expire(1000 * S)
    table.update("leaf1", neighbour("Ethernet0", "node1", "eth0"))
    table.update("leaf1", neighbour("Ethernet0", None, None, 2))
    assert [fact.gone for fact in table.expire(10 * S)] == [True]


def test_a_link_that_is_gone_can_come_back() -> None:
    table = LinkTable(hold_s=1)
    table.update("leaf1", neighbour("Ethernet0", "node1", "eth0"))
    table.update("leaf1", neighbour("Ethernet0", None, None, 2))
    table.expire(10 * S)
    facts = table.update("leaf1", neighbour("Ethernet0", "node1", "eth0", 20))
    assert links(facts) == [("leaf1/Ethernet0--node1/eth0", False)]
