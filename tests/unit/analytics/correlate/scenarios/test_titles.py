"""Titles say how it is now: what is dark since when, and what is back since when."""

from dataclasses import replace

import pytest

from telemetry.changes import Change, ChangeKind
from telemetry.findings import Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import Incident
from telemetry.incidents import IncidentKind as I
from telemetry.objects import device
from telemetry.topology import UNKNOWN_INDEX, Gpu, TopologyFact
from tests.unit.analytics.correlate.faults import rack_power
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, Run, S

SPINE = "spine2"


def says(incident: Incident) -> str:
    """The title without severity, pod and cost."""
    return incident.title.partition("] pod1: ")[2].partition(" — ")[0]


def dead(cluster: Fabric, at_s: float = 0.0) -> list[Finding]:
    links = [cluster.find(K.LINK_DOWN, cluster.uplink(leaf, 2), at_s) for leaf in range(1, 9)]
    return [*links, cluster.find(K.TARGET_SILENT, SPINE, at_s)]


def test_a_device_is_down_until_it_is_back(cluster: Fabric, run: Run) -> None:
    down = dead(cluster)
    run.tick(*down)
    run.tick(ticks=18)
    assert (run.only.kind, says(run.only)) == (I.DEVICE_DOWN, "spine2 down since 08:00:00")
    run.clear(*down)
    assert says(run.only) == "outage of spine2, back since 08:01:40"
    run.tick(ticks=30)
    assert (run.only.state, says(run.only)) == ("resolved", "outage of spine2, back since 08:01:40")


def test_a_device_that_rebooted_says_since_when_it_is_back(cluster: Fabric, run: Run) -> None:
    down = dead(cluster)
    run.tick(*down)
    run.tick(ticks=4)
    run.clear(*down)
    run.tick(cluster.find(K.DEVICE_REBOOTED, SPINE, 28))
    assert (run.only.kind, says(run.only)) == (I.DEVICE_REBOOTED, "spine2 rebooted, back since 08:00:30")


def test_a_device_that_goes_dark_again_after_its_reboot_is_down_and_pages(cluster: Fabric, run: Run) -> None:
    reboot = cluster.find(K.DEVICE_REBOOTED, SPINE)
    run.tick(reboot)
    run.tick(ticks=4)
    assert says(run.only) == "spine2 rebooted, back since 08:00:05"
    run.tick(ticks=6)
    run.tick(*dead(cluster, 60))
    run.tick(ticks=14)
    dark = [says(incident) for incident in run.incidents.values() if incident.state == "firing"]
    assert dark == ["spine2 down since 08:01:00"]
    assert run.pages == ["device_down spine2"]


@pytest.mark.parametrize("kind", [ChangeKind.REBOOT, ChangeKind.MAINTENANCE])
def test_planned_work_says_whether_the_device_is_dark(cluster: Fabric, run: Run, kind: ChangeKind) -> None:
    run.changes = [Change("c1", kind, (device(SPINE),), T0, T0 + 600 * S, "noc", "new image")]
    down = dead(cluster)
    run.tick(*down)
    run.tick(ticks=14)
    assert (run.only.kind, says(run.only)) == (
        I.DEVICE_REBOOTED,
        "planned: spine2 dark since 08:00:00",
    )
    run.clear(*down)
    run.tick(cluster.find(K.DEVICE_REBOOTED, SPINE, 75))
    assert says(run.only) == "planned: spine2 back since 08:01:20"
    assert run.pages == []


def test_planned_work_on_several_devices_counts_those_that_are_back(cluster: Fabric, run: Run) -> None:
    both = (device("spine1"), device("spine2"))
    run.changes = [Change("c1", ChangeKind.REBOOT, both, T0, T0 + 600 * S, "noc", "new image")]
    first = [cluster.find(K.LINK_DOWN, cluster.uplink(leaf, 1)) for leaf in range(1, 9)]
    run.tick(*first, cluster.find(K.TARGET_SILENT, "spine1"))
    run.tick(*dead(cluster, 5))
    assert says(run.only) == "planned: spine1 and 1 more dark since 08:00:00"
    run.clear(*first, cluster.find(K.TARGET_SILENT, "spine1"))
    assert says(run.only) == "planned: spine1 and 1 more dark since 08:00:05, 1 of 2 back"


def test_a_rack_has_no_power_until_all_of_it_is_back(cluster: Fabric, run: Run) -> None:
    ticks = rack_power(cluster)
    for findings in ticks:
        run.tick(*findings)
    run.tick(ticks=3)
    assert says(run.only).startswith("rack r1 without power since 08:00:")
    run.clear(*(finding for findings in ticks for finding in findings))
    assert says(run.only).startswith("power outage of rack r1, back since 08:00:")


def test_a_link_is_down_until_its_carrier_is_back(cluster: Fabric, run: Run) -> None:
    down = cluster.find(K.LINK_DOWN, cluster.uplink(3, 2))
    run.tick(down)
    run.tick(ticks=3)
    name = run.only.root.name
    assert says(run.only) == f"link {name} down"
    run.clear(down)
    assert says(run.only) == f"outage of link {name}, up since 08:00:25"
    run.tick(down)
    assert says(run.only) == f"link {name} down"


def test_a_fault_that_was_there_first_says_so_and_not_since_when(cluster: Fabric, run: Run) -> None:
    known = [replace(finding, since_first_seen=True) for finding in dead(cluster)]
    run.tick(*known)
    run.tick(ticks=4)
    assert says(run.only) == "spine2 down since before it was first seen"


@pytest.mark.parametrize(
    ("known", "name"),
    [
        (Gpu("node1", "GPU-0001-3", 3, serial="1650321004242"), "node1 GPU 3 (serial 1650321004242)"),
        (Gpu("node1", "GPU-0001-3", 3), "node1 GPU 3 (GPU-0001-3)"),
        (Gpu("node1", "GPU-0001-3", UNKNOWN_INDEX, serial="1650321004242"), "node1 GPU (serial 1650321004242)"),
        (Gpu("node1", "GPU-0001-3", UNKNOWN_INDEX), "node1/GPU-0001-3"),
    ],
)
def test_a_gpu_is_named_as_the_one_who_looks_for_it_needs_it(cluster: Fabric, run: Run, known: Gpu, name: str) -> None:
    run.topology = run.topology.with_facts([TopologyFact(known, T0, "inventory")])
    run.tick(cluster.find(K.GPU_LOST, "gpu:node1/GPU-0001-3"))
    run.tick(ticks=3)
    assert says(run.only) == f"GPU fault on {name}"
    assert name in run.only.first_symptom
    assert name in run.only.runbook
    assert run.only.where == name
