"""Which findings are true consequences of a fault, and how a campaign is judged."""

from dataclasses import replace

import pytest

from common.units import NS_PER_S as NS
from evaluation.campaigns.judge import judge
from evaluation.campaigns.plan import INTERVAL_S, Plan, faulty, healthy
from evaluation.campaigns.play import Played
from evaluation.campaigns.rows import rows
from evaluation.campaigns.truth import LATE_NS, Reached, reached
from simulator.config import SimulatorConfig
from simulator.faults import FAULTS
from simulator.faults.schedule import ScheduledFault
from simulator.faults.truth import Truth
from simulator.layout import build_layout, topology_facts
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef, device, parse_object
from telemetry.topology import Job, Topology, TopologyFact

CONFIG = SimulatorConfig(hosts=4, gpus_per_host=2)
LAYOUT = build_layout(CONFIG)
JOBS = [
    TopologyFact(Job("1", ("node1", "node2"), started_ns=0), 0, "slurm"),
    TopologyFact(Job("2", ("node3", "node4"), started_ns=0), 0, "slurm"),
]
TOPOLOGY = Topology().with_facts([*topology_facts(LAYOUT, 0), *JOBS])
GPU = next(f"node1/{gpu.uuid}" for gpu in LAYOUT.gpus if gpu.device == "node1")
SIBLING = next(f"node1/{gpu.uuid}" for gpu in LAYOUT.gpus if gpu.device == "node1" and f"node1/{gpu.uuid}" != GPU)


def cause(fault: str, root: str, reach: tuple[str, ...] = ()) -> Reached:
    truth = Truth(fault, FAULTS[fault].kind, parse_object(root), 100 * NS, 200 * NS, FAULTS[fault].planned, reach)
    return reached([truth], TOPOLOGY)[0]


def finding(kind: FindingKind, about: str, at_s: float = 120.0, detector: str = "some") -> Finding:
    at_ns = int(at_s * NS)
    key = f"{kind}{about}{at_s}"
    return Finding(key, kind, parse_object(about), detector, FindingState.ACTIVE, at_ns, at_ns, 2.0, 0.9, ())


@pytest.mark.parametrize(
    ("kind", "about", "true"),
    [
        (FindingKind.STRAGGLER, f"gpu:{GPU}", True),
        (FindingKind.STRAGGLER, f"gpu:{SIBLING}", False),
        (FindingKind.JOB_SLOWED, "job:1", True),
        (FindingKind.JOB_SLOWED, "job:2", False),
        (FindingKind.ECN_MARKING, "port:leaf1/Ethernet0", False),
    ],
)
def test_a_slow_gpu_reaches_its_job_and_nothing_else(kind: FindingKind, about: str, true: bool) -> None:
    assert cause("straggler-gpu", f"gpu:{GPU}", ("node1",)).true(finding(kind, about)) is true


@pytest.mark.parametrize(
    ("kind", "about", "true"),
    [
        (FindingKind.PFC_PAUSE_SENT, "port:spine1/Ethernet1/1", True),
        (FindingKind.JOB_SLOWED, "job:2", True),
        (FindingKind.LINK_DOWN, "port:spine1/Ethernet1/1", False),
        (FindingKind.TARGET_SILENT, "device:node3", False),
        (FindingKind.DEVIATION, f"gpu:{GPU}", True),
    ],
)
def test_back_pressure_travels_and_outages_do_not(kind: FindingKind, about: str, true: bool) -> None:
    assert cause("slow-receiver", "port:leaf1/Ethernet0", ("node1",)).true(finding(kind, about)) is true


def test_a_fault_lasts_until_its_repair_has_settled() -> None:
    down = cause("spine-down", "device:spine1")
    late_s = 200.0 + LATE_NS / NS
    times = (99.0 - INTERVAL_S, 101.0 - INTERVAL_S, late_s, late_s + 1.0)
    found = [down.true(finding(FindingKind.DEVICE_REBOOTED, "device:spine1", at_s)) for at_s in times]
    assert found == [False, True, True, False]


