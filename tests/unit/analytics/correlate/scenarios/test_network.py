"""Pauses and links: which port or device is the root, and when the findings of one side are enough."""

import pytest

from analytics.correlate.correlator import Correlator
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import Severity
from telemetry.topology import Device, Job, Link, Role, Topology
from tests.unit.analytics.correlate.faults import line_card, session_lost
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, Run, S


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


def test_a_link_that_a_job_on_several_hosts_needs_is_critical_before_the_job_shows_it(
    cluster: Fabric, run: Run
) -> None:
    run.tick(cluster.find(K.LINK_DOWN, cluster.facing(1, 1)))
    run.tick(ticks=3)
    assert run.only.severity is Severity.CRITICAL
    assert run.only.title == "[CRIT] pod1: link leaf1/Ethernet0--node1/mlx5_0 down — 32 GPUs, job 1 cut off"


def test_a_link_of_a_job_on_one_host_is_a_warning_until_the_job_waits(cluster: Fabric) -> None:
    run = Run(Fabric([Job("1", ("node1",)), Job("2", ("node5",))]))
    run.tick(cluster.find(K.LINK_DOWN, cluster.facing(1, 1)))
    run.tick(ticks=3)
    assert run.only.title == "[WARN] pod1: link leaf1/Ethernet0--node1/mlx5_0 down — 8 GPUs, 1 job at risk"


def test_pauses_of_other_priorities_belong_to_another_cause(cluster: Fabric, run: Run) -> None:
    run.tick(
        cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(1, 1), priority="3"),
        cluster.find(K.PFC_PAUSE_RECEIVED, cluster.downlink(1, 1), priority="4"),
    )
    run.tick()
    (incident,) = run.incidents.values()
    assert incident.evidence[0].series.count('priority="3"') == 1
    assert run.correlator.state().head["tracks"][0]["primary"] == [f"pfc_pause_received@port:{cluster.facing(1, 1)}"]


def test_pauses_without_an_origin_become_congestion(cluster: Fabric, run: Run) -> None:
    run.tick(
        cluster.find(K.PFC_PAUSE_RECEIVED, cluster.downlink(1, 1), score=3),
        cluster.find(K.PFC_PAUSE_RECEIVED, cluster.uplink(5, 1), 1),
    )
    run.tick(ticks=30)
    assert (run.only.kind, run.only.root.name) == (I.CONGESTION, cluster.downlink(1, 1))


def test_a_central_switch_is_no_cause_of_two_links_of_its_neighbours(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.LINK_DOWN, cluster.uplink(1, 2)), cluster.find(K.LINK_DOWN, cluster.uplink(2, 2)))
    run.tick(ticks=10)
    assert [incident.kind for incident in run.incidents.values()] == [I.LINK_DOWN, I.LINK_DOWN]


def test_one_sided_link_waits_for_its_device(cluster: Fabric, run: Run) -> None:
    """A dead spine reports nothing about its ends, so the first link waits until every leaf has been read."""
    run.tick(cluster.find(K.LINK_DOWN, cluster.uplink(1, 2)))
    run.tick()
    assert run.incidents == {}
    run.tick(*(cluster.find(K.LINK_DOWN, cluster.uplink(leaf, 2), 9) for leaf in range(2, 9)))
    assert (run.only.kind, run.only.fired_ns) == (I.DEVICE_DOWN, run.now_ns)


def test_leaves_that_report_their_lost_hosts_are_alive(cluster: Fabric, run: Run) -> None:
    """All hosts go: every leaf loses most of its links, but a dead leaf could not report that."""
    down = [cluster.find(K.LINK_DOWN, cluster.facing(leaf, node)) for leaf in range(1, 9) for node in range(1, 9)]
    run.tick(*down)
    run.tick(ticks=2)
    assert run.roots == ["rack_power r1"]
    assert run.only.title.startswith("[CRIT] pod1: rack r1 and 1 more without power")
    assert run.only.blast.nodes == tuple(f"node{node}" for node in range(1, 9))


