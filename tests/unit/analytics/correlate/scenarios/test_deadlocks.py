"""Ports that pause each other in a circle: a deadlock where they stand still, and else none."""

from dataclasses import replace

import pytest

from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import Severity
from tests.unit.analytics.correlate.faults import cycle_of_pauses, ring
from tests.unit.analytics.correlate.small_fabric import Fabric, Run


def test_short_pauses_in_a_cycle_are_no_deadlock(cluster: Fabric, run: Run) -> None:
    for findings in cycle_of_pauses(cluster):
        run.tick(*findings)
    run.tick(ticks=30)
    assert (run.only.kind, run.only.severity) == (I.CONGESTION, Severity.INFO)


def test_one_port_that_stands_still_makes_no_deadlock_of_a_cycle(cluster: Fabric, run: Run) -> None:
    run.tick(*cycle_of_pauses(cluster)[0], cluster.find(K.PAUSE_STORM, ring(cluster)[0]))
    run.tick(ticks=30)
    assert run.only.kind is I.CONGESTION


def test_a_target_that_gets_slow_while_a_port_stands_still_waits_for_what_that_is(cluster: Fabric, run: Run) -> None:
    """The ports of a deadlock are read one after the other; little reaches the servers meanwhile."""
    first, second = (cluster.find(K.PAUSE_STORM, port, at) for at, port in enumerate(ring(cluster)[:2]))
    slow = cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000", 2, score=9)
    run.tick(*cycle_of_pauses(cluster)[0], first, slow, cluster.find(K.JOB_STALLED, "job:1", 2))
    run.tick(second, ticks=12)
    assert run.pages == [f"pause_loop {ring(cluster)[0]}"]
    assert run.only.title.endswith("32 GPUs, job 1 stalled")


@pytest.mark.parametrize(("stands", "kind"), [(False, I.PAUSE_LOOP), (True, I.SLOW_RECEIVER)])
def test_a_host_that_pauses_its_leaf_now_and_then_is_no_way_out_of_a_deadlock(
    cluster: Fabric, run: Run, stands: bool, kind: I
) -> None:
    """A port that has stood still all the time waits for no port that sends; one to a dead NIC stands still itself."""
    facing = cluster.facing(2, 3)
    storms = [cluster.find(K.PAUSE_STORM, port) for port in [*ring(cluster), *[facing] * stands]]
    run.tick(*cycle_of_pauses(cluster)[0], cluster.find(K.PFC_PAUSE_RECEIVED, facing), *storms)
    run.tick(cluster.find(K.JOB_STALLED, "job:2", 5), ticks=3)
    assert run.pages == [f"{kind} {ring(cluster)[0] if kind is I.PAUSE_LOOP else facing}"]


def test_a_deadlock_is_critical_whoever_waits(cluster: Fabric, run: Run) -> None:
    storms = [cluster.find(K.PAUSE_STORM, port) for port in ring(cluster)[:2]]
    run.tick(*cycle_of_pauses(cluster)[0], *storms)
    run.tick(ticks=2)
    assert (run.only.kind, run.only.severity) == (I.PAUSE_LOOP, Severity.CRITICAL)


def paused_at_most(cluster: Fabric, port: str, share: float) -> Finding:
    """Where frames alone are counted."""
    pause = cluster.find(K.PFC_PAUSE_RECEIVED, port)
    return replace(pause, evidence=(Evidence(pause.evidence[0].series, share, None, "ratio at most"),))


@pytest.mark.parametrize(
    ("other", "page"),
    [
        (0.6, "pause_loop leaf1/Ethernet4000"),
        (1.0, "slow_receiver leaf3/Ethernet16"),  # that one may stand still as well: it may be the way out
    ],
)
def test_ports_of_a_deadlock_that_have_nothing_to_send_hold_up_those_that_stand_still(
    cluster: Fabric, run: Run, other: float, page: str
) -> None:
    """Nothing reaches two ports of the ring, so their queues are empty and nobody can see that they stand still. They
    are paused all the time; the other port of their spine, towards a leaf that a host pauses, is not."""
    ways = [cluster.downlink(1, 3), cluster.facing(3, 5)]
    pauses = [*(paused_at_most(cluster, port, 1.0) for port in ring(cluster))]
    pauses += [paused_at_most(cluster, port, other) for port in ways]
    storms = [cluster.find(K.PAUSE_STORM, port) for port in ring(cluster)[::2]]
    slow = cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000", 2, score=9)
    run.tick(*pauses, *storms)
    run.tick(slow, cluster.find(K.JOB_STALLED, "job:1", 5), ticks=6)
    assert run.pages == [page]


def test_a_deadlock_is_named_by_ports_that_stand_still_before_their_pauses_are_unusual(
    cluster: Fabric, run: Run
) -> None:
    """Where frames alone are counted it takes more samples until pauses are a finding than until a port is stuck."""
    ports = ring(cluster)
    old = cluster.facing(2, 4)
    run.tick(*(cluster.find(kind, old, 0, 4) for kind in (K.QUEUE_CONGESTED, K.ECN_MARKING)), ticks=60)
    storms = [cluster.find(K.PAUSE_STORM, port, 302, 3) for port in ports]
    pauses = [cluster.find(K.PFC_PAUSE_RECEIVED, port, 301, 5) for port in ports[1::2]]
    run.tick(*storms, *pauses, cluster.find(K.JOB_SLOWED, "job:1", 303), ticks=20)
    assert run.pages == [f"pause_loop {ports[1]}"]
    assert run.of_kind(I.PAUSE_LOOP).title.endswith("32 GPUs, job 1 stalled")
