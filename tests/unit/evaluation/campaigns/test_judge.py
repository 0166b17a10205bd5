"""Which findings are true consequences of a fault, and how a campaign is judged."""

from dataclasses import replace
from typing import Any

import pytest

from common.units import NS_PER_S
from evaluation.campaigns.judge import judge
from evaluation.campaigns.plan import INTERVAL_S, Plan, faulty, healthy
from evaluation.campaigns.rows import rows
from evaluation.campaigns.run_plan import CampaignRun
from evaluation.campaigns.truth import LATE_NS, FaultImpact, impacts
from simulator.config import SimulatorConfig
from simulator.faults import FAULTS, STANDARD
from simulator.faults.schedule import ScheduledFault
from simulator.faults.truth import Truth
from simulator.layout import topology_facts
from simulator.wiring import build_layout
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.incidents import Incident, IncidentKind
from telemetry.objects import ObjectRef, device, parse_object
from telemetry.topology import Job, Topology, TopologyFact
from tests.unit.evaluation.campaigns.incidents import incident

CONFIG = SimulatorConfig(hosts=4, gpus_per_host=2)
LAYOUT = build_layout(CONFIG)
JOBS = [
    TopologyFact(Job("1", ("node1", "node2"), started_ns=0), 0, "slurm"),
    TopologyFact(Job("2", ("node3", "node4"), started_ns=0), 0, "slurm"),
]
TOPOLOGY = Topology().with_facts([*topology_facts(LAYOUT, 0), *JOBS])
GPU = next(f"node1/{gpu.uuid}" for gpu in LAYOUT.gpus if gpu.device == "node1")
SIBLING = next(f"node1/{gpu.uuid}" for gpu in LAYOUT.gpus if gpu.device == "node1" and f"node1/{gpu.uuid}" != GPU)


def cause(fault: str, root: str, reach: tuple[str, ...] = ()) -> FaultImpact:
    truth = Truth(
        fault, FAULTS[fault].kind, parse_object(root), 100 * NS_PER_S, 200 * NS_PER_S, FAULTS[fault].planned, reach
    )
    return impacts([truth], TOPOLOGY)[0]


def finding(kind: FindingKind, about: str, at_s: float = 120.0, detector: str = "some") -> Finding:
    at_ns = int(at_s * NS_PER_S)
    key = f"{kind}{about}{at_s}"
    return Finding(
        id=key,
        kind=kind,
        object=parse_object(about),
        detector=detector,
        state=FindingState.ACTIVE,
        onset_ns=at_ns,
        observed_ns=at_ns,
        score=2.0,
        confidence=0.9,
        evidence=(),
    )


@pytest.mark.parametrize(
    ("kind", "about", "explained"),
    [
        (FindingKind.STRAGGLER, f"gpu:{GPU}", True),
        (FindingKind.STRAGGLER, f"gpu:{SIBLING}", False),
        (FindingKind.JOB_SLOWED, "job:1", True),
        (FindingKind.JOB_SLOWED, "job:2", False),
        (FindingKind.ECN_MARKING, "port:leaf1/Ethernet0", False),
    ],
)
def test_a_slow_gpu_affects_its_job_and_nothing_else(kind: FindingKind, about: str, explained: bool) -> None:
    assert cause("straggler-gpu", f"gpu:{GPU}", ("node1",)).explains(finding(kind, about)) is explained


@pytest.mark.parametrize(
    ("kind", "about", "explained"),
    [
        (FindingKind.PFC_PAUSE_SENT, "port:spine1/Ethernet1/1", True),
        (FindingKind.JOB_SLOWED, "job:2", True),
        (FindingKind.LINK_DOWN, "port:spine1/Ethernet1/1", False),
        (FindingKind.TARGET_SILENT, "device:node3", False),
        (FindingKind.DEVIATION, f"gpu:{GPU}", True),
    ],
)
def test_backpressure_spreads_and_outages_do_not(kind: FindingKind, about: str, explained: bool) -> None:
    assert cause("slow-receiver", "port:leaf1/Ethernet0", ("node1",)).explains(finding(kind, about)) is explained


def test_a_fault_lasts_until_its_repair_has_settled() -> None:
    down = cause("spine-down", "device:spine1")
    late_s = 200.0 + LATE_NS / NS_PER_S
    times = (99.0 - INTERVAL_S, 101.0 - INTERVAL_S, late_s, late_s + 1.0)
    found = [down.explains(finding(FindingKind.DEVICE_REBOOTED, "device:spine1", at_s)) for at_s in times]
    assert found == [False, True, True, False]


