"""k of n siblings that fail at once have something in common; what chance makes, or what is not alike, has not."""

from dataclasses import replace

import pytest

from analytics.correlate.causes.siblings import YEARS_MIN, Siblings, shared, years_by_chance
from analytics.correlate.cluster.cluster import Cluster
from analytics.correlate.view import CorrelationView
from telemetry.findings import Evidence
from telemetry.findings import FindingKind as K
from telemetry.topology import Device, Job, Link, Role
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, Run, S


@pytest.fixture
def view(cluster: Fabric) -> CorrelationView:
    known = Cluster()
    known.update(cluster.topology)
    return CorrelationView([], known)


def racks(of: int, number: int) -> Siblings:
    hosts = {f"h{n}": (f"r{n // of}",) for n in range(2 * of)}
    return Siblings("rack", hosts, dict.fromkeys(("r0", "r1"), of), number)


@pytest.mark.parametrize(("number", "found"), [(100, True), (1000, False)])
def test_what_is_no_chance_in_a_small_cluster_is_one_in_a_large(
    number: int, found: bool, view: CorrelationView
) -> None:
    assert (years_by_chance(2, 16, 10.0) / number >= YEARS_MIN) is found
    onsets = {"h1": T0, "h2": T0 + 10 * S}
    assert [each.parent for each in shared(view, onsets, [racks(16, number)], 2)] == (["rack r0"] if found else [])


def test_each_part_has_one_parent_and_chance_is_told(view: CorrelationView) -> None:
    onsets = {name: T0 + at * S for at, name in enumerate(("h0", "h1", "h3", "h16", "h18"))}
    found = list(shared(view, onsets, [racks(16, 2)], 2))
    assert [(each.parent, each.failed) for each in found] == [
        ("rack r0", ("h0", "h1", "h3")),
        ("rack r1", ("h16", "h18")),
    ]
    assert (found[0].chance, found[1].chance) == (
        "by chance once in over a million years",
        "by chance once in 3,433 years",
    )


def test_parts_that_fail_minutes_apart_share_nothing(view: CorrelationView) -> None:
    onsets = {name: T0 + 120 * at * S for at, name in enumerate(("h0", "h1", "h3"))}
    assert not list(shared(view, onsets, [racks(16, 2)], 2))


def test_two_gpus_of_two_hosts_are_two_faults(cluster: Fabric, run: Run) -> None:
    run.tick(*(cluster.find(K.GPU_LOST, cluster.gpu(node, 1), node) for node in (1, 2)), ticks=6)
    assert len(run.pages) == 2


def test_gpus_that_show_different_things_are_different_faults(cluster: Fabric, run: Run) -> None:
    kinds = (K.GPU_LOST, K.GPU_HUNG, K.GPU_ECC)
    run.tick(*(cluster.find(kind, cluster.gpu(node, 1)) for node, kind in enumerate(kinds, 1)), ticks=6)
    assert len(run.incidents) == 3


def test_hosts_behind_a_dead_switch_have_that_in_common(cluster: Fabric) -> None:
    """Hosts with one NIC: two answer over it alone, the others say that it is dark."""
    hosts = [Device(f"thin{n}", Role.HOST, pod="pod1", rack="r7" if n < 2 else "r8") for n in range(8)]
    links = [Link("top7", f"Ethernet{n}", f"thin{n}", "eth0") for n in range(8)]
    up = [Link(f"spine{n}", "Ethernet800", "top7", f"Ethernet8{n}") for n in range(1, 4)]
    work = Job("7", tuple(host.name for host in hosts))
    run = Run(Fabric([Device("top7", Role.LEAF, pod="pod1"), *hosts, *links, *up, work]))
    quiet = [cluster.find(K.TARGET_SILENT, name) for name in ("top7", *(f"thin{n}" for n in range(2)))]
    dark = [cluster.find(K.LINK_DOWN, f"spine{n}/Ethernet800") for n in range(1, 4)]
    run.tick(*quiet, *dark, *(cluster.find(K.LINK_DOWN, f"thin{n}/eth0") for n in range(2, 8)), ticks=8)
    assert run.pages == ["device_down top7"]


def test_a_dead_host_ended_no_session_between_its_leaves_and_a_spine(cluster: Fabric, run: Run) -> None:
    series = f'fabric_bgp_session_up{{device="leaf1",peer="{cluster.uplink(1, 2).partition("/")[2]}"}}'
    lost = replace(cluster.find(K.BGP_SESSION, "leaf1", 1), evidence=(Evidence(series, 0.0, 1.0, "state"),))
    run.tick(cluster.find(K.TARGET_SILENT, "node3"), lost)
    run.tick(*(cluster.find(K.LINK_DOWN, cluster.facing(leaf, 3)) for leaf in range(1, 9)), ticks=8)
    assert run.roots == ["bgp_down leaf1", "device_down node3"]
