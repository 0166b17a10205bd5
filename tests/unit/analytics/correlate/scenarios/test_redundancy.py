"""What is left where a part between switches is lost, and who depends on it."""

from collections.abc import Iterable

import pytest

from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind, Severity
from telemetry.topology import Device, Entity, Job, Link, Role, StorageTarget
from tests.unit.analytics.correlate.faults import Make, routing_daemon, spine_down
from tests.unit.analytics.correlate.small_fabric import Fabric, Run, facts

UPLINK = "leaf1/Ethernet4000"  # to spine1


def test_a_title_says_what_redundancy_is_left_whichever_incidents_took_it(cluster: Fabric, run: Run) -> None:
    """Jobs go on over the other paths; who is paged should know how many these are."""
    run.tick(cluster.find(K.LINK_DOWN, cluster.uplink(1, 1)), ticks=12)
    run.tick(cluster.find(K.LINK_DOWN, cluster.uplink(1, 3), 60), ticks=12)
    assert {one.title.partition(" — ")[2] for one in run.incidents.values()} == {
        "2 of 4 paths of leaf1 left, 2 jobs behind it"
    }


def test_an_incident_that_is_over_has_left_nothing_less(cluster: Fabric, run: Run) -> None:
    """Another one may have."""
    down = cluster.find(K.LINK_DOWN, cluster.uplink(1, 1))
    run.tick(down, ticks=6)
    run.clear(down)
    run.tick(cluster.find(K.LINK_DOWN, cluster.uplink(1, 3), 40), ticks=20)
    titles = {one.state: one.title.partition(" — ")[2] for one in run.incidents.values()}
    assert titles == {"resolved": "no job reached", "firing": "3 of 4 paths of leaf1 left, 2 jobs behind it"}


@pytest.mark.parametrize(("make", "leaves"), [(spine_down, 7), (routing_daemon, 8)])
def test_a_spine_less_leaves_each_leaf_the_others(make: Make, leaves: int, cluster: Fabric, run: Run) -> None:
    for findings in make(cluster):
        run.tick(*findings)
    run.tick(ticks=3)
    assert run.only.title.partition(" — ")[2] == f"3 of 4 paths of each of {leaves} leaves left, 2 jobs behind them"


def core(switches: int = 2) -> Iterable[Entity]:
    """A third tier: each spine of the pod has a link to each core."""
    for c in range(1, switches + 1):
        yield Device(f"core{c}", Role.SPINE)
        for s in range(1, 5):
            yield Link(f"core{c}", f"Ethernet{s}", f"spine{s}", f"Ethernet{9000 + c}")


def idle_pod() -> Iterable[Entity]:
    """Two leaves and two spines of their own, with a host that has no job."""
    for leaf in (11, 12):
        yield Device(f"leaf{leaf}", Role.LEAF, pod="pod2")
        yield Link(f"leaf{leaf}", "Ethernet0", "node11", f"mlx5_{leaf}")
        for spine in (11, 12):
            yield Device(f"spine{spine}", Role.SPINE, pod="pod2")
            yield Link(f"leaf{leaf}", f"Ethernet{4000 + spine}", f"spine{spine}", f"Ethernet{leaf}")
    yield Device("node11", Role.HOST, pod="pod2")


def test_a_link_above_the_spines_says_what_is_left_for_the_jobs_of_the_pod() -> None:
    fabric = Fabric(core())
    run = Run(fabric)
    run.tick(fabric.find(K.LINK_DOWN, "spine1/Ethernet9001"), ticks=3)
    assert run.only.title == (
        "[WARN] pod1: link core1/Ethernet1--spine1/Ethernet9001 down — 1 of 2 paths of spine1 left, 2 jobs behind it"
    )


def test_a_core_less_leaves_each_spine_the_other() -> None:
    fabric = Fabric(core())
    run = Run(fabric)
    run.tick(*(fabric.find(K.LINK_DOWN, f"spine{s}/Ethernet9001") for s in range(1, 5)), ticks=8)
    assert run.only.title.endswith("1 of 2 paths of each of 4 switches left, 2 jobs behind them")


def test_a_link_between_two_leaves_is_no_path_upwards() -> None:
    fabric = Fabric([Link("leaf1", "Ethernet9000", "leaf2", "Ethernet9000")])
    run = Run(fabric)
    run.tick(fabric.find(K.LINK_DOWN, "leaf1/Ethernet9000"), fabric.find(K.LINK_DOWN, fabric.uplink(5, 1)), ticks=3)
    assert sorted(one.title.partition(" — ")[2] for one in run.incidents.values()) == [
        "3 of 4 paths of leaf5 left, 2 jobs behind it",
        "no job reached",
    ]


def test_a_spare_path_that_nobody_is_behind_pages_nobody_until_a_job_is() -> None:
    fabric = Fabric(idle_pod())
    run = Run(fabric)
    run.tick(fabric.find(K.LINK_DOWN, "leaf11/Ethernet4011"), ticks=12)
    assert run.only.title.endswith("— 1 of 2 paths of leaf11 left, no jobs behind it")
    assert (run.only.severity, run.pages) == (Severity.INFO, [])
    job = Job("3", ("node11", "node1"), started_ns=run.now_ns)
    run.topology = run.topology.with_facts(facts([job]))
    run.tick(ticks=3)
    assert (run.only.severity, len(run.pages)) == (Severity.WARNING, 1)
    assert any(entry.text.startswith("warning: ") for entry in run.only.timeline)