@pytest.mark.parametrize(("host", "visible"), [("node1", True), ("node9", False)])
def test_a_slow_gpu_without_a_job_is_not_visible(host: str, visible: bool) -> None:
    assert cause("straggler-gpu", f"gpu:{GPU}", (host,)).visible is visible


@pytest.mark.parametrize(("ended_s", "visible"), [(110, False), (150, True)])
def test_a_late_checkpoint_of_a_job_that_ends_is_not_visible(ended_s: int, visible: bool) -> None:
    late = cause("late-checkpoint", "job:1", ("node1",))
    ended = replace(JOBS[0], observed_ns=ended_s * NS_PER_S, gone=True)
    again = TopologyFact(Job("3", ("node1",), started_ns=ended_s * NS_PER_S), ended_s * NS_PER_S, "slurm")
    assert FaultImpact(late.truth, late.graph, (ended, again)).visible is visible


def test_planned_maintenance_is_named_by_any_of_its_hosts() -> None:
    wave = cause("planned-reboot-wave", "device:node1", ("node1", "node2"))
    incidents = [(IncidentKind.DEVICE_REBOOTED, "node2"), (IncidentKind.DEVICE_DOWN, "node2")]
    assert [wave.named_by(kind, device(host)) for kind, host in incidents] == [True, False]


def test_every_kind_of_fault_is_planned_alone_and_the_seed_decides_the_rest() -> None:
    plans = faulty(1)
    alone = [fault.fault for plan in plans[:-1] for fault in plan.faults]
    assert sorted(alone) == sorted(STANDARD)
    assert plans == faulty(1) != faulty(2)
    assert all(fault.at_s + fault.lasts_s < plan.lasts_s for plan in plans for fault in plan.faults)
    assert all(not plan.healthy for plan in plans)


