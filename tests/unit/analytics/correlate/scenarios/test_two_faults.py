"""Two faults at a time that have nothing to do with each other: two incidents, each with its own symptoms."""

from dataclasses import replace
from itertools import zip_longest

import pytest

from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import Severity
from tests.unit.analytics.correlate import faults
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, Run, S

CLOCK = (Evidence("gpu_sm_clock_hertz{}", 1.2e9, 1.9e9, "Hz"),)
ACTIVE = (Evidence("gpu_tensor_active_ratio{}", 0.9, 0.5, "ratio"),)


def straggler(cluster: Fabric, node: int, evidence: tuple[Evidence, ...], score: float) -> Finding:
    return replace(cluster.find(K.STRAGGLER, cluster.gpu(node, 1), score=score), evidence=evidence)


@pytest.mark.parametrize(
    ("second", "roots"),
    [
        # A clock falls by itself, whatever the others of the job do.
        (CLOCK, ["straggler node1/GPU-0001-1", "straggler node3/GPU-0003-1"]),
        # While all wait for one, others seem to work longer than those that wait.
        (ACTIVE, ["straggler node1/GPU-0001-1"]),
    ],
)
def test_a_second_straggler_of_a_job_stays_a_candidate(
    second: tuple[Evidence, ...], roots: list[str], cluster: Fabric, run: Run
) -> None:
    run.tick(straggler(cluster, 1, CLOCK, 4.0), straggler(cluster, 3, second, 2.0), ticks=6)
    assert run.roots == roots


@pytest.mark.parametrize(
    ("congested_s", "pages"),
    [
        (-40.0, ["straggler node1/GPU-0001-1"]),
        (5.0, ["incast leaf2/Ethernet12", "straggler node1/GPU-0001-1"]),  # it may be either
    ],
)
def test_pressure_from_before_a_clock_fell_is_not_why_the_job_waits(
    congested_s: float, pages: list[str], cluster: Fabric, run: Run
) -> None:
    """All are found in the same tick, and the pressure has pauses, so it is chosen first."""
    pressure = [cluster.find(kind, cluster.facing(2, 4), congested_s) for kind in (K.QUEUE_CONGESTED, K.ECN_MARKING)]
    pauses = cluster.find(K.PFC_PAUSE_SENT, cluster.facing(2, 1), congested_s)
    run.tick(*pressure, pauses, straggler(cluster, 1, CLOCK, 4.0), cluster.find(K.JOB_SLOWED, "job:1", 2), ticks=6)
    assert sorted(run.pages) == pages


@pytest.mark.parametrize(
    ("left", "owner"),
    [
        (0.6, "straggler"),  # its clock has lost 37 %
        (0.2, "incast"),
    ],
)
def test_a_job_that_loses_more_than_a_slow_clock_takes_waits_for_what_else_began(
    left: float, owner: str, cluster: Fabric, run: Run
) -> None:
    """Members in lockstep go on at the pace of the slowest one, and no slower."""
    run.tick(straggler(cluster, 1, CLOCK, 4.0), slowed(cluster, 0.65), ticks=4)
    kinds = (K.QUEUE_CONGESTED, K.ECN_MARKING)
    run.tick(*(cluster.find(kind, cluster.facing(2, 4), 20.0) for kind in kinds), ticks=2)
    run.tick(slowed(cluster, left), ticks=6)
    assert run.roots == ["incast leaf2/Ethernet12", "straggler node1/GPU-0001-1"]
    (found,) = [one for one in run.incidents.values() if "job_slowed@job:1" in one.findings]
    assert found.kind == owner
    assert len(run.pages) == (2 if owner == "incast" else 1)


def slowed(cluster: Fabric, left: float) -> Finding:
    """Job 1 does this share of its work."""
    return replace(cluster.find(K.JOB_SLOWED, "job:1", 2), evidence=(Evidence("work", left, 1.0, "ratio"),))


