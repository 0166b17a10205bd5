"""Pauses and links: which port or device is the root, and when what one side says is enough."""

import pytest

from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from tests.unit.analytics.correlate.small_fabric import Fabric, Run


def test_two_slow_receivers_under_one_spine_keep_their_own_ports(cluster: Fabric, run: Run) -> None:
    run.tick(
        cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(1, 1)),
        cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(2, 6)),
        cluster.find(K.PFC_PAUSE_RECEIVED, cluster.downlink(1, 1), 1),
        cluster.find(K.PFC_PAUSE_RECEIVED, cluster.downlink(1, 2), 1),
        cluster.find(K.PFC_PAUSE_RECEIVED, cluster.uplink(1, 1), 2),
        cluster.find(K.PFC_PAUSE_RECEIVED, cluster.uplink(2, 1), 2),
    )
    run.tick(ticks=30)
    assert run.roots == ["slow_receiver leaf1/Ethernet0", "slow_receiver leaf2/Ethernet20"]


def test_pauses_of_other_priorities_are_another_story(cluster: Fabric, run: Run) -> None:
    run.tick(
        cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(1, 1), priority="3"),
        cluster.find(K.PFC_PAUSE_RECEIVED, cluster.downlink(1, 1), priority="4"),
    )
    incident = run.tick()[0]
    assert incident.evidence[0].series.count('priority="3"') == 1
    assert run.correlator.state().head["tracks"][0]["primary"] == [f"pfc_pause_received@port:{cluster.facing(1, 1)}"]


def test_pauses_without_an_origin_become_congestion(cluster: Fabric, run: Run) -> None:
    run.tick(
        cluster.find(K.PFC_PAUSE_RECEIVED, cluster.downlink(1, 1), score=3),
        cluster.find(K.PFC_PAUSE_RECEIVED, cluster.uplink(5, 1), 1),
    )
    run.tick(ticks=30)
    assert (run.only.kind, run.only.root.name) == (I.CONGESTION, cluster.downlink(1, 1))


def test_busy_core_is_not_blamed_for_links_of_its_neighbours(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.LINK_DOWN, cluster.uplink(1, 2)), cluster.find(K.LINK_DOWN, cluster.uplink(2, 2)))
    run.tick(ticks=10)
    assert [incident.kind for incident in run.incidents.values()] == [I.LINK_DOWN, I.LINK_DOWN]


def test_one_sided_link_waits_for_its_device(cluster: Fabric, run: Run) -> None:
    """A dead spine cannot speak for its ends, so the first link waits until every leaf has been read."""
    run.tick(cluster.find(K.LINK_DOWN, cluster.uplink(1, 2)))
    run.tick()
    assert run.incidents == {}
    run.tick(*(cluster.find(K.LINK_DOWN, cluster.uplink(leaf, 2), 9) for leaf in range(2, 9)))
    assert (run.only.kind, run.only.fired_ns) == (I.DEVICE_DOWN, run.now_ns)


def test_leaves_that_report_their_lost_hosts_are_alive(cluster: Fabric, run: Run) -> None:
    """All hosts go: every leaf loses most of its links, but a dead leaf could not say so."""
    down = [cluster.find(K.LINK_DOWN, cluster.facing(leaf, node)) for leaf in range(1, 9) for node in range(1, 9)]
    run.tick(*down)
    run.tick(ticks=2)
    assert run.roots == ["rack_power r1", "rack_power r2"]


@pytest.mark.parametrize(("changes", "told"), [(1.2, "link_degraded"), (2.4, "link_flapping")])
def test_a_slow_link_that_is_reseated_does_not_flap(cluster: Fabric, run: Run, changes: float, told: str) -> None:
    port = cluster.uplink(2, 3)
    slow = cluster.find(K.LINK_SLOW, port)
    run.tick(slow)
    run.tick(ticks=20)
    flaps = cluster.find(K.LINK_FLAPPING, port, 100, score=changes)
    run.tick(flaps)
    run.clear(slow)
    run.tick(ticks=20)
    assert run.roots == [f"{told} link:{port}--{cluster.downlink(3, 2)}".replace("link:", "")]