def test_healthy_hours_have_one_planned_wave_each_and_nothing_else() -> None:
    plan = healthy(1, hours=3)
    assert plan.healthy
    assert [int(fault.at_s // 3600) for fault in plan.faults] == [0, 1, 2]
    assert plan.lasts_s == 3 * 3600.0


def run_with(findings: list[Finding], root: ObjectRef) -> CampaignRun:
    """A spine that is down from 100 s to 200 s of an hour."""
    plan = Plan(CONFIG, (ScheduledFault(fault="spine-down"),), 3600.0, 1)
    truth = Truth("spine-down", IncidentKind.DEVICE_DOWN, root, 100 * NS_PER_S, 200 * NS_PER_S)
    return CampaignRun(plan, truths=[truth], findings={f.id: f for f in findings}, series=1000, topology=TOPOLOGY)


def test_findings_are_counted_by_whether_a_fault_explains_them() -> None:
    findings = [
        finding(FindingKind.LINK_DOWN, "port:spine1/Ethernet1/1", 110.0, "link_down"),
        finding(FindingKind.TARGET_SILENT, "device:spine1", 120.0, "target_silent"),
        finding(FindingKind.STRAGGLER, f"gpu:{GPU}", 120.0, "straggler"),
        finding(FindingKind.LINK_DOWN, "port:spine1/Ethernet1/1", 2000.0, "link_down"),
    ]
    result = judge(run_with(findings, device("spine1")))
    (fault,) = result.faults
    assert fault.by == {"link_down": 1.0, "target_silent": 2.0} == fault.direct
    assert result.true == {"link_down": 1, "target_silent": 1}
    assert result.false_by == {("spine-down", "straggler"): 1, ("", "link_down"): 1}
    table = {row["detector"]: row for row in rows([result]) if row["table"] == "detectors"}
    assert table["link_down"]["precision"] == 0.5
    assert table["link_down"]["first_detector"] == 1


def test_every_finding_of_an_hour_without_faults_is_false() -> None:
    run = run_with([finding(FindingKind.LINK_DOWN, "port:spine1/Ethernet1/1", 110.0)], device("spine1"))
    run.plan, run.truths = replace(run.plan, faults=()), []
    row = next(row for row in rows([judge(run)]) if row["table"] == "false")
    assert (row["during"], row["false_findings"], row["hours"]) == ("healthy", 1, 1.0)


SPINE = device("spine1")


def fired(run: CampaignRun, *versions: Incident) -> CampaignRun:
    for version in versions:
        run.add(version)
    return run


def at(
    second: float, root: ObjectRef = SPINE, kind: IncidentKind = IncidentKind.DEVICE_DOWN, **options: Any
) -> Incident:
    """An incident whose onset is at ``second`` and that fires 5 s later."""
    onset_ns = int(second * NS_PER_S)
    return incident(root, kind, onset_ns=onset_ns, fired_ns=onset_ns + 5 * NS_PER_S, **options)


@pytest.mark.parametrize(
    ("given", "right", "wrong", "false"),
    [
        (at(105.0), 1, 0, 0),
        (at(105.0, device("leaf1")), 0, 1, 0),
        (at(105.0, kind=IncidentKind.LINK_DOWN), 1, 0, 0),  # the root counts, the kind apart
        (at(250.0), 1, 0, 0),  # while it settles
        (at(50.0), 0, 0, 1),
        (at(1000.0), 0, 0, 1),
    ],
)
def test_an_incident_names_the_root_or_something_else_or_is_false(
    given: Incident, right: int, wrong: int, false: int
) -> None:
    result = judge(fired(run_with([], SPINE), given))
    (fault,) = result.faults
    assert (len(fault.right), len(fault.wrong), len(result.false_incidents)) == (right, wrong, false)


def test_delays_count_from_the_begin_of_the_fault_in_intervals() -> None:
    cheap, dear = at(105.0), at(105.0, gpu_seconds=3.0)
    result = judge(fired(run_with([], SPINE), cheap, replace(dear, updated_ns=140 * NS_PER_S)))
    (fault,) = result.faults
    assert (fault.delay, fault.cost_delay) == (1.0, 4.0)
    assert (fault.kind_right, fault.right_first) == (True, True)


def test_the_earliest_of_two_right_incidents_is_the_delay() -> None:
    first, second = at(125.0, key="a"), at(105.0, kind=IncidentKind.LINK_DOWN, key="b")
    (fault,) = judge(fired(run_with([], SPINE), first, second)).faults
    assert (fault.delay, len(fault.right), fault.kind_right) == (1.0, 2, True)


def test_the_newest_version_is_judged_and_the_first_apart() -> None:
    wrong, right = at(105.0, device("leaf1"), key="a"), at(105.0, key="a")
    (fault,) = judge(fired(run_with([], SPINE), wrong, right)).faults
    assert (len(fault.right), len(fault.wrong), fault.right_first) == (1, 0, False)
    (fault,) = judge(fired(run_with([], SPINE), right, wrong)).faults
    assert (len(fault.right), len(fault.wrong), fault.delay != fault.delay) == (0, 1, True)


def two_faults() -> CampaignRun:
    """spine1 from 100 s to 200 s, spine2 from 150 s to 250 s, spine3 from 1000 s to 1100 s."""
    run = run_with([], SPINE)
    times = (("spine2", 150, 250), ("spine3", 1000, 1100))
    run.truths += [
        Truth("spine-down", IncidentKind.DEVICE_DOWN, device(name), begins * NS_PER_S, ends * NS_PER_S)
        for name, begins, ends in times
    ]
    return run


@pytest.mark.parametrize(
    ("given", "right", "wrong"),
    [
        (at(160.0), [1, 0, 0], [0, 0, 0]),
        (at(160.0, device("spine2")), [0, 1, 0], [0, 0, 0]),
        (at(160.0, parse_object("port:spine1/Ethernet1/1")), [0, 0, 0], [1, 0, 0]),  # of what the first affects
        (at(160.0, device("node99")), [0, 0, 0], [0, 1, 0]),  # of neither: the last that lasts
        (at(1010.0, device("spine2")), [0, 0, 0], [0, 0, 1]),
    ],
)
def test_an_incident_is_of_one_fault_alone(given: Incident, right: list[int], wrong: list[int]) -> None:
    result = judge(fired(two_faults(), given))
    assert [len(fault.right) for fault in result.faults] == right
    assert [len(fault.wrong) for fault in result.faults] == wrong


def test_faults_that_overlap_are_paired() -> None:
    assert [fault.paired for fault in judge(two_faults()).faults] == [True, True, False]


def test_what_was_observed_is_in_series_days() -> None:
    result = judge(run_with([], SPINE))
    assert (result.days, result.series_days, result.healthy, result.seed) == (1 / 24, 1000 / 24, False, 1)
