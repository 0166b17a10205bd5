"""The causal graph and its lookups, on the small fabric: 8 hosts of 8 rails, 8 leaves, 4 spines, 2 storage servers."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.correlate.cluster.graph import Graph, physical
from telemetry.objects import ObjectRef, device, parse_object
from telemetry.topology import (
    Device,
    Entity,
    Job,
    Link,
    Mount,
    Role,
    StorageTarget,
    Topology,
    TopologyFact,
    Transceiver,
)
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, entities


@pytest.fixture(scope="module")
def graph(cluster: Fabric) -> Graph:
    return Graph(physical(cluster.topology))


@pytest.mark.parametrize(
    ("ref", "devices", "gpus"),
    [
        ("device:spine1", {"spine1"}, 0),
        ("link:leaf1/Ethernet4000--spine1/Ethernet0", set(), 0),
        ("port:leaf1/Ethernet0", {"node1"}, 8),
        ("device:leaf3", {"leaf3", *(f"node{n}" for n in range(1, 9))}, 64),
        ("rack:r1", {f"node{n}" for n in range(1, 5)}, 32),
        ("device:oss1", {"oss1"}, 0),
        ("gpu:node1/GPU-0001-5", set(), 1),
        ("device:unknown", {"unknown"}, 0),
    ],
)
def test_it_reaches_what_cannot_work_without_an_object(graph: Graph, ref: str, devices: set[str], gpus: int) -> None:
    reached = graph.reached(parse_object(ref))
    assert {other.name for other in reached if other.kind == "device"} == devices
    assert sum(other.kind == "gpu" for other in reached) == gpus


def test_the_name_of_an_export_is_known_by_its_target_though_it_has_slashes() -> None:
    served = Graph({"t": StorageTarget("nas1:/home/a", "0", "nas1")})
    assert served.filesystem_of(parse_object("storage_target:nas1:/home/a/0")) == "nas1:/home/a"
    assert served.filesystem_of(parse_object("storage_target:scratch/OST0000")) == "scratch"


def test_a_storage_server_reaches_its_targets_and_their_file_system(graph: Graph) -> None:
    reached = {str(ref) for ref in graph.reached(device("oss2"))}
    assert reached == {
        "device:oss2",
        "storage_target:scratch/OST0002",
        "storage_target:scratch/OST0003",
        "filesystem:scratch",
    }


def test_a_switch_reaches_all_of_its_links_but_no_other_switch(graph: Graph) -> None:
    links = {ref.name for ref in graph.reached(device("spine1")) if ref.kind == "link"}
    assert links == {f"leaf{leaf}/Ethernet4000--spine1/Ethernet{4 * (leaf - 1)}" for leaf in range(1, 9)}


@pytest.mark.parametrize(
    ("name", "role", "is_edge", "is_switch"),
    [
        ("node1", Role.HOST, True, False),
        ("oss1", Role.STORAGE, True, False),
        ("leaf1", Role.LEAF, False, True),
        ("spine1", Role.SPINE, False, True),
        ("unknown", None, False, False),
    ],
)
def test_edge_devices_use_the_fabric_and_switches_are_it(
    graph: Graph, name: str, role: Role | None, is_edge: bool, is_switch: bool
) -> None:
    assert (graph.role(name), graph.is_edge(name), graph.is_switch(name)) == (role, is_edge, is_switch)


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        ("leaf1/Ethernet0", True),
        ("leaf1/Ethernet7000", True),  # a storage server
        ("leaf1/Ethernet4000", False),  # a spine
        ("leaf1/Ethernet9999", True),  # without a known peer
        ("node1/mlx5_0", False),  # no port of a switch
        ("unknown/Ethernet0", False),
    ],
)
def test_a_port_of_a_switch_faces_the_edge(graph: Graph, port: str, expected: bool) -> None:
    assert graph.faces_edge(parse_object(f"port:{port}")) is expected


def test_a_link_has_two_ports_two_ends_and_each_port_its_peer(graph: Graph) -> None:
    leaf, host = parse_object("port:leaf2/Ethernet8"), parse_object("port:node3/mlx5_1")
    link = graph.link_of[leaf]
    assert str(link) == "link:leaf2/Ethernet8--node3/mlx5_1"
    assert graph.link_of[host] == link
    assert (graph.peers[leaf], graph.peers[host]) == (host, leaf)
    assert set(graph.ports(link)) == {leaf, host}
    assert set(graph.ends(link)) == {"leaf2", "node3"}
    assert link in graph.links("leaf2")
    assert link in graph.links("node3")


def test_neighbours_racks_mounts_and_servers_are_found_by_name(graph: Graph) -> None:
    assert graph.neighbours("spine4") == {f"leaf{n}" for n in range(1, 9)}
    assert graph.neighbours("oss2") == {"leaf2"}
    assert graph.number_of_racks == 3
    assert graph.rack("r9") == ["oss1", "oss2"]
    assert graph.mounted_on("scratch") == {f"node{n}" for n in range(1, 9)}
    assert graph.server_of(parse_object("storage_target:scratch/OST0003")) == "oss2"
    assert len(graph.gpus_of("node8")) == 8


def test_what_the_topology_does_not_know_has_nothing(graph: Graph) -> None:
    ref = parse_object("link:a/1--b/2")
    assert (*graph.links("a"), *graph.neighbours("a"), *graph.rack("a")) == ()
    assert (*graph.gpus_of("a"), *graph.mounted_on("a")) == ()
    assert graph.server_of(parse_object("storage_target:a/b")) == ""
    assert graph.reached(ref) == {ref}


def test_an_empty_graph_reaches_the_object_itself() -> None:
    ref: ObjectRef = device("leaf1")
    assert Graph({}).reached(ref) == {ref}


def test_the_order_of_the_entities_does_not_matter() -> None:
    known = {f"{number:04}": entity for number, entity in enumerate(entities())}
    backwards = Graph(dict(reversed(known.items())))
    assert backwards.reached(device("leaf1")) == Graph(known).reached(device("leaf1"))
    assert backwards.rack("r1") == Graph(known).rack("r1")


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(st.lists(st.integers(0, 410), max_size=12), min_size=1, max_size=5))
def test_a_changed_graph_is_the_same_as_a_new_one(cluster: Fabric, steps: list[list[int]]) -> None:
    """Entities that go away, come back, and are not what they were."""
    modules = (Transceiver("leaf1", f"Ethernet{4 * n}", f"A{n}", "V", "P", "2024-01-31") for n in range(8))
    known = physical(cluster.topology) | {module.key: module for module in modules}
    keys = sorted(known)
    present, graph = dict(known), Graph(known)
    for step in steps:
        for number in step:
            key = keys[number % len(keys)]
            entity = present.pop(key, None)
            if entity is None:
                present[key] = known[key]
            elif isinstance(entity, Device) and number % 3 == 0:
                present[key] = replace(entity, rack=f"r{number % 4}", role=(Role.LEAF, Role.HOST)[number % 2])
            elif isinstance(entity, Transceiver) and number % 2 == 0:
                present[key] = replace(entity, date_code="")
        graph = graph.changed_to(dict(present))
        assert vars(graph) == vars(Graph(present))


def test_the_graph_before_a_change_stays_as_it_was(cluster: Fabric) -> None:
    known = physical(cluster.topology)
    graph = Graph(known)
    graph.changed_to({key: entity for key, entity in known.items() if "node3" not in key})
    assert vars(graph) == vars(Graph(known))


def test_jobs_and_entities_that_are_gone_are_no_part_of_it() -> None:
    present: list[Entity] = [
        Device("leaf1", Role.LEAF),
        Link("leaf1", "Ethernet0", "node1", "mlx5_0"),
        Mount("node1", "scratch"),
        StorageTarget("scratch", "OST0", "oss1"),
        Job("1", ("node1",)),
    ]
    facts = [TopologyFact(entity, T0, "test") for entity in present]
    gone = TopologyFact(Device("leaf2", Role.LEAF), T0, "test", gone=True)
    known = physical(Topology().with_facts([*facts, gone]))
    assert sorted(type(entity).__name__ for entity in known.values()) == ["Device", "Link", "Mount", "StorageTarget"]
    assert Graph(known).devices.keys() == {"leaf1"}


def test_a_link_that_is_inferred_has_the_ends_of_its_name(graph: Graph) -> None:
    assert graph.ends(parse_object("link:a/1--b/2")) == ("a", "b")
    assert [str(port) for port in graph.ports(parse_object("link:a/1--b/2"))] == ["port:a/1", "port:b/2"]
    assert graph.ports(parse_object("device:a--b")) == ()
