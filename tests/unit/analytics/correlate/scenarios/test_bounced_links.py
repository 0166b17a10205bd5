"""A link that was down between two readings is a line on the board, and a page once a job has waited for it."""

from dataclasses import replace

import pytest

from telemetry.findings import Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import IncidentState, Severity
from telemetry.objects import link, port
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, Run, S

LINK = link(port("leaf1", "Ethernet0"), port("node1", "mlx5_0"))


def bounced(cluster: Fabric, node: int = 1, leaf: int = 1, at: float = 0.0) -> list[Finding]:
    """Both ends of the link of a host."""
    ends = (cluster.facing(leaf, node), f"node{node}/mlx5_{leaf - 1}")
    found = [cluster.find(K.LINK_BOUNCED, end, at, score=1.0) for end in ends]
    return [replace(one, id=f"{one.id}/{at}", cadence_s=10.0) for one in found]


def test_it_is_info_while_no_job_waits_and_one_of_both_ends(cluster: Fabric, run: Run) -> None:
    first, second = bounced(cluster)
    run.tick(first)
    run.tick(second, ticks=10)
    assert (run.only.kind, run.only.root, run.only.severity) == (I.LINK_DOWN, LINK, Severity.INFO)
    assert run.only.title == f"[INFO] pod1: link {LINK.name} was down for less than 10 s — no job waits, 1 in reach"
    assert run.pages == []


@pytest.mark.parametrize(("began_s", "waits"), [(-8, True), (12, True), (-45, False), (80, False)])
def test_it_is_a_page_once_a_job_has_waited_at_that_time(
    cluster: Fabric, run: Run, began_s: float, waits: bool
) -> None:
    run.tick(*bounced(cluster), ticks=2)
    run.tick(cluster.find(K.JOB_SLOWED, "job:1", began_s, score=0.6), ticks=4)
    (known,) = [incident for incident in run.incidents.values() if incident.kind is I.LINK_DOWN]
    assert (run.pages == [f"link_down {LINK.name}"]) is waits
    assert (known.severity is Severity.INFO) is not waits
    assert ("was down for less than 10 s — 32 GPUs, job 1" in known.title) is waits


def test_a_job_that_sends_nothing_over_it_does_not_wait_for_it(cluster: Fabric, run: Run) -> None:
    run.tick(*bounced(cluster), ticks=2)
    run.tick(cluster.find(K.JOB_SLOWED, "job:2", 5), ticks=4)
    assert run.only.severity is Severity.INFO


def test_jobs_behind_a_leaf_may_wait_for_its_uplink(cluster: Fabric, run: Run) -> None:
    run.tick(*(cluster.find(K.LINK_BOUNCED, end, score=1.0) for end in (cluster.uplink(1, 2), cluster.downlink(2, 1))))
    run.tick(ticks=4)
    assert run.only.title.endswith("was down between two readings — no job waits")
    run.tick(cluster.find(K.JOB_SLOWED, "job:2", 5))
    assert (run.only.severity, run.only.title.endswith("— 32 GPUs, job 2 stalled")) == (Severity.CRITICAL, True)


def test_what_was_seen_down_at_one_end_stays_that_when_it_is_over(cluster: Fabric, run: Run) -> None:
    """The other end was read when it was up again."""
    down = cluster.find(K.LINK_DOWN, cluster.facing(1, 1))
    run.tick(down)
    run.tick(bounced(cluster, at=4)[1], ticks=2)
    run.clear(down)
    run.tick(ticks=3)
    assert (run.only.kind, run.only.root, run.only.severity) == (I.LINK_DOWN, LINK, Severity.CRITICAL)
    assert run.only.title == f"[CRIT] pod1: link {LINK.name} down — 32 GPUs, job 1 cut off"


def test_one_that_goes_on_is_flapping(cluster: Fabric, run: Run) -> None:
    run.tick(*bounced(cluster), ticks=4)
    run.tick(cluster.find(K.LINK_FLAPPING, cluster.facing(1, 1), 20, score=1.4), ticks=2)
    assert (run.only.kind, run.only.severity, run.pages) == (
        I.LINK_FLAPPING,
        Severity.WARNING,
        [f"link_flapping {LINK.name}"],
    )


