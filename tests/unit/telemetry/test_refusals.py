"""What topology and changes say that cannot be: what counts of it, and the reason that people read."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from telemetry.changes import Change, ChangeKind
from telemetry.objects import ObjectKind, ObjectRef, device
from telemetry.refusals import DAY_NS, bounded, consistent, refused_changes, refused_facts
from telemetry.topology import Device, Entity, Gpu, Job, Link, Role, Topology, TopologyFact

LEAF = Device("leaf1", Role.LEAF)
HOST = Device("node1", Role.HOST, rack="r1")
LINK = Link("leaf1", "e0", "node1", "m0")
CHANGE = Change("c1", ChangeKind.MAINTENANCE, (device("node1"),), 5 * DAY_NS, 0, "ada")


def topology(*entities: Entity, source: str = "inventory") -> Topology:
    """Each seen a second after the one before."""
    return Topology().with_facts(TopologyFact(entity, at, source) for at, entity in enumerate(entities))


def refused(known: Topology) -> Sequence[tuple[str, str, str, str]]:
    found = refused_facts(known)
    return [(key, each.reason, each.text, each.source) for key, refusals in found.items() for each in refusals]


def left(known: Topology) -> dict[str, Entity]:
    """What counts of a topology in which nothing is gone."""
    return consistent({key: fact.entity for key, fact in known.facts.items()}, refused_facts(known))


def test_of_facts_that_fit_nothing_is_refused() -> None:
    known = topology(LEAF, HOST, LINK, Gpu("node1", "GPU-1", 0), Job("1", ("node1",)))
    assert not refused_facts(known)
    assert left(known).keys() == known.facts.keys()


def test_a_cable_from_a_device_to_itself_is_refused() -> None:
    known = topology(LEAF, Link("leaf1", "e0", "leaf1", "e0"), Link("leaf1", "e1", "leaf1", "e2"))
    assert [(reason, text) for _, reason, text, _ in refused(known)] == [
        ("self_link", "leaf1/e0--leaf1/e0 leads from leaf1 to itself"),
        ("self_link", "leaf1/e1--leaf1/e2 leads from leaf1 to itself"),
    ]
    assert left(known) == {"device/leaf1": LEAF}


@pytest.mark.parametrize("first", [0, 1])
def test_of_two_cables_at_one_port_the_one_that_was_seen_last_counts(first: int) -> None:
    other = replace(LINK, b_port="m1")
    known = topology(*((LINK, other) if first == 0 else (other, LINK)), source="lldp/leaf1")
    kept, lost = (other, LINK) if first == 0 else (LINK, other)
    text = f"leaf1/e0 is in {lost.key} by lldp/leaf1 and in {kept.key} by lldp/leaf1, which was seen last"
    assert refused(known) == [(lost.key, "port_twice", text, "lldp/leaf1")]
    assert list(left(known).values()) == [kept]


def test_of_two_cables_that_were_seen_at_once_the_last_by_name_counts() -> None:
    known = Topology().with_facts(TopologyFact(replace(LINK, b_port=port), 1, "inventory") for port in ("m1", "m0"))
    ((key, reason, text, _),) = refused(known)
    assert (key, reason) == ("link/leaf1/e0--node1/m0", "port_twice")
    assert text.endswith("in link/leaf1/e0--node1/m1 by inventory, which counts as the last by name")


def test_a_gpu_with_two_hosts_is_in_the_one_that_named_it_last() -> None:
    known = topology(Gpu("node1", "GPU-1", 0), Gpu("node2", "GPU-1", 0))
    assert [(key, reason) for key, reason, *_ in refused(known)] == [("gpu/node1/GPU-1", "gpu_twice")]
    assert left(known).keys() == {"gpu/node2/GPU-1"}


def test_a_device_that_is_its_own_rack_has_none() -> None:
    known = topology(Device("r1", Role.HOST, rack="r1"))
    assert refused(known) == [
        ("device/r1", "rack_in_itself", "r1 is said to be in the rack r1, which is itself", "inventory")
    ]
    assert left(known) == {"device/r1": Device("r1", Role.HOST)}


@pytest.mark.parametrize("nodes", [("node1", "x3", "x1"), tuple(f"x{n}" for n in range(7))])
def test_a_job_on_hosts_that_nobody_knows_is_named(nodes: tuple[str, ...]) -> None:
    text = "x1, x3" if len(nodes) == 3 else "x0, x1, x2, x3, x4 and 2 more"
    expected = [("job/1", "unknown_hosts", f"job 1 runs on {text}, unknown to the topology", "inventory")]
    assert refused(topology(HOST, Job("1", nodes))) == expected
    assert not refused_facts(topology(LEAF, Job("1", nodes)))  # without an inventory of hosts nothing contradicts


def said_by(source: str, role: Role, rack: str, at_ns: int) -> TopologyFact:
    return TopologyFact(Device("n1", role, rack=rack), at_ns, source)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (said_by("lldp", Role.LEAF, "", 2), "lldp says n1 is a leaf in rack ?, inventory says n1 is a host in rack r1"),
        (said_by("lldp", Role.LEAF, "", 0), "inventory says n1 is a host in rack r1, lldp says n1 is a leaf in rack ?"),
        (said_by("lldp", Role.HOST, "r2", 2), "lldp says n1 is a host in rack r2, inventory says n1 is a host in r"),
        (said_by("lldp", Role.HOST, "", 2), ""),  # knows less, which is no contradiction
        (said_by("inventory", Role.HOST, "r2", 2), ""),  # moved
    ],
)
def test_two_devices_of_one_name_are_named_with_both_sources(other: TopologyFact, expected: str) -> None:
    known = Topology().with_facts([said_by("inventory", Role.HOST, "r1", 1), other])
    found = refused(known)
    assert [reason for _, reason, *_ in found] == ["name_twice"] * bool(expected)
    assert all(text.startswith(expected) for _, _, text, _ in found)
    assert len(left(known)) == 1


@pytest.mark.parametrize(
    "last",
    [
        said_by("inventory", Role.LEAF, "r2", 3),  # says the same now
        replace(said_by("lldp", Role.LEAF, "r2", 3), gone=True),
    ],
)
def test_a_contradiction_ends_with_the_fact_that_contradicts(last: TopologyFact) -> None:
    known = Topology().with_facts([said_by("inventory", Role.HOST, "r1", 1), said_by("lldp", Role.LEAF, "r2", 2)])
    assert refused_facts(known)
    assert not refused_facts(known.with_facts([last]))


def test_a_change_counts_for_thirty_days_and_five_hundred_objects() -> None:
    everything = tuple(ObjectRef(ObjectKind.RACK, f"r{n}") for n in range(501))
    year = replace(CHANGE, ends_ns=370 * DAY_NS, objects=everything)
    assert bounded(year) == replace(CHANGE, ends_ns=35 * DAY_NS, objects=everything[:500])
    assert [(each.reason, each.text, each.source) for each in refused_changes([year])] == [
        ("lasts_too_long", "maintenance c1 lasts 365 days: it counts for 30", "ada"),
        ("too_many_objects", "maintenance c1 names 501 objects: 500 count", "ada"),
    ]


@pytest.mark.parametrize("ends_ns", [0, 6 * DAY_NS, 35 * DAY_NS])
def test_a_change_within_its_limits_stays_as_it_is(ends_ns: int) -> None:
    change = replace(CHANGE, ends_ns=ends_ns)
    assert bounded(change) == change
    assert not refused_changes([change])
