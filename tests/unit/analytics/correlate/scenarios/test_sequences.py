"""What an on-call is paged for: sequences that are easily several pages, or none, each with the incidents that it is.

Pages are counted by the decision of the alerts stage.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import zip_longest

import pytest

from telemetry.changes import Change, ChangeKind
from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentState
from telemetry.objects import device
from telemetry.topology import Device, Link, TopologyFact
from tests.unit.analytics.correlate import faults
from tests.unit.analytics.correlate.faults import Make
from tests.unit.analytics.correlate.small_fabric import Fabric, Run, S

THERMAL = (Evidence('gpu_throttle_seconds_total{reason="sw_thermal"}', 0.9, 0.0, "ratio"),)
BRAKE = (Evidence('gpu_throttle_seconds_total{reason="hw_power_brake"}', 0.9, 0.0, "ratio"),)
CLOCK = (Evidence("gpu_sm_clock_hertz{}", 1.2e9, 1.9e9, "Hz"),)


def play(run: Run, *sequences: Iterable[list[Finding]], ticks: int = 60) -> None:
    """All at once, and five minutes more."""
    for found in zip_longest(*sequences, fillvalue=list[Finding]()):
        run.tick(*(each for of_one in found for each in of_one))
    run.tick(ticks=ticks)


def fan_wall(p: Fabric) -> list[list[Finding]]:
    """The GPUs of node1 throttle one after the other, as their own load lets them."""
    return [
        [replace(p.find(K.GPU_THROTTLED, p.gpu(1, n), 5 * at), evidence=THERMAL) for n in (2 * at, 2 * at + 1)]
        for at in range(4)
    ]


def pdu_phase(p: Fabric) -> list[list[Finding]]:
    """Every third host of a rack of four."""
    dark = [p.find(K.LINK_DOWN, p.facing(leaf, node), 1) for leaf in range(1, 9) for node in (1, 4)]
    return [dark, [p.find(K.TARGET_SILENT, f"node{node}", 2) for node in (1, 4)]]


def driver(p: Fabric) -> list[list[Finding]]:
    """GPUs of three hosts of a rack fall off the bus within ten seconds."""
    return [[p.find(K.GPU_LOST, p.gpu(node, index), 3 * node) for node in (1, 2, 4) for index in (0, 5)]]


def power_brake(p: Fabric) -> list[list[Finding]]:
    """A third of a rack's power supplies is gone: the boards of all of its hosts halve their clocks."""
    return [
        [
            replace(p.find(K.GPU_THROTTLED, p.gpu(node, n), node), evidence=BRAKE)
            for node in range(1, 5)
            for n in range(8)
        ]
    ]


def damaged_card(p: Fabric) -> list[list[Finding]]:
    """Three links of spine2 begin to count errors in one collection."""
    return [[p.find(K.LINK_ERRORS, p.uplink(leaf, 2), leaf) for leaf in (1, 2, 5)]]


ONE_PAGE: list[tuple[Make, str]] = [
    (faults.routing_daemon, "bgp_down spine2"),
    (faults.line_card, "device_down spine2"),
    (pdu_phase, "device_down node1"),
    (fan_wall, "environment node1"),
    (power_brake, "environment r1"),
    (damaged_card, "link_degraded spine2"),
    (driver, "gpu_fault node1/GPU-0001-0"),
]


@pytest.mark.parametrize(("make", "page"), ONE_PAGE, ids=lambda value: getattr(value, "__name__", ""))
def test_one_fault_of_many_parts_is_one_page(make: Make, page: str, cluster: Fabric, run: Run) -> None:
    play(run, make(cluster))
    assert (run.roots, run.pages) == ([page], [page])