def test_a_link_that_trains_again_at_a_low_speed_is_degraded(cluster: Fabric, run: Run) -> None:
    slow = cluster.find(K.LINK_SLOW, cluster.facing(1, 1))
    run.tick(slow, *bounced(cluster), ticks=20)
    assert run.roots == [f"link_degraded {LINK.name}"]
    run.tick(*bounced(cluster, at=100))
    run.clear(slow)
    run.tick(ticks=4)
    assert run.roots == [f"link_degraded {LINK.name}"]


def test_several_links_that_do_so_at_once_are_one_incident_of_their_switch(cluster: Fabric, run: Run) -> None:
    links = [
        finding
        for node in range(1, 5)
        for finding in (*bounced(cluster, node), cluster.find(K.LINK_SLOW, cluster.facing(1, node)))
    ]
    run.tick(*links, ticks=4)
    assert run.roots == ["link_degraded leaf1"]


def test_a_reboot_takes_its_links_along(cluster: Fabric, run: Run) -> None:
    links = [finding for leaf in range(1, 9) for finding in bounced(cluster, leaf=leaf)]
    run.tick(cluster.find(K.DEVICE_REBOOTED, "node1", 2), *links, ticks=20)
    assert (run.roots, run.only.severity, run.pages) == (["device_rebooted node1"], Severity.INFO, [])


def test_a_reboot_that_repairs_a_gpu_takes_its_links_along(cluster: Fabric, run: Run) -> None:
    lost = cluster.find(K.GPU_LOST, cluster.gpu(1, 5))
    run.tick(lost, ticks=4)
    run.clear(lost)
    links = [bounced(cluster, leaf=leaf, at=20)[0] for leaf in range(1, 5)]
    run.tick(*links[:2])
    run.tick(cluster.find(K.DEVICE_REBOOTED, "node1", 22), *links[2:], ticks=20)
    assert run.roots == [f"gpu_fault {cluster.gpu(1, 5).name}"]


def test_a_link_of_such_a_host_that_bounces_without_a_reboot_is_its_own_incident(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.GPU_LOST, cluster.gpu(1, 5)), ticks=4)
    run.tick(*bounced(cluster, at=20), ticks=4)
    assert run.roots == [f"gpu_fault {cluster.gpu(1, 5).name}", f"link_down {LINK.name}"]


@pytest.mark.parametrize("dies", [K.LINK_DOWN, K.TARGET_SILENT])
def test_the_return_of_a_dead_device_is_part_of_its_incident(cluster: Fabric, run: Run, dies: K) -> None:
    gone = [cluster.find(K.LINK_DOWN, cluster.uplink(leaf, 2)) for leaf in range(1, 9)]
    gone += [cluster.find(dies, "spine2")] if dies is K.TARGET_SILENT else []
    run.tick(*gone, ticks=18)
    run.clear(*gone)
    back = [cluster.find(K.LINK_BOUNCED, end, 92, score=1.0) for end in (cluster.uplink(1, 2), cluster.downlink(2, 3))]
    run.tick(*back, ticks=4)
    assert run.roots == ["device_down spine2"]


def test_links_of_one_host_at_once_are_one_incident(cluster: Fabric, run: Run) -> None:
    run.tick(*(finding for leaf in range(1, 9) for finding in bounced(cluster, leaf=leaf)), ticks=4)
    assert run.roots == ["link_down node1"]
    assert "8 of 8 links of node1 were down for less than 10 s — no job waits" in run.only.title
    assert run.pages == []


def test_each_counts_as_a_flap_and_the_third_is_the_same_incident(cluster: Fabric, run: Run) -> None:
    for times in range(1, 4):
        found = bounced(cluster, at=(run.now_ns - T0) / S)
        run.tick(*found, ticks=4)
        assert (run.only.state, run.only.occurrences) == (IncidentState.FIRING, times)
        run.clear(*found)
        run.tick(ticks=40)
    assert run.only.record is not None
    assert (run.only.record.counts["flap"], run.only.record.line) == (3, "3rd flap in 24 h")
    assert run.pages == []
