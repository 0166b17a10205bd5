"""What a change of the topology rebuilds, and what is kept until then."""

import pytest

from analytics.correlate.cause import cause_of
from analytics.correlate.cluster import cluster as module
from analytics.correlate.cluster.cluster import Cluster
from analytics.correlate.cluster.graph import Graph
from telemetry.incidents import IncidentKind as I
from telemetry.objects import ObjectRef, device
from telemetry.topology import Device, Entity, Job, Link, Role, TopologyFact
from tests.unit.analytics.correlate.small_fabric import T0, Fabric

CAUSE = cause_of(I.DEVICE_DOWN, device("node1"), frozenset(), "")


@pytest.fixture
def fabric(cluster: Fabric) -> Cluster:
    known = Cluster()
    known.update(cluster.topology)
    return known


def test_facts_that_repeat_what_is_known_rebuild_nothing(cluster: Fabric, fabric: Cluster) -> None:
    graph, jobs, reach = fabric.graph, fabric.jobs, fabric.reach(CAUSE)
    again = [TopologyFact(fact.entity, T0 + 1, "test") for fact in cluster.topology.facts.values()]
    fabric.update(cluster.topology.with_facts(again))
    assert (fabric.graph, fabric.jobs) == (graph, jobs)
    assert fabric.reach(CAUSE) is reach


def test_a_new_job_changes_what_is_reached_and_keeps_the_graph(cluster: Fabric, fabric: Cluster) -> None:
    graph = fabric.graph
    assert fabric.reach(CAUSE).certain == {"1"}
    assert fabric.blast_radius(CAUSE, frozenset()).jobs == ("1",)
    fabric.update(cluster.topology.with_facts([TopologyFact(Job("3", ("node1",)), T0, "slurm")]))
    assert fabric.graph is graph
    assert fabric.reach(CAUSE).certain == {"1", "3"}
    assert fabric.blast_radius(CAUSE, frozenset()).jobs == ("1", "3")


def test_a_new_link_rebuilds_the_graph_and_what_is_reached(cluster: Fabric, fabric: Cluster) -> None:
    entities: list[Entity] = [Device("leaf9", Role.LEAF), Link("leaf9", "Ethernet0", "node1", "mlx5_9")]
    assert "leaf9" not in fabric.reach(CAUSE).devices
    fabric.update(cluster.topology.with_facts(TopologyFact(entity, T0, "test") for entity in entities))
    assert "leaf9" in fabric.reach(CAUSE).devices


def test_caches_are_bounded(fabric: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHE_MAX", 3)
    for number in range(10):
        cause = cause_of(I.DEVICE_DOWN, device(f"node{number}"), frozenset(), "")
        assert device(f"node{number}") in fabric.reach(cause).own
        fabric.blast_radius(cause, frozenset())
        assert len(fabric._reaches) <= 3
        assert len(fabric._blasts) <= 3


def test_what_an_incident_reaches_is_walked_once(fabric: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[ObjectRef] = []
    walk = Graph.reached

    def reached(graph: Graph, ref: ObjectRef) -> set[ObjectRef]:
        walked.append(ref)
        return walk(graph, ref)

    monkeypatch.setattr(Graph, "reached", reached)
    fabric.reach(CAUSE)
    fabric.blast_radius(CAUSE, frozenset())
    assert walked == [CAUSE.root]


def test_what_follows_from_the_graph_is_kept_until_it_is_another_one(cluster: Fabric, fabric: Cluster) -> None:
    def devices(graph: Graph) -> frozenset[str]:
        return frozenset(graph.devices)

    assert fabric.once(devices) is fabric.once(devices)
    fabric.update(cluster.topology.with_facts([TopologyFact(Device("leaf9", Role.LEAF), T0, "test")]))
    assert "leaf9" in fabric.once(devices)
