"""Facts about the cluster, and the cluster that they describe."""

import itertools

import pytest

from telemetry.objects import ObjectKind, ObjectRef
from telemetry.topology import Device, Entity, Gpu, Job, Link, Mount, Role, StorageTarget, Topology, TopologyFact

LEAF, SPINE = Device("leaf1", Role.LEAF), Device("leaf1", Role.SPINE)


def fact(entity: Entity, at_ns: int, *, gone: bool = False) -> TopologyFact:
    return TopologyFact(entity, at_ns, "test", gone)


@pytest.mark.parametrize(
    ("entity", "key"),
    [
        (LEAF, "device/leaf1"),
        (Link("leaf1", "Ethernet4", "spine1", "Ethernet8", 4e11), "link/leaf1/Ethernet4--spine1/Ethernet8"),
        (Gpu("node1", "GPU-1", 0), "gpu/node1/GPU-1"),
        (StorageTarget("scratch", "OST0000", "oss1"), "storage_target/scratch/OST0000"),
        (Mount("node1", "scratch"), "mount/node1/scratch"),
        (Job("4711", ("node1",)), "job/4711"),
    ],
)
def test_the_key_names_the_entity_and_nothing_that_changes(entity: Entity, key: str) -> None:
    assert entity.key == key


def test_a_link_knows_its_ports_and_itself_as_an_object() -> None:
    link = Link("leaf1", "Ethernet4", "spine1", "Ethernet8")
    assert [str(port) for port in link.ports] == ["port:leaf1/Ethernet4", "port:spine1/Ethernet8"]
    assert link.ref == ObjectRef(ObjectKind.LINK, "leaf1/Ethernet4--spine1/Ethernet8")


def test_the_newest_fact_of_a_key_is_valid_in_whatever_order_they_come() -> None:
    facts = [fact(LEAF, 1), fact(SPINE, 3), fact(LEAF, 2, gone=True)]
    for order in itertools.permutations(facts):
        assert Topology().with_facts(order).entities(Device) == [SPINE]
        one_by_one = Topology()
        for each in order:
            one_by_one = one_by_one.with_facts([each])
        assert one_by_one.entities(Device) == [SPINE]


def test_of_equally_old_facts_the_last_is_valid() -> None:
    assert Topology().with_facts([fact(LEAF, 1), fact(SPINE, 1)]).entities(Device) == [SPINE]
    assert Topology().with_facts([fact(SPINE, 1), fact(LEAF, 1)]).entities(Device) == [LEAF]


def test_an_entity_that_is_gone_is_remembered_so_that_older_facts_do_not_bring_it_back() -> None:
    topology = Topology().with_facts([fact(LEAF, 1), fact(LEAF, 5, gone=True)])
    assert topology.entities(Device) == []
    assert topology.with_facts([fact(LEAF, 4)]).entities(Device) == []
    assert topology.with_facts([fact(LEAF, 6)]).entities(Device) == [LEAF]


def test_entities_are_of_one_kind_and_sorted_by_key() -> None:
    names = ["leaf10", "leaf2", "leaf1"]
    topology = Topology().with_facts(
        [*(fact(Device(name, Role.LEAF), 1) for name in names), fact(Mount("node1", "scratch"), 1)]
    )
    assert [device.name for device in topology.entities(Device)] == ["leaf1", "leaf10", "leaf2"]
    assert topology.entities(Mount) == [Mount("node1", "scratch")]
    assert topology.entities(Job) == []


def test_a_topology_never_changes_the_next_one_does() -> None:
    first = Topology().with_facts([fact(LEAF, 1)])
    second = first.with_facts([fact(Device("leaf2", Role.LEAF), 2)])
    assert len(first.entities(Device)) == 1
    assert len(second.entities(Device)) == 2
