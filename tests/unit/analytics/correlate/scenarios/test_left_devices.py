"""Devices that leave the inventory, or what is collected: their incidents end with them."""

from collections.abc import Iterable
from dataclasses import replace

from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import IncidentState
from telemetry.topology import Device, Entity, Link, TopologyFact
from tests.unit.analytics.correlate.hosts import Hosts
from tests.unit.analytics.correlate.small_fabric import Run


def removed(run: Run, entities: Iterable[Entity]) -> None:
    run.topology = run.topology.with_facts(TopologyFact(each, run.now_ns, "inventory", gone=True) for each in entities)


def test_the_incident_of_a_device_that_is_decommissioned_ends(hosts: Hosts, run: Run) -> None:
    hosts.rest(30)
    hosts.step(off=["node1"])
    hosts.rest(30)
    assert run.only.kind is I.DEVICE_DOWN
    links = [link for link in run.topology.entities(Link) if "node1" in (link.a_device, link.b_device)]
    removed(run, [*(each for each in run.topology.entities(Device) if each.name == "node1"), *links])
    hosts.rest(90)
    assert run.only.state is IncidentState.RESOLVED
    assert run.only.timeline[-1].text == "resolved: it is not in the inventory any more"


def test_a_host_that_nobody_collects_any_more_is_no_incident_and_neither_are_its_dark_ports(
    hosts: Hosts, run: Run
) -> None:
    run.topology = replace(run.topology, uncollected=frozenset({"node1"}))
    hosts.step(off=["node1"])
    hosts.rest(120)
    assert run.incidents == {}


def test_the_incident_of_a_host_that_nobody_collects_any_more_ends(hosts: Hosts, run: Run) -> None:
    hosts.step(off=["node1"])
    hosts.rest(30)
    assert run.only.kind is I.DEVICE_DOWN
    run.topology = replace(run.topology, uncollected=frozenset({"node1"}))
    hosts.rest(90)
    assert run.only.state is IncidentState.RESOLVED
    assert run.only.timeline[-1].text == "resolved: none of its targets is collected any more"


def test_links_to_a_switch_that_nobody_collects_any_more_are_still_judged(hosts: Hosts, run: Run) -> None:
    run.topology = replace(run.topology, uncollected=frozenset({"leaf1"}))
    run.tick(hosts.find(K.LINK_DOWN, "node1/mlx5_0"))
    hosts.rest(60)
    assert run.only.kind is I.LINK_DOWN


def test_a_link_that_lldp_does_not_report_any_more_is_still_down(hosts: Hosts, run: Run) -> None:
    port = hosts.cluster.facing(1, 1)
    run.tick(hosts.find(K.LINK_DOWN, port), hosts.find(K.LINK_DOWN, "node1/mlx5_0"))
    hosts.rest(30)
    removed(run, [link for link in run.topology.entities(Link) if "node1/mlx5_0" in link.key])
    hosts.rest(90)
    assert {one.state for one in run.incidents.values()} == {IncidentState.FIRING}
