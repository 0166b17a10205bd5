"""The first action and what an incident reaches follow from what failed, and not from its kind alone."""

import pytest

from telemetry.changes import Change, ChangeKind
from telemetry.findings import Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import Severity
from telemetry.objects import device
from telemetry.topology import Device, Job, Link, Role
from tests.unit.analytics.correlate import faults
from tests.unit.analytics.correlate.faults import Make
from tests.unit.analytics.correlate.scenarios.test_sequences import damaged_card, driver, pdu_phase
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, Run, S, facts


def several_gpus(p: Fabric) -> list[list[Finding]]:
    return [[p.find(K.GPU_ECC, p.gpu(1, index)) for index in range(4)]]


ACTIONS: list[tuple[Make, str]] = [
    (
        faults.line_card,
        "Look at what these links of spine2 have in common, as spine2 answers: line card, ASIC or power zone.",
    ),
    (
        damaged_card,
        "Look at what these links of spine2 have in common before any optic: line card, ASIC, air.",
    ),
    (
        pdu_phase,
        "Check what feeds these hosts of rack r1 (PDU phase, breaker), then each by its console.",
    ),
    (
        driver,
        "Look at what these hosts of rack r1 have in common before any GPU of them: their power, driver or job.",
    ),
    (several_gpus, "Drain node1; look at what its GPUs have in common: cooling, power, driver."),
    (faults.routing_daemon, "Look at the routing daemon of spine2, and at its log: its links are up."),
    (
        faults.checkpoints_collide,
        "Move the checkpoints of these jobs apart: each is late as the others write at the same time.",
    ),
    (faults.metadata_storm, "Find the job or program whose files are opened and closed at scratch/OST0001."),
    (faults.spine_down, "Reach spine2 by its console; check power, then bring it back or drain what depends on it."),
]


@pytest.mark.parametrize(("make", "action"), ACTIONS, ids=lambda value: getattr(value, "__name__", ""))
def test_it_says_what_to_do_about_what_failed(make: Make, action: str, cluster: Fabric, run: Run) -> None:
    for found in make(cluster):
        run.tick(*found)
    run.tick(ticks=12)
    assert run.only.action == action


def test_planned_work_asks_for_nothing(cluster: Fabric, run: Run) -> None:
    ends_ns = run.now_ns + 900 * S
    run.changes = [Change("c1", ChangeKind.MAINTENANCE, (device("node3"),), run.now_ns, ends_ns, summary="new NIC")]
    for found in faults.host_down(cluster):
        run.tick(*found)
    run.tick(ticks=6)
    assert run.only.action.startswith("Nothing to do: what is not back when the work is over is paged.")


def test_what_is_left_of_a_group_asks_for_the_same(cluster: Fabric, run: Run) -> None:
    found = driver(cluster)[0]
    run.tick(*found, ticks=6)
    before = run.only.action
    run.clear(*(each for each in found if each.object.device != "node2"))
    run.tick(ticks=2)
    assert run.only.action == before


def test_of_what_is_back_it_asks_why_it_went(cluster: Fabric, run: Run) -> None:
    down = [found for step in faults.host_down(cluster) for found in step]
    run.tick(*down, ticks=6)
    assert run.only.action.startswith("Reach node3 by its console")
    run.clear(*down)
    run.tick(ticks=2)
    assert run.only.action == ("Find out why node3 went away (power, crash, operator), and whether its jobs came back.")


def test_a_job_whose_gpus_nobody_has_recorded_is_named_without_them() -> None:
    fabric = Fabric([Device("c1", Role.HOST), Link("leaf1", "Ethernet8000", "c1", "eth0")])
    run = Run(fabric)
    run.topology = run.topology.with_facts(facts([Job("7", ("c1", "c2"), started_ns=T0 - 60 * S)]))
    run.tick(fabric.find(K.LINK_ERRORS, "c1/eth0"), ticks=3)
    assert run.only.title.endswith(" — 1 job at risk")


@pytest.mark.parametrize("make", [faults.line_card, damaged_card])
def test_a_part_of_a_switch_reaches_its_own_links_alone(make: Make, cluster: Fabric, run: Run) -> None:
    for found in make(cluster):
        run.tick(*found)
    run.tick(ticks=6)
    assert len(run.only.blast.links) == 3


def test_a_line_card_of_a_leaf_cuts_off_the_jobs_behind_it_alone(cluster: Fabric, run: Run) -> None:
    """node5 to node8 have a job of their own, and none of their links went."""
    run.tick(
        *(cluster.find(K.LINK_DOWN, port, 1) for n in (1, 2, 3) for port in (cluster.facing(1, n), f"node{n}/mlx5_0"))
    )
    run.tick(ticks=6)
    assert run.only.blast.jobs == ("1",)
    assert run.only.title == "[CRIT] pod1: 3 of 13 links of leaf1 down — 32 GPUs, job 1 cut off"


@pytest.mark.parametrize(
    ("make", "reached"),
    [
        (faults.dirty_optic, "2 jobs behind leaf2"),
        (damaged_card, "2 jobs behind 3 switches"),
        (faults.pause_loop, "2 jobs behind leaf1"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_page_about_switches_says_who_is_behind_them(make: Make, reached: str, cluster: Fabric, run: Run) -> None:
    """That no job is reached is no reason to wake anybody."""
    for found in make(cluster):
        run.tick(*found)
    run.tick(ticks=6)
    assert run.only.title.partition(" — ")[2] == reached
    assert run.only.severity is not Severity.INFO