@pytest.mark.parametrize(("host", "shows"), [("node1", True), ("node9", False)])
def test_a_slow_gpu_without_a_job_shows_nothing(host: str, shows: bool) -> None:
    assert cause("straggler-gpu", f"gpu:{GPU}", (host,)).shows is shows


@pytest.mark.parametrize(("ended_s", "shows"), [(110, False), (150, True)])
def test_a_checkpoint_of_a_job_that_ends_shows_nothing(ended_s: int, shows: bool) -> None:
    late = cause("late-checkpoint", "job:1", ("node1",))
    ended = replace(JOBS[0], observed_ns=ended_s * NS, gone=True)
    again = TopologyFact(Job("3", ("node1",), started_ns=ended_s * NS), ended_s * NS, "slurm")
    assert Reached(late.truth, late.graph, (ended, again)).shows is shows


def test_announced_work_is_named_by_any_of_its_hosts() -> None:
    wave = cause("planned-reboot-wave", "device:node1", ("node1", "node2"))
    told = [(IncidentKind.DEVICE_REBOOTED, "node2"), (IncidentKind.DEVICE_DOWN, "node2")]
    assert [wave.named_by(kind, device(host)) for kind, host in told] == [True, False]


def test_every_kind_of_fault_is_played_alone_and_the_seed_decides_the_rest() -> None:
    plans = faulty(1)
    alone = [fault.fault for plan in plans[:-1] for fault in plan.faults]
    assert sorted(alone) == sorted(FAULTS)
    assert plans == faulty(1) != faulty(2)
    assert all(fault.at_s + fault.lasts_s < plan.lasts_s for plan in plans for fault in plan.faults)
    assert all(not plan.healthy for plan in plans)


def test_health_has_one_announced_wave_an_hour_and_nothing_else() -> None:
    plan = healthy(1, hours=3)
    assert plan.healthy
    assert [int(fault.at_s // 3600) for fault in plan.faults] == [0, 1, 2]
    assert plan.lasts_s == 3 * 3600.0


def played(findings: list[Finding], root: ObjectRef) -> Played:
    """A spine that is down from 100 s to 200 s of an hour."""
    plan = Plan(CONFIG, (ScheduledFault(fault="spine-down"),), 3600.0, 1)
    truth = Truth("spine-down", IncidentKind.DEVICE_DOWN, root, 100 * NS, 200 * NS)
    return Played(plan, truths=[truth], findings={f.id: f for f in findings}, series=1000, topology=TOPOLOGY)


def test_findings_are_counted_by_whether_a_fault_explains_them() -> None:
    told = [
        finding(FindingKind.LINK_DOWN, "port:spine1/Ethernet1/1", 110.0, "link_down"),
        finding(FindingKind.TARGET_SILENT, "device:spine1", 120.0, "target_silent"),
        finding(FindingKind.STRAGGLER, f"gpu:{GPU}", 120.0, "straggler"),
        finding(FindingKind.LINK_DOWN, "port:spine1/Ethernet1/1", 2000.0, "link_down"),
    ]
    judged = judge(played(told, device("spine1")))
    (event,) = judged.events
    assert event.by == {"link_down": 1.0, "target_silent": 2.0} == event.direct
    assert judged.true == {"link_down": 1, "target_silent": 1}
    assert judged.false_by == {("spine-down", "straggler"): 1, ("", "link_down"): 1}
    table = {row["detector"]: row for row in rows([judged]) if row["table"] == "detectors"}
    assert table["link_down"]["precision"] == 0.5
    assert table["link_down"]["first_witness"] == 1


def test_an_hour_in_which_nothing_breaks_has_only_false_findings() -> None:
    told = played([finding(FindingKind.LINK_DOWN, "port:spine1/Ethernet1/1", 110.0)], device("spine1"))
    told.plan, told.truths = replace(told.plan, faults=()), []
    health = next(row for row in rows([judge(told)]) if row["table"] == "false")
    assert (health["during"], health["false_findings"], health["hours"]) == ("health", 1, 1.0)