@pytest.mark.parametrize(
    ("second", "node", "roots"),
    [
        # Its peers wait for the throttled GPU: that lowers the clock of none of them.
        (CLOCK, 3, ["gpu_fault node1/GPU-0001-1", "straggler node3/GPU-0003-1"]),
        (ACTIVE, 3, ["gpu_fault node1/GPU-0001-1"]),
        # Heat and power are shared within a host.
        (CLOCK, 1, ["gpu_fault node1/GPU-0001-1"]),
    ],
)
def test_a_clock_that_falls_beside_a_throttled_gpu_of_the_job_has_its_own_reason(
    second: tuple[Evidence, ...], node: int, roots: list[str], cluster: Fabric, run: Run
) -> None:
    slow = replace(cluster.find(K.STRAGGLER, cluster.gpu(1, 1), score=4.0), evidence=CLOCK)
    run.tick(cluster.find(K.GPU_THROTTLED, cluster.gpu(1, 1)), slow, cluster.find(K.JOB_SLOWED, "job:1", 5))
    other = cluster.find(K.STRAGGLER, cluster.gpu(node, 1 if node == 3 else 2), 20)
    run.tick(replace(other, evidence=second), ticks=6)
    assert run.roots == roots


@pytest.mark.parametrize("fault", [K.GPU_HOT, K.GPU_HUNG])
@pytest.mark.parametrize("fault_first", [True, False])
def test_a_gpu_that_lowers_no_clock_is_not_why_another_one_of_its_host_is_slow(
    fault: K, fault_first: bool, cluster: Fabric, run: Run
) -> None:
    found = [
        cluster.find(fault, cluster.gpu(1, 2), 10),
        replace(straggler(cluster, 1, CLOCK, 4.0), onset_ns=T0 + 5 * S),
    ]
    for finding in found if fault_first else reversed(found):
        run.tick(finding, ticks=3)
    run.tick(ticks=4)
    assert run.roots == ["gpu_fault node1/GPU-0001-2", "straggler node1/GPU-0001-1"]
    assert len(run.pages) == 2


@pytest.mark.parametrize("later_s", [20, 60, 600])
def test_a_straggler_that_shows_a_fault_later_stays_one_incident(later_s: int, cluster: Fabric, run: Run) -> None:
    run.tick(straggler(cluster, 1, CLOCK, 4.0), cluster.find(K.JOB_SLOWED, "job:1", 2), ticks=later_s // 5)
    run.tick(cluster.find(K.GPU_XID, cluster.gpu(1, 1), later_s), ticks=6)
    assert run.roots == ["gpu_fault node1/GPU-0001-1"]
    assert run.pages == ["straggler node1/GPU-0001-1"]


def test_two_slow_gpus_of_one_host_are_one_incident(cluster: Fabric, run: Run) -> None:
    found = [replace(cluster.find(K.STRAGGLER, cluster.gpu(1, n)), evidence=CLOCK) for n in (1, 2)]
    run.tick(*found, ticks=6)
    assert run.roots == ["straggler node1/GPU-0001-1"]


@pytest.mark.parametrize(("score", "ports"), [(1.0, 1), (3.0, 2)])
def test_a_port_that_is_as_congested_as_the_worst_stays_a_candidate(
    score: float, ports: int, cluster: Fabric, run: Run
) -> None:
    """A full buffer is shared by all ports of a switch: a shorter queue is no incast of its own."""
    kinds = (K.QUEUE_CONGESTED, K.ECN_MARKING)
    worst = [cluster.find(kind, cluster.facing(2, 4), score=4.0) for kind in kinds]
    run.tick(*worst, *(cluster.find(kind, cluster.facing(2, 7), score=score) for kind in kinds), ticks=6)
    assert run.roots == [f"incast leaf2/Ethernet{4 * (node - 1)}" for node in (4, 7)[:ports]]


def test_a_warm_rack_takes_no_pauses_of_its_hosts(cluster: Fabric, run: Run) -> None:
    """node2 is in rack r1: its ports are those of the rack, and pause as a slow receiver does."""
    run.tick(cluster.find(K.OVERHEATED, "rack:r1"), cluster.find(K.PFC_PAUSE_SENT, cluster.uplink(3, 1), 1))
    run.tick(
        cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(3, 2), 2, score=5),
        cluster.find(K.JOB_SLOWED, "job:1", 5),
        ticks=6,
    )
    warm, storm = sorted(run.incidents.values(), key=lambda incident: incident.kind)
    assert (warm.kind, storm.kind) == ("environment", "slow_receiver")
    assert warm.findings == ("overheated@rack:r1",)
    assert "job_slowed@job:1" in storm.findings


