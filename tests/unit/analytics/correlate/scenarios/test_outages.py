"""Devices that go down, return, or are maintained; telemetry that is lost; silence, which alone is no death."""

from typing import Any

import pytest

from telemetry.changes import Change, ChangeKind
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import IncidentState, Severity
from telemetry.objects import device
from tests.unit.analytics.correlate.faults import rack_power, slow_receiver
from tests.unit.analytics.correlate.small_fabric import Fabric, Run, S

HOSTS_OF_R1 = ("node1", "node2", "node3", "node4")


def test_silence_of_most_devices_is_one_incident(cluster: Fabric, run: Run) -> None:
    names = [*(f"leaf{n}" for n in range(1, 9)), *(f"spine{n}" for n in range(1, 5)), "node1", "node5"]
    run.tick(*(cluster.find(K.TARGET_SILENT, name) for name in names))
    run.tick(ticks=10)
    assert run.only.kind is I.TELEMETRY_LOST
    assert run.only.gaps == ("2 of 8 hosts silent", "12 of 12 switches silent")


def test_lost_telemetry_puts_nothing_at_risk(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.TARGET_FROZEN, "node5"))
    run.tick(ticks=3)
    assert (run.only.blast.nodes, run.only.blast.gpus, run.only.blast.jobs) == (("node5",), (), ())