def test_racks_that_go_away_minutes_apart_have_two_causes(cluster: Fabric, run: Run) -> None:
    for node in range(1, 9):
        at = 1 if node < 5 else 240
        run.tick(*(cluster.find(K.LINK_DOWN, cluster.facing(leaf, node), at) for leaf in range(1, 9)))
    run.tick(ticks=2)
    assert run.roots == ["rack_power r1", "rack_power r2"]


def test_sessions_with_two_spines_have_two_causes(cluster: Fabric, run: Run) -> None:
    for spine in (1, 2):
        leaves = (2 * spine, 2 * spine + 1)
        run.tick(*(session_lost(cluster, f"leaf{leaf}", cluster.uplink(leaf, spine), spine) for leaf in leaves))
    run.tick(ticks=10)
    assert run.roots == ["bgp_down spine1", "bgp_down spine2"]


def test_both_ends_of_one_session_are_one_incident(cluster: Fabric, run: Run) -> None:
    run.tick(session_lost(cluster, "leaf3", cluster.uplink(3, 2), 1))
    run.tick(session_lost(cluster, "spine2", cluster.downlink(2, 3), 2))
    run.tick(ticks=10)
    assert run.roots == ["bgp_down leaf3"]
    assert "BGP session of leaf3 with spine2 down" in run.only.title


def test_cables_to_one_neighbour_say_nothing_about_either_switch() -> None:
    """Three more cables between leaf1 and spine1: what they share is the pair."""
    names = [f"Ethernet{port}" for port in (8000, 8004, 8008)]
    cluster = Fabric(more=[Link("leaf1", name, "spine1", name) for name in names])
    run = Run(cluster)
    run.tick(*(cluster.find(K.LINK_DOWN, f"{end}/{name}") for name in names for end in ("leaf1", "spine1")))
    run.tick(ticks=10)
    assert {incident.kind for incident in run.incidents.values()} == {I.LINK_DOWN}


def test_links_that_go_down_minutes_apart_have_no_part_in_common(cluster: Fabric, run: Run) -> None:
    for node in (1, 2, 3):
        run.tick(cluster.find(K.LINK_DOWN, cluster.facing(1, node), 120.0 * node))
    run.tick(ticks=10)
    assert [incident.kind for incident in run.incidents.values()] == [I.LINK_DOWN] * 3


def test_a_part_of_a_switch_is_not_the_whole_switch(cluster: Fabric, run: Run) -> None:
    for findings in line_card(cluster):
        run.tick(*findings)
    run.tick(ticks=10)
    assert "3 of 8 links of spine2 down" in run.only.title


def test_a_line_card_is_said_by_the_names_of_its_ports() -> None:
    """A chassis names a port by slot, port and lane."""
    links = [
        Link("core1", f"Ethernet{slot}/{n}/1", f"leaf{n}", f"Ethernet90{slot}") for slot in (3, 4) for n in (1, 2, 3)
    ]
    fabric = Fabric([Device("core1", Role.SPINE), *links])
    run = Run(fabric)
    run.tick(
        *(
            fabric.find(K.LINK_DOWN, port)
            for n in (1, 2, 3)
            for port in (f"core1/Ethernet3/{n}/1", f"leaf{n}/Ethernet903")
        )
    )
    run.tick(ticks=3)
    assert any("3 of 6 links of core1, all of them Ethernet3/…, went down" in text for text in run.only.because)


@pytest.mark.parametrize(("changes", "kind"), [(1.2, "link_degraded"), (2.4, "link_flapping")])
def test_a_slow_link_that_is_reseated_does_not_flap(cluster: Fabric, run: Run, changes: float, kind: str) -> None:
    port = cluster.uplink(2, 3)
    slow = cluster.find(K.LINK_SLOW, port)
    run.tick(slow)
    run.tick(ticks=20)
    flaps = cluster.find(K.LINK_FLAPPING, port, 100, score=changes)
    run.tick(flaps)
    run.clear(slow)
    run.tick(ticks=20)
    assert run.roots == [f"{kind} link:{port}--{cluster.downlink(3, 2)}".replace("link:", "")]