@pytest.mark.parametrize("seconds", [0, 40, 300])
def test_what_is_left_of_a_group_is_no_page_of_its_own(seconds: float, cluster: Fabric, run: Run) -> None:
    """Its parts are repaired one after the other, the named one first or last."""
    found = driver(cluster)[0]
    play(run, [found], ticks=10)
    for host in ("node2", "node4", "node1") if seconds else ("node1", "node2", "node4"):
        run.clear(*(each for each in found if each.object.device == host))
        run.tick(ticks=int(seconds) // 5 + 1)
    assert run.pages == ["gpu_fault node1/GPU-0001-0"]


TWO_PAGES: list[tuple[Make, Make, list[str]]] = [
    (faults.line_card, driver, ["device_down spine2", "gpu_fault node1/GPU-0001-0"]),
    (faults.routing_daemon, pdu_phase, ["bgp_down spine2", "device_down node1"]),
    (fan_wall, faults.host_down, ["device_down node3", "environment node1"]),
    (damaged_card, faults.gpu_lost, ["gpu_fault node1/GPU-0001-5", "link_degraded spine2"]),
]


@pytest.mark.parametrize(("one", "other", "pages"), TWO_PAGES, ids=lambda value: getattr(value, "__name__", ""))
def test_two_faults_at_once_are_two_pages_each_with_its_own_symptoms(
    one: Make, other: Make, pages: list[str], cluster: Fabric, run: Run
) -> None:
    play(run, one(cluster), other(cluster))
    assert (run.roots, sorted(run.pages)) == (pages, pages)
    of = [{finding.id for found in make(cluster) for finding in found} for make in (one, other)]
    assert sorted(map(sorted, of)) == sorted(sorted(each.findings) for each in run.incidents.values())


def test_a_slow_target_lowers_no_clock_and_pages_nobody(cluster: Fabric, run: Run) -> None:
    slow = cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000", score=5)
    lost = replace(cluster.find(K.STRAGGLER, cluster.gpu(1, 1), 10), evidence=CLOCK)
    play(run, [[slow], [lost]])
    assert run.roots == ["slow_storage scratch/OST0000", "straggler node1/GPU-0001-1"]
    assert run.pages == ["straggler node1/GPU-0001-1"]


def test_a_job_that_hangs_by_itself_is_one_page(cluster: Fabric, run: Run) -> None:
    shown = [Evidence(f'{name}_seconds{{job_id="1"}}', 20.0, None, "seconds") for name in ("silent", "hang")]
    waits = [replace(cluster.find(kind, "job:1"), evidence=tuple(shown)) for kind in (K.JOB_SLOWED, K.JOB_STALLED)]
    play(run, [waits[:1], waits[1:]])
    assert (run.roots, run.pages) == (["job_hang 1"], ["job_hang 1"])


def test_faults_that_are_older_than_the_first_sample_are_an_inventory(cluster: Fabric, run: Run) -> None:
    old = [
        cluster.find(K.LINK_DOWN, cluster.uplink(1, 1)),
        cluster.find(K.LINK_ERRORS, cluster.uplink(2, 3)),
        cluster.find(K.GPU_ROW_REMAP, cluster.gpu(3, 2)),
        cluster.find(K.PART_FAILED, "node5"),
    ]
    play(run, [[replace(each, since_first_seen=True) for each in old]])
    assert (len(run.incidents), run.pages) == (4, [])
    assert all(each.since_first_seen for each in run.incidents.values())
    run.tick(cluster.find(K.JOB_STALLED, "job:1", 320), ticks=3)
    assert len(run.pages) <= 1, "somebody waits now"


def test_a_host_that_dies_inside_a_maintenance_is_one_page_once_that_is_over(cluster: Fabric, run: Run) -> None:
    ends_ns = run.now_ns + 900 * S
    run.changes = [Change("c1", ChangeKind.MAINTENANCE, (device("node3"),), run.now_ns, ends_ns, summary="new NIC")]
    play(run, faults.host_down(cluster), ticks=150)
    assert (run.roots, run.pages) == (["device_rebooted node3"], [])
    run.tick(ticks=60)
    assert run.pages == ["device_down node3"]


def test_a_host_that_dies_beside_a_maintenance_is_one_page_at_once(cluster: Fabric, run: Run) -> None:
    run.changes = [Change("c1", ChangeKind.MAINTENANCE, (device("node2"),), run.now_ns, run.now_ns + 900 * S)]
    play(run, faults.host_down(cluster), ticks=3)
    assert run.pages == ["device_down node3"]


def test_a_device_that_is_decommissioned_ends_its_page(cluster: Fabric, run: Run) -> None:
    play(run, faults.host_down(cluster), ticks=10)
    gone: list[Device | Link] = [
        *(each for each in run.topology.entities(Device) if each.name == "node3"),
        *(each for each in run.topology.entities(Link) if "node3" in (each.a_device, each.b_device)),
    ]
    run.topology = run.topology.with_facts(TopologyFact(each, run.now_ns, "inventory", gone=True) for each in gone)
    run.tick(ticks=60)
    assert (run.only.state, run.pages) == (IncidentState.RESOLVED, ["device_down node3"])


def test_a_link_that_comes_and_goes_for_an_hour_is_one_incident_with_a_count(cluster: Fabric, run: Run) -> None:
    for at in range(0, 3600, 400):
        ends = ("node1/mlx5_0", cluster.facing(1, 1))
        down = [replace(cluster.find(K.LINK_DOWN, end, at), id=f"{end}@{at}") for end in ends]
        run.tick(*down, ticks=20)
        run.clear(*down)
        run.tick(ticks=59)
    assert (run.only.occurrences, run.roots) == (9, ["link_down leaf1/Ethernet0--node1/mlx5_0"])
    assert len(run.pages) <= 9