@pytest.mark.parametrize(("away_s", "root"), [(30, "device_rebooted spine2"), (90, "device_down spine2")])
def test_device_that_returns_belongs_to_the_incident_of_its_death(
    cluster: Fabric, run: Run, away_s: int, root: str
) -> None:
    down = [cluster.find(K.LINK_DOWN, cluster.uplink(leaf, 2)) for leaf in range(1, 9)]
    run.tick(*down)
    run.tick(ticks=away_s // 5)
    run.clear(*down)
    back = cluster.find(K.DEVICE_REBOOTED, "spine2", away_s)
    run.tick(back, cluster.find(K.LINK_FLAPPING, cluster.uplink(3, 2), away_s))
    run.tick(ticks=30)
    assert run.roots == [root]
    run.clear(back)
    assert run.roots == [root]


def test_device_that_only_rebooted_is_said_to_have_once_its_last_links_are_read(cluster: Fabric, run: Run) -> None:
    down = [cluster.find(K.LINK_DOWN, cluster.uplink(leaf, 2)) for leaf in range(1, 9)]
    silent = cluster.find(K.TARGET_SILENT, "spine2")
    run.tick(*down, silent)
    run.tick(ticks=4)
    run.clear(*down[:5])
    run.tick(cluster.find(K.DEVICE_REBOOTED, "spine2", 28))
    assert run.roots == ["device_down spine2"]
    run.clear(*down[5:], silent)
    run.tick(ticks=4)
    assert run.roots == ["device_rebooted spine2"]


def test_rack_that_returns_device_by_device_is_still_one_incident(cluster: Fabric, run: Run) -> None:
    ticks = rack_power(cluster)
    for findings in ticks:
        run.tick(*findings)
    run.tick(ticks=3)
    run.clear(*(finding for findings in ticks for finding in findings))
    for node in range(1, 5):
        run.tick(cluster.find(K.DEVICE_REBOOTED, f"node{node}", 40 + 5 * node))
    run.tick(ticks=30)
    assert run.roots == ["rack_power r1"]


def test_rack_that_goes_dark_a_second_time_is_one_incident_again(cluster: Fabric, run: Run) -> None:
    for _ in range(2):
        ticks = rack_power(cluster)
        for findings in ticks:
            run.tick(*findings)
        run.tick(ticks=3)
        run.clear(*(finding for findings in ticks for finding in findings))
        run.tick(ticks=30)
    assert run.roots == ["rack_power r1"]


def test_reboot_that_repairs_a_gpu_belongs_to_its_fault(cluster: Fabric, run: Run) -> None:
    lost = cluster.find(K.GPU_LOST, cluster.gpu(1, 5))
    run.tick(lost)
    run.tick(ticks=3)
    run.tick(cluster.find(K.DEVICE_REBOOTED, "node1", 20))
    run.clear(lost)
    run.tick(ticks=20)
    assert run.roots == ["gpu_fault node1/GPU-0001-5"]


def test_planned_rolling_reboot_is_one_incident_that_pages_nobody(cluster: Fabric, run: Run) -> None:
    nodes = tuple(device(f"node{n}") for n in range(1, 4))
    run.changes = [Change("c1", ChangeKind.REBOOT, nodes, run.now_ns, summary="kernel update")]
    for n in range(1, 4):
        run.tick(
            *(cluster.find(K.LINK_DOWN, cluster.facing(leaf, n), 60 * n) for leaf in range(1, 9)),
            cluster.find(K.TARGET_SILENT, f"node{n}", 60 * n),
            cluster.find(K.DEVICE_REBOOTED, f"node{n}", 60 * n + 30),
        )
    run.tick(ticks=3)
    assert (run.only.kind, run.only.severity) == (I.DEVICE_REBOOTED, Severity.INFO)
    assert any(entry.text == "change: reboot kernel update" for entry in run.only.timeline)
    assert set(run.only.blast.nodes) >= {"node1", "node2", "node3"}


def test_maintenance_lowers_the_severity_and_a_config_push_does_not(cluster: Fabric, start: type[Run]) -> None:
    cases: list[Any] = [(ChangeKind.MAINTENANCE, Severity.INFO), (ChangeKind.CONFIG, Severity.CRITICAL)]
    for kind, severity in cases:
        case = start(cluster)
        case.changes = [Change("c1", kind, (device("leaf3"),), case.now_ns - 10**9, summary="work on leaf3")]
        for findings in slow_receiver(cluster):
            case.tick(*findings)
        case.tick(ticks=2)
        assert case.only.severity is severity
        assert any("work on leaf3" in entry.text for entry in case.only.timeline)


def test_a_rack_whose_hosts_are_silent_but_linked_has_power(cluster: Fabric, run: Run) -> None:
    run.tick(*(cluster.find(K.TARGET_SILENT, node) for node in HOSTS_OF_R1), ticks=20)
    assert I.RACK_POWER not in {incident.kind for incident in run.incidents.values()}


@pytest.mark.parametrize("dead", [HOSTS_OF_R1, HOSTS_OF_R1[:3]])
def test_a_rack_whose_hosts_are_silent_and_unlinked_has_none(dead: tuple[str, ...], cluster: Fabric, run: Run) -> None:
    silent = [cluster.find(K.TARGET_SILENT, node) for node in dead]
    lost = [cluster.find(K.LINK_DOWN, cluster.facing(leaf, int(node[4:]))) for node in dead for leaf in range(1, 9)]
    run.tick(*silent, *lost, ticks=20)
    assert run.roots == ["rack_power r1"]


def test_a_rack_that_others_saw_die_is_paged_at_once_and_grows_with_the_next_rack(cluster: Fabric, run: Run) -> None:
    for first in (1, 5):
        nodes = range(first, first + 4)
        lost = [cluster.find(K.LINK_DOWN, cluster.facing(leaf, node)) for node in nodes for leaf in range(1, 9)]
        run.tick(*(cluster.find(K.TARGET_SILENT, f"node{node}", 5) for node in nodes), *lost)
        assert run.pages == ["rack_power r1"]
    run.tick(ticks=20)
    assert (run.roots, run.pages) == (["rack_power r1"], ["rack_power r1"])
    assert "r1 and 1 more" in run.only.title


def test_a_host_that_is_not_back_when_its_maintenance_ends_is_paged(cluster: Fabric, run: Run) -> None:
    nodes = tuple(device(f"node{n}") for n in range(1, 4))
    ends_ns = run.now_ns + 900 * S
    run.changes = [Change("c1", ChangeKind.MAINTENANCE, nodes, run.now_ns, ends_ns, summary="kernel update")]
    gone = {
        n: [
            *(cluster.find(K.LINK_DOWN, cluster.facing(leaf, n)) for leaf in range(1, 9)),
            cluster.find(K.TARGET_SILENT, f"node{n}"),
        ]
        for n in range(1, 4)
    }
    run.tick(*(finding for findings in gone.values() for finding in findings))
    run.clear(*gone[1], *gone[2])
    run.tick(ticks=100)
    assert (run.only.kind, run.only.severity) == (I.DEVICE_REBOOTED, Severity.INFO)
    while run.now_ns <= ends_ns + 60 * S:
        run.tick()
    worst = max(run.incidents.values(), key=lambda incident: incident.severity.rank)
    assert (worst.kind, worst.root.name, worst.severity) == (I.DEVICE_DOWN, "node3", Severity.CRITICAL)
    assert len([one for one in run.incidents.values() if one.severity is not Severity.INFO]) == 1


def test_hosts_that_boot_more_slowly_than_their_rack_are_part_of_its_incident(cluster: Fabric, run: Run) -> None:
    """Two of the four: by chance they would not be down at once."""
    ticks = rack_power(cluster)
    for findings in ticks:
        run.tick(*findings)
    run.tick(ticks=3)
    back = {"node1", "node2"} | {cluster.facing(leaf, node) for leaf in range(1, 9) for node in (1, 2)}
    found = [one for findings in ticks for one in findings]
    run.clear(*(one for one in found if one.object.name in back))
    run.tick(ticks=30)
    assert (run.roots, run.only.state) == (["rack_power r1"], IncidentState.FIRING)
    run.clear(*(one for one in found if one.object.name not in back))
    run.tick(ticks=30)
    assert (run.roots, run.only.state) == (["rack_power r1"], IncidentState.RESOLVED)