def test_pauses_without_topology_behind_them_open_nothing(cluster: Fabric) -> None:
    correlator = Correlator()
    paused = cluster.find(K.PFC_PAUSE_RECEIVED, cluster.downlink(1, 3), score=5)
    bare = Topology().with_facts(fact for fact in cluster.topology.facts.values() if not isinstance(fact.entity, Link))
    published = [
        incident
        for tick in range(4)
        for incident in correlator.step(paused.observed_ns + tick * 5 * 10**9, [paused], bare, ())
    ]
    assert published == []


def test_a_link_that_is_down_at_both_ends_has_nothing_to_wait_for(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.LINK_DOWN, cluster.uplink(1, 2)))
    assert run.incidents == {}
    run.tick(cluster.find(K.LINK_DOWN, cluster.downlink(2, 1), 3))
    assert (run.only.kind, run.only.fired_ns) == (I.LINK_DOWN, run.now_ns)


def test_errors_that_came_sample_after_sample_have_waited_enough(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.LINK_ERRORS, cluster.uplink(2, 3)))
    assert (run.only.kind, run.only.fired_ns) == (I.LINK_DEGRADED, run.now_ns)


@pytest.mark.parametrize(("other", "at_s", "fires"), [((1, 3), 2, False), ((1, 3), 31, True), ((4, 3), 2, True)])
def test_a_link_waits_where_another_one_of_its_ends_fails_with_it(
    other: tuple[int, int], at_s: int, fires: bool, cluster: Fabric, run: Run
) -> None:
    both = [cluster.find(K.LINK_DOWN, port) for port in (cluster.uplink(1, 2), cluster.downlink(2, 1))]
    run.tick(*both, cluster.find(K.LINK_DOWN, cluster.uplink(*other), at_s))
    assert ("link_down leaf1/Ethernet4004--spine2/Ethernet0" in run.roots) is fires
    run.tick()
    assert "link_down leaf1/Ethernet4004--spine2/Ethernet0" in run.roots


def test_a_part_of_a_switch_is_sure_once_two_neighbours_say_so(cluster: Fabric, run: Run) -> None:
    """They and the switch answer, so none of them died. Its other links need no second witness."""
    own = [cluster.find(K.LINK_DOWN, cluster.downlink(2, leaf)) for leaf in range(1, 4)]
    run.tick(*own, cluster.find(K.LINK_DOWN, cluster.uplink(1, 2), 2))
    run.tick()
    assert run.incidents == {}
    run.tick(cluster.find(K.LINK_DOWN, cluster.uplink(2, 2), 3))
    assert run.roots == ["device_down spine2"]


def test_a_daemon_that_two_neighbours_miss_waits_a_tick(cluster: Fabric, run: Run) -> None:
    run.tick(*(session_lost(cluster, f"leaf{leaf}", cluster.uplink(leaf, 2), leaf) for leaf in (1, 2)))
    assert run.incidents == {}
    run.tick()
    assert run.roots == ["bgp_down spine2"]


def test_a_link_did_not_fail_before_it_was_last_seen_to_be_up(cluster: Fabric, run: Run) -> None:
    """The congestion that it makes worse began earlier: it is in the incident, but is not its begin."""
    both = [cluster.find(K.LINK_DOWN, port, 25) for port in (cluster.uplink(1, 2), cluster.downlink(2, 1))]
    run.tick(*both, cluster.find(K.QUEUE_CONGESTED, cluster.uplink(1, 1), 1))
    assert (run.only.kind, len(run.only.findings)) == (I.LINK_DOWN, 3)
    assert run.only.onset_ns == T0 + 25 * S
    assert "is down" in run.only.first_symptom