def test_a_throttled_gpu_takes_no_queues_of_the_fabric(cluster: Fabric, run: Run) -> None:
    queue = cluster.find(K.QUEUE_CONGESTED, cluster.downlink(1, 5), 5)
    run.tick(cluster.find(K.GPU_THROTTLED, cluster.gpu(1, 1)))
    run.tick(queue, ticks=14)
    assert run.roots == ["congestion spine1/Ethernet16", "gpu_fault node1/GPU-0001-1"]


def test_a_lost_clock_is_not_blamed_on_slow_storage(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000", score=5))
    run.tick(replace(straggler(cluster, 1, CLOCK, 2.0), onset_ns=run.now_ns), ticks=6)
    assert run.roots == ["slow_storage scratch/OST0000", "straggler node1/GPU-0001-1"]


def test_a_job_that_slows_down_belongs_to_what_began_with_it(cluster: Fabric, run: Run) -> None:
    """Both GPUs are of job 1. One is throttled for ten minutes already when the other one begins to be."""
    run.tick(cluster.find(K.GPU_THROTTLED, cluster.gpu(1, 1), score=3))
    run.tick(ticks=120)
    run.tick(
        cluster.find(K.GPU_THROTTLED, cluster.gpu(3, 1), 600),
        cluster.find(K.JOB_SLOWED, "job:1", 605),
        ticks=4,
    )
    (old,) = [one for one in run.incidents.values() if one.root == cluster.gpu(1, 1)]
    (new,) = [one for one in run.incidents.values() if one.root == cluster.gpu(3, 1)]
    assert [len(old.findings), len(new.findings)] == [1, 2]


@pytest.mark.parametrize(("slow_s", "throttled_s"), [(600, 0), (0, 600)])
@pytest.mark.parametrize("waits", [K.JOB_SLOWED, K.JOB_STALLED])
def test_a_job_that_slows_down_waits_for_what_began_then_though_a_gpu_of_it_was_throttled(
    slow_s: int, throttled_s: int, waits: K, cluster: Fabric, run: Run
) -> None:
    """It depends on its GPU and may depend on the storage: which of them began with its wait says more."""
    storage = cluster.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000", slow_s, score=5)
    throttled = cluster.find(K.GPU_THROTTLED, cluster.gpu(1, 1), throttled_s)
    first, second = sorted([storage, throttled], key=lambda finding: finding.onset_ns)
    run.tick(first, ticks=120)
    waiting = cluster.find(waits, "job:1", 605)
    run.tick(second, waiting, ticks=4)
    (owner,) = [one for one in run.incidents.values() if waiting.id in one.findings]
    assert second.id in owner.findings
    assert len(run.roots) == 2


@pytest.mark.parametrize("later_s", [0, 10])
@pytest.mark.parametrize("waits", [K.JOB_SLOWED, K.JOB_STALLED])
def test_a_job_that_slows_down_with_a_straggler_does_not_wait_for_an_old_fault(
    waits: K, later_s: int, cluster: Fabric, run: Run
) -> None:
    """A straggler may be a consequence of any fault, so faults are chosen first. This one began with the wait, and may
    be found a sample after it; the other one cost the job nothing for ten minutes."""
    old = cluster.find(K.GPU_THROTTLED, cluster.gpu(1, 1))
    run.tick(old, ticks=120)
    waiting, slow = cluster.find(waits, "job:1", 605), replace(straggler(cluster, 3, CLOCK, 2.0), onset_ns=T0 + 600 * S)
    if later_s:
        run.tick(waiting, ticks=later_s // 5)
    run.tick(slow, *([] if later_s else [waiting]), ticks=4)
    owners = {one.root for one in run.incidents.values() if waiting.id in one.findings}
    assert owners == {slow.object}
    assert run.roots == ["gpu_fault node1/GPU-0001-1", "straggler node3/GPU-0003-1"]
    assert run.pages == run.roots


def test_a_job_that_has_waited_since_a_fault_began_goes_on_waiting_for_it(cluster: Fabric, run: Run) -> None:
    old, waiting = cluster.find(K.GPU_THROTTLED, cluster.gpu(1, 1)), cluster.find(K.JOB_SLOWED, "job:1", 5)
    run.tick(old, waiting, ticks=120)
    run.tick(replace(straggler(cluster, 3, CLOCK, 2.0), onset_ns=T0 + 600 * S), ticks=4)
    assert {one.root for one in run.incidents.values() if waiting.id in one.findings} == {old.object}


@pytest.mark.parametrize(
    ("warm_s", "roots"),
    [
        (20, ["environment r1"]),
        (40, ["environment r1", "gpu_fault node1/GPU-0001-1"]),
    ],
)
def test_a_gpu_that_was_throttled_before_the_air_got_warm_has_another_reason(
    warm_s: int, roots: list[str], cluster: Fabric, run: Run
) -> None:
    run.tick(ticks=8)
    run.tick(cluster.find(K.GPU_THROTTLED, cluster.gpu(1, 1)), cluster.find(K.OVERHEATED, "rack:r1", warm_s), ticks=6)
    assert run.roots == roots


def test_what_a_first_guess_would_have_cost_is_forgotten_with_it(cluster: Fabric, run: Run) -> None:
    """A lost session could be why the job stalls, until the straggler shows and more sessions follow."""
    sessions, slow = faults.routing_daemon(cluster), faults.straggler(cluster)
    for tick in range(10):
        run.tick(*(finding for steps in (sessions, slow) for finding in (steps[tick] if tick < len(steps) else [])))
    found = {one.kind: one for one in run.incidents.values()}
    assert (found[I.STRAGGLER].severity, found[I.BGP_DOWN].severity) == (Severity.CRITICAL, Severity.WARNING)
    assert found[I.BGP_DOWN].gpu_seconds == 0.0


def test_what_a_job_loses_to_two_faults_is_divided(cluster: Fabric, run: Run) -> None:
    both = zip_longest(faults.line_card(cluster), faults.straggler(cluster), fillvalue=list[Finding]())
    steps = list(both)
    for tick in range(10):
        run.tick(*(finding for found in steps[tick : tick + 1] for each in found for finding in each))
    costs = {one.kind: one.gpu_seconds for one in run.incidents.values()}
    assert costs[I.DEVICE_DOWN] == pytest.approx(costs[I.STRAGGLER], rel=0.05)
    assert sum(costs.values()) <= 32 * (run.now_ns - T0) / S  # the 32 GPUs of job 2, and no more
    texts = [entry.text for one in run.incidents.values() for entry in one.timeline]
    assert texts.count("job 2 waits for 1 other incident too: its loss is divided") == 2


@pytest.mark.parametrize("other", [K.GPU_LOST, K.TARGET_SILENT])
def test_gpus_that_one_fault_took_away_do_not_wait_for_the_other_too(other: K, cluster: Fabric, run: Run) -> None:
    """All of job 1 hangs at one GPU, and another fault takes some of its GPUs away meanwhile."""
    run.tick(cluster.find(K.GPU_HUNG, cluster.gpu(4, 3)), ticks=4)
    if other is K.GPU_LOST:
        run.tick(cluster.find(K.GPU_LOST, cluster.gpu(3, 5), 20))
    else:
        down = (cluster.find(K.LINK_DOWN, cluster.facing(leaf, 3), 20) for leaf in range(1, 9))
        run.tick(*down, cluster.find(K.TARGET_SILENT, "node3", 20))
    run.tick(ticks=40)
    passed_s = (run.now_ns - T0) / S
    lost = sum(one.gpu_seconds for one in run.incidents.values())
    assert lost == pytest.approx(32 * passed_s, rel=0.05)
    assert lost <= 32 * passed_s
    assert len(run.incidents) == 2


def test_a_symptom_that_something_nearer_explains_by_now_leaves_the_incident_that_had_it(
    cluster: Fabric, run: Run
) -> None:
    stalled = cluster.find(K.JOB_STALLED, "job:1", 1)
    run.tick(cluster.find(K.LINK_ERRORS, cluster.uplink(1, 3)), stalled, ticks=2)
    assert stalled.id in run.only.findings
    run.tick(cluster.find(K.GPU_LOST, cluster.gpu(1, 5), 2), ticks=3)
    of = {one.kind: set(one.findings) for one in run.incidents.values()}
    assert (stalled.id in of[I.LINK_DEGRADED], stalled.id in of[I.GPU_FAULT]) == (False, True)