def test_the_last_path_is_a_page_though_nobody_is_behind_it() -> None:
    """No job can be started there."""
    fabric = Fabric(idle_pod())
    run = Run(fabric)
    run.tick(fabric.find(K.LINK_DOWN, "leaf11/Ethernet4011"), fabric.find(K.LINK_DOWN, "leaf11/Ethernet4012"), ticks=6)
    assert {one.severity for one in run.incidents.values()} == {Severity.WARNING}


def test_where_nobody_says_which_jobs_run_a_lost_path_is_a_warning() -> None:
    fabric = Fabric()
    run = Run(fabric)
    known = {key: fact for key, fact in run.topology.facts.items() if not isinstance(fact.entity, Job)}
    run.topology = type(run.topology)(known)
    run.tick(fabric.find(K.LINK_DOWN, fabric.uplink(1, 1)), ticks=3)
    assert run.only.severity is Severity.WARNING


@pytest.mark.parametrize(("port", "severity"), [("leaf11/Ethernet4011", Severity.INFO), (UPLINK, Severity.WARNING)])
def test_errors_between_switches_page_once_a_job_is_behind_them(port: str, severity: Severity) -> None:
    fabric = Fabric(idle_pod())
    run = Run(fabric)
    run.tick(fabric.find(K.LINK_ERRORS, port, score=20.0), ticks=12)
    assert (run.only.kind, run.only.severity) == (IncidentKind.LINK_DEGRADED, severity)


def test_a_deadlock_is_critical_though_nobody_is_behind_it() -> None:
    """It never ends by itself, and no job can be started there."""
    fabric = Fabric(idle_pod())
    run = Run(fabric)
    ring = ["leaf11/Ethernet4011", "spine11/Ethernet12", "leaf12/Ethernet4012", "spine12/Ethernet11"]
    shown = (K.PAUSE_STORM, K.PFC_PAUSE_RECEIVED)
    run.tick(*(fabric.find(kind, port, score=5.0) for port in ring for kind in shown), ticks=6)
    found = {one.kind: one for one in run.incidents.values()}
    assert found[IncidentKind.PAUSE_LOOP].severity is Severity.CRITICAL
    assert found[IncidentKind.PAUSE_LOOP].title.endswith("no jobs behind leaf11")


def test_jobs_depend_on_a_leaf_that_only_their_storage_is_behind() -> None:
    entities: list[Entity] = [
        Device("leaf9", Role.LEAF, pod="storage"),
        Device("oss9", Role.STORAGE),
        Link("leaf9", "Ethernet0", "oss9", "mlx5_0"),
        *(Link("leaf9", f"Ethernet{4000 + s}", f"spine{s}", "Ethernet8000") for s in (1, 2)),
        StorageTarget("scratch", "OST0009", "oss9"),
    ]
    fabric = Fabric(entities)
    run = Run(fabric)
    run.tick(fabric.find(K.LINK_ERRORS, "leaf9/Ethernet4001", score=20.0), ticks=6)
    assert run.only.severity is Severity.WARNING
    run.tick(fabric.find(K.LINK_DOWN, "leaf9/Ethernet4001", 60), ticks=6)
    assert run.only.title.endswith("— 1 of 2 paths of leaf9 left, 2 jobs behind it")


def test_a_dead_switch_without_hosts_leaves_those_below_it_their_other_paths() -> None:
    """That it has no path upwards itself says nothing."""
    fabric = Fabric(core())
    run = Run(fabric)
    down = [fabric.downlink(1, leaf) for leaf in range(1, 9)] + ["spine1/Ethernet9001", "spine1/Ethernet9002"]
    run.tick(*(fabric.find(K.LINK_DOWN, port) for port in [*down, *(fabric.uplink(leaf, 1) for leaf in range(1, 9))]))
    run.tick(
        *(fabric.find(K.LINK_DOWN, f"core{c}/Ethernet1", 2) for c in (1, 2)), fabric.find(K.TARGET_SILENT, "spine1", 5)
    )
    run.tick(ticks=8)
    assert (
        run.only.title
        == "[WARN] pod1: spine1 down since 08:00:00 — 3 of 4 paths of each of 8 leaves left, 2 jobs behind them"
    )


def test_a_spine_that_nobody_needs_pages_nobody_when_it_is_back_either() -> None:
    fabric = Fabric(idle_pod())
    run = Run(fabric)
    down = [fabric.find(K.LINK_DOWN, f"leaf{leaf}/Ethernet4011") for leaf in (11, 12)]
    gone = [*down, fabric.find(K.TARGET_SILENT, "spine11", 2)]
    run.tick(*gone, ticks=12)
    assert (run.only.kind, run.only.severity) == (IncidentKind.DEVICE_DOWN, Severity.INFO)
    run.clear(*gone)
    run.tick(ticks=30)
    assert (run.only.severity, run.pages) == (Severity.INFO, [])


def test_a_part_of_a_switch_that_fails_is_a_warning_though_nobody_needs_the_switch() -> None:
    """Its paths are as they were, and the next job may need them."""
    fabric = Fabric(idle_pod())
    run = Run(fabric)
    run.tick(fabric.find(K.PART_FAILED, "spine11"), ticks=6)
    assert (run.only.kind, run.only.severity) == (IncidentKind.ENVIRONMENT, Severity.WARNING)
