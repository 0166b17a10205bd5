"""Faults on a small plant, as the findings that detectors make of them: one incident each, with the right root."""

from collections.abc import Callable
from typing import Any

import pytest

from telemetry.changes import Change, ChangeKind
from telemetry.findings import Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import IncidentState, Severity
from telemetry.objects import ObjectKind, ObjectRef, device
from tests.unit.analytics.correlate.plant import Plant, Run

Make = Callable[[Plant], list[list[Finding]]]  # of a plant: findings tick by tick


def slow_receiver(p: Plant) -> list[list[Finding]]:
    """node2's rail 3 takes nothing; leaf3 pauses the other senders and its spines, these pause other leaves."""
    return [
        [p.find(K.PFC_PAUSE_SENT, p.uplink(3, 1), 1), p.find(K.ECN_MARKING, p.facing(3, 2), 0)],
        [
            p.find(K.PFC_PAUSE_RECEIVED, p.facing(3, 2), 0, score=5),
            p.find(K.PFC_PAUSE_RECEIVED, p.downlink(1, 3), 1),
            p.find(K.PFC_PAUSE_SENT, p.downlink(1, 5), 2),
            p.find(K.PFC_PAUSE_RECEIVED, p.uplink(5, 1), 2),
            p.find(K.PFC_PAUSE_SENT, p.facing(5, 6), 3),
            p.find(K.PFC_PAUSE_RECEIVED, "node6/mlx5_4", 3),
            p.find(K.QUEUE_CONGESTED, p.facing(3, 2), 0),
        ],
        [p.find(K.JOB_STALLED, "job:1", 4), p.find(K.JOB_STALLED, "job:2", 5), p.find(K.STRAGGLER, p.gpu(2, 2), 4)],
    ]


def incast(p: Plant) -> list[list[Finding]]:
    return [
        [p.find(K.PFC_PAUSE_SENT, p.facing(2, 1), 1), p.find(K.ECN_MARKING, p.facing(2, 4), 0, score=4)],
        [
            p.find(K.QUEUE_CONGESTED, p.facing(2, 4), 0, score=4),
            p.find(K.PFC_PAUSE_SENT, p.facing(2, 2), 1),
            p.find(K.PFC_PAUSE_RECEIVED, "node3/mlx5_1", 1),
            p.find(K.QUEUE_CONGESTED, p.facing(2, 7), 1, score=1.2),
            p.find(K.JOB_STALLED, "job:1", 3),
        ],
    ]


def incast_without_pauses(p: Plant) -> list[list[Finding]]:
    return [[p.find(K.QUEUE_CONGESTED, p.facing(2, 4)), p.find(K.ECN_MARKING, p.facing(2, 4))]]


def pause_loop(p: Plant) -> list[list[Finding]]:
    """leaf1 → spine1 → leaf2 → spine2 → leaf1: each waits for the next."""
    ring = [p.uplink(1, 1), p.downlink(1, 2), p.uplink(2, 2), p.downlink(2, 1)]
    return [[p.find(K.PFC_PAUSE_RECEIVED, port, at) for at, port in enumerate(ring)]]


def link_down(p: Plant) -> list[list[Finding]]:
    """One uplink; its traffic moves to the others, which mark and queue more."""
    return [
        [p.find(K.LINK_DOWN, p.uplink(1, 1)), p.find(K.ECN_MARKING, p.uplink(1, 2), 1)],
        [
            p.find(K.LINK_DOWN, p.downlink(1, 1), 2),
            p.find(K.QUEUE_CONGESTED, p.downlink(2, 1), 3),
            p.find(K.DEVIATION, "leaf4/Ethernet0", 4),
            p.find(K.PFC_PAUSE_SENT, p.uplink(1, 3), 4),
        ],
    ]


def host_link_down(p: Plant) -> list[list[Finding]]:
    return [[p.find(K.LINK_DOWN, p.facing(1, 1)), p.find(K.LINK_DOWN, "node1/mlx5_0"), p.find(K.JOB_STALLED, "job:1")]]


def link_flapping(p: Plant) -> list[list[Finding]]:
    return [[p.find(K.LINK_DOWN, p.uplink(2, 2))], [p.find(K.LINK_FLAPPING, p.downlink(2, 2), 5)]]


def dirty_optic(p: Plant) -> list[list[Finding]]:
    return [
        [p.find(K.LINK_ERRORS, p.uplink(2, 3)), p.find(K.LINK_SLOW, p.downlink(3, 2)), p.find(K.DEVIATION, "leaf2")]
    ]


def spine_down(p: Plant) -> list[list[Finding]]:
    """Its leaves notice one after the other, and its silence comes last."""
    return [
        [p.find(K.LINK_DOWN, p.uplink(1, 2))],
        [p.find(K.LINK_DOWN, p.uplink(leaf, 2), 2) for leaf in range(2, 7)],
        [p.find(K.ECN_MARKING, p.downlink(3, 4), 4), p.find(K.LINK_DOWN, p.uplink(7, 2), 4)],
        [p.find(K.TARGET_SILENT, "spine2", 3)],
    ]


def spine_down_noticed_slowly(p: Plant) -> list[list[Finding]]:
    """The first link fires on its own before the rest is seen."""
    return [
        [p.find(K.LINK_DOWN, p.uplink(1, 2))],
        [],
        [],
        [],
        [p.find(K.LINK_DOWN, p.uplink(leaf, 2), 15) for leaf in range(2, 9)],
    ]


def host_down(p: Plant) -> list[list[Finding]]:
    return [[p.find(K.LINK_DOWN, p.facing(leaf, 3), 1) for leaf in range(1, 9)], [p.find(K.TARGET_SILENT, "node3", 2)]]


def rack_power(p: Plant) -> list[list[Finding]]:
    """Every leaf loses half of its hosts and says so: it lives."""
    down = [p.find(K.LINK_DOWN, p.facing(leaf, node), 1) for leaf in range(1, 9) for node in range(1, 5)]
    silent = [p.find(K.TARGET_SILENT, f"node{node}", 2) for node in range(1, 5)]
    return [down[:20], down[20:], silent, [p.find(K.JOB_STALLED, "job:1", 3)]]


def reboot(p: Plant) -> list[list[Finding]]:
    return [[p.find(K.TARGET_SILENT, "leaf4", 0)], [p.find(K.DEVICE_REBOOTED, "leaf4", 5)]]


def straggler(p: Plant) -> list[list[Finding]]:
    return [
        [p.find(K.JOB_STALLED, "job:2", 1), p.find(K.DEVIATION, "leaf3", 2)],
        [p.find(K.STRAGGLER, p.gpu(6, 1), 0, score=4), p.find(K.STRAGGLER, p.gpu(7, 1), 3, score=1.1)],
    ]


def gpu_throttled(p: Plant) -> list[list[Finding]]:
    return [
        [p.find(K.STRAGGLER, p.gpu(6, 1), 0, score=4), p.find(K.JOB_STALLED, "job:2", 1)],
        [p.find(K.GPU_THROTTLED, p.gpu(6, 1), 1)],
    ]


def gpu_lost(p: Plant) -> list[list[Finding]]:
    return [[p.find(K.GPU_LOST, p.gpu(1, 5)), p.find(K.GPU_XID, p.gpu(1, 5)), p.find(K.JOB_STALLED, "job:1", 2)]]


def node_overheats(p: Plant) -> list[list[Finding]]:
    return [[p.find(K.GPU_THROTTLED, p.gpu(1, index)) for index in range(5)]]


def slow_storage(p: Plant) -> list[list[Finding]]:
    """Symptoms come first: both jobs wait for their checkpoint, one GPU looks odd, another target is a bit slower."""
    return [
        [p.find(K.JOB_STALLED, "job:1", 0), p.find(K.STRAGGLER, p.gpu(2, 0), 2)],
        [p.find(K.JOB_STALLED, "job:2", 2), p.find(K.DEVIATION, "oss2", 0), p.find(K.DEVIATION, "node7", 2)],
        [
            p.find(K.STORAGE_SLOW, "storage_target:scratch/OST0002", 1, score=8),
            p.find(K.STORAGE_SLOW, "storage_target:scratch/OST0003", 2, score=1.5),
            p.find(K.CHECKPOINT_LATE, "job:1", 5),
        ],
    ]


def storage_pauses(p: Plant) -> list[list[Finding]]:
    """The server of a slow target stops taking traffic: the target is the cause, not its port."""
    return [
        [
            p.find(K.PFC_PAUSE_RECEIVED, "leaf2/Ethernet7000", 1),
            p.find(K.PFC_PAUSE_RECEIVED, "node1/mlx5_1", 2),
            p.find(K.STORAGE_SLOW, "storage_target:scratch/OST0002", 0),
        ]
    ]


def exporter_frozen(p: Plant) -> list[list[Finding]]:
    return [[p.find(K.TARGET_FROZEN, "node5")]]


SCENARIOS: list[tuple[Make, I, str]] = [
    (slow_receiver, I.SLOW_RECEIVER, "port:leaf3/Ethernet4"),
    (incast, I.INCAST, "port:leaf2/Ethernet12"),
    (incast_without_pauses, I.INCAST, "port:leaf2/Ethernet12"),
    (pause_loop, I.PAUSE_LOOP, "port:leaf1/Ethernet4000"),
    (link_down, I.LINK_DOWN, "link:leaf1/Ethernet4000--spine1/Ethernet0"),
    (host_link_down, I.LINK_DOWN, "link:leaf1/Ethernet0--node1/mlx5_0"),
    (link_flapping, I.LINK_FLAPPING, "link:leaf2/Ethernet4004--spine2/Ethernet4"),
    (dirty_optic, I.LINK_DEGRADED, "link:leaf2/Ethernet4008--spine3/Ethernet4"),
    (spine_down, I.DEVICE_DOWN, "device:spine2"),
    (spine_down_noticed_slowly, I.DEVICE_DOWN, "device:spine2"),
    (host_down, I.DEVICE_DOWN, "device:node3"),
    (rack_power, I.RACK_POWER, "rack:r1"),
    (reboot, I.DEVICE_REBOOTED, "device:leaf4"),
    (straggler, I.STRAGGLER, "gpu:node6/GPU-0006-1"),
    (gpu_throttled, I.GPU_FAULT, "gpu:node6/GPU-0006-1"),
    (gpu_lost, I.GPU_FAULT, "gpu:node1/GPU-0001-5"),
    (node_overheats, I.GPU_FAULT, "gpu:node1/GPU-0001-0"),
    (slow_storage, I.SLOW_STORAGE, "storage_target:scratch/OST0002"),
    (storage_pauses, I.SLOW_STORAGE, "storage_target:scratch/OST0002"),
    (exporter_frozen, I.TELEMETRY_LOST, "device:node5"),
]


@pytest.mark.parametrize(("make", "kind", "root"), SCENARIOS, ids=lambda value: getattr(value, "__name__", ""))
def test_one_fault_is_one_incident_with_its_root(make: Make, kind: Any, root: Any, plant: Plant, run: Run) -> None:
    ticks = make(plant)
    for findings in ticks:
        run.tick(*findings)
    run.tick(ticks=30)
    incident = run.only
    assert (incident.kind, str(incident.root), incident.state) == (kind, root, IncidentState.FIRING)
    assert set(incident.findings) == {finding.id for findings in ticks for finding in findings}
    assert len(incident.title) <= 140
    assert "{" not in incident.action + incident.runbook


@pytest.mark.parametrize(("make", "kind", "root"), SCENARIOS, ids=lambda value: getattr(value, "__name__", ""))
def test_strong_evidence_fires_within_two_ticks(make: Make, kind: Any, root: Any, plant: Plant, run: Run) -> None:
    for findings in make(plant):
        run.tick(*findings)
    run.tick(ticks=2)
    assert [str(incident.root) for incident in run.incidents.values()] == [root]


PAIRS = [
    (slow_receiver, gpu_lost, ["gpu_fault node1/GPU-0001-5", "slow_receiver leaf3/Ethernet4"]),
    (slow_receiver, incast, ["incast leaf2/Ethernet12", "slow_receiver leaf3/Ethernet4"]),
    (link_down, straggler, ["link_down leaf1/Ethernet4000--spine1/Ethernet0", "straggler node6/GPU-0006-1"]),
    (link_down, spine_down, ["device_down spine2", "link_down leaf1/Ethernet4000--spine1/Ethernet0"]),
    (spine_down, slow_storage, ["device_down spine2", "slow_storage scratch/OST0002"]),
    (host_down, dirty_optic, ["device_down node3", "link_degraded leaf2/Ethernet4008--spine3/Ethernet4"]),
]


@pytest.mark.parametrize(("one", "other", "roots"), PAIRS, ids=lambda value: getattr(value, "__name__", ""))
def test_two_faults_at_once_are_two_incidents(one: Make, other: Make, roots: list[str], plant: Plant, run: Run) -> None:
    first, second = one(plant), other(plant)
    for tick in range(max(len(first), len(second))):
        both = (first[tick] if tick < len(first) else []) + (second[tick] if tick < len(second) else [])
        run.tick(*both)
    run.tick(ticks=30)
    assert run.roots == roots


def test_two_slow_receivers_under_one_spine_keep_their_own_ports(plant: Plant, run: Run) -> None:
    run.tick(
        plant.find(K.PFC_PAUSE_RECEIVED, plant.facing(1, 1)),
        plant.find(K.PFC_PAUSE_RECEIVED, plant.facing(2, 6)),
        plant.find(K.PFC_PAUSE_RECEIVED, plant.downlink(1, 1), 1),
        plant.find(K.PFC_PAUSE_RECEIVED, plant.downlink(1, 2), 1),
        plant.find(K.PFC_PAUSE_RECEIVED, plant.uplink(1, 1), 2),
        plant.find(K.PFC_PAUSE_RECEIVED, plant.uplink(2, 1), 2),
    )
    run.tick(ticks=30)
    assert run.roots == ["slow_receiver leaf1/Ethernet0", "slow_receiver leaf2/Ethernet20"]


def test_pauses_of_other_priorities_are_another_story(plant: Plant, run: Run) -> None:
    run.tick(
        plant.find(K.PFC_PAUSE_RECEIVED, plant.facing(1, 1), priority="3"),
        plant.find(K.PFC_PAUSE_RECEIVED, plant.downlink(1, 1), priority="4"),
    )
    incident = run.tick()[0]
    assert incident.evidence[0].series.count('priority="3"') == 1
    assert run.correlator.state()["tracks"][0]["primary"] == [f"pfc_pause_received@port:{plant.facing(1, 1)}"]


def test_healthy_plant_says_nothing(run: Run) -> None:
    assert run.tick(ticks=50) == []
    assert run.incidents == {}


def test_few_deviations_alone_are_no_incident(plant: Plant, run: Run) -> None:
    run.tick(plant.find(K.DEVIATION, "leaf1"), plant.find(K.DEVIATION, "node1"))
    run.tick(ticks=50)
    assert run.incidents == {}


def test_symptoms_without_a_cause_wait_and_then_are_told(plant: Plant, run: Run) -> None:
    run.tick(plant.find(K.JOB_STALLED, "job:1"))
    run.tick(ticks=11)
    assert run.incidents == {}
    run.tick()
    assert (run.only.kind, run.only.root) == (I.UNEXPLAINED, ObjectRef(ObjectKind.JOB, "1"))


def test_pauses_without_an_origin_become_congestion(plant: Plant, run: Run) -> None:
    run.tick(
        plant.find(K.PFC_PAUSE_RECEIVED, plant.downlink(1, 1), score=3),
        plant.find(K.PFC_PAUSE_RECEIVED, plant.uplink(5, 1), 1),
    )
    run.tick(ticks=30)
    assert (run.only.kind, run.only.root.name) == (I.CONGESTION, plant.downlink(1, 1))


def test_unexplained_symptoms_take_their_cause_when_it_shows(plant: Plant, run: Run) -> None:
    stalled = plant.find(K.JOB_STALLED, "job:1", 60)
    run.tick(stalled)
    run.tick(ticks=14)
    before = run.only
    run.tick(plant.find(K.STORAGE_SLOW, "storage_target:scratch/OST0001", 65))
    run.tick(ticks=3)
    assert run.only.id == before.id
    assert run.only.kind is I.SLOW_STORAGE
    assert any("cause revised" in entry.text for entry in run.only.timeline)


def test_busy_core_is_not_blamed_for_links_of_its_neighbours(plant: Plant, run: Run) -> None:
    run.tick(plant.find(K.LINK_DOWN, plant.uplink(1, 2)), plant.find(K.LINK_DOWN, plant.uplink(2, 2)))
    run.tick(ticks=10)
    assert [incident.kind for incident in run.incidents.values()] == [I.LINK_DOWN, I.LINK_DOWN]


def test_most_of_a_job_odd_is_no_straggler(plant: Plant, run: Run) -> None:
    run.tick(*(plant.find(K.STRAGGLER, plant.gpu(node, index)) for node in range(1, 4) for index in range(8)))
    run.tick(ticks=30)
    assert run.only.kind is I.UNEXPLAINED


def test_two_targets_of_one_server_are_one_cause_two_servers_are_two(plant: Plant, run: Run) -> None:
    slow = [plant.find(K.STORAGE_SLOW, f"storage_target:scratch/OST{n:04d}", score=3 + n / 10) for n in range(4)]
    run.tick(*slow)
    run.tick(ticks=5)
    assert run.roots == ["slow_storage scratch/OST0001", "slow_storage scratch/OST0003"]


def test_silence_of_most_devices_is_one_incident(plant: Plant, run: Run) -> None:
    names = [*(f"leaf{n}" for n in range(1, 9)), *(f"spine{n}" for n in range(1, 5)), "node1", "node5"]
    run.tick(*(plant.find(K.TARGET_SILENT, name) for name in names))
    run.tick(ticks=10)
    assert run.only.kind is I.TELEMETRY_LOST
    assert run.only.gaps == ("2 of 8 hosts silent", "12 of 12 switches silent")


def test_planned_reboot_wave_is_one_quiet_incident(plant: Plant, run: Run) -> None:
    nodes = tuple(device(f"node{n}") for n in range(1, 4))
    run.changes = [Change("c1", ChangeKind.REBOOT, nodes, run.now_ns, summary="kernel update")]
    for n in range(1, 4):
        run.tick(
            *(plant.find(K.LINK_DOWN, plant.facing(leaf, n), 60 * n) for leaf in range(1, 9)),
            plant.find(K.TARGET_SILENT, f"node{n}", 60 * n),
            plant.find(K.DEVICE_REBOOTED, f"node{n}", 60 * n + 30),
        )
    run.tick(ticks=3)
    assert (run.only.kind, run.only.severity) == (I.DEVICE_REBOOTED, Severity.INFO)
    assert any(entry.text == "change: reboot kernel update" for entry in run.only.timeline)
    assert set(run.only.blast.nodes) >= {"node1", "node2", "node3"}


def test_maintenance_makes_an_incident_quiet_and_a_config_push_does_not(plant: Plant, start: type[Run]) -> None:
    cases: list[Any] = [(ChangeKind.MAINTENANCE, Severity.INFO), (ChangeKind.CONFIG, Severity.CRITICAL)]
    for kind, severity in cases:
        case = start(plant)
        case.changes = [Change("c1", kind, (device("leaf3"),), case.now_ns - 10**9, summary="work on leaf3")]
        for findings in slow_receiver(plant):
            case.tick(*findings)
        case.tick(ticks=2)
        assert case.only.severity is severity
        assert any("work on leaf3" in entry.text for entry in case.only.timeline)


def test_faint_symptoms_at_a_job_start_are_normal(plant: Plant, run: Run) -> None:
    run.changes = [Change("j", ChangeKind.JOB_START, (ObjectRef(ObjectKind.JOB, "1"),), run.now_ns)]
    run.tick(
        *(plant.find(K.DEVIATION, f"node{n}", 10) for n in range(1, 5)), plant.find(K.ECN_MARKING, "leaf1/Ethernet0")
    )
    run.tick(ticks=40)
    assert run.incidents == {}


def test_what_was_said_about_an_ended_job_is_over(plant: Plant, run: Run) -> None:
    run.tick(plant.find(K.JOB_STALLED, "job:1"))
    fact = run.topology.facts["job/1"]
    run.topology = run.topology.with_facts([type(fact)(fact.entity, fact.observed_ns + 1, "slurm", gone=True)])
    run.tick(ticks=40)
    assert run.incidents == {}


def test_symptom_long_before_a_cause_is_not_its_consequence(plant: Plant, run: Run) -> None:
    run.tick(plant.find(K.JOB_STALLED, "job:1", 0), plant.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000", 31))
    run.tick(ticks=30)
    assert run.roots == ["slow_storage scratch/OST0000", "unexplained 1"]


def test_straggler_long_after_a_cause_is_another_one(plant: Plant, run: Run) -> None:
    run.tick(plant.find(K.STORAGE_SLOW, "storage_target:scratch/OST0000", 0))
    run.tick(plant.find(K.STRAGGLER, plant.gpu(1, 1), 61))
    run.tick(ticks=3)
    assert run.roots == ["slow_storage scratch/OST0000", "straggler node1/GPU-0001-1"]


def test_one_sided_link_waits_for_its_device(plant: Plant, run: Run) -> None:
    """A dead spine cannot speak for its ends, so the first link waits until every leaf has been read."""
    run.tick(plant.find(K.LINK_DOWN, plant.uplink(1, 2)))
    run.tick()
    assert run.incidents == {}
    run.tick(*(plant.find(K.LINK_DOWN, plant.uplink(leaf, 2), 9) for leaf in range(2, 9)))
    assert (run.only.kind, run.only.fired_ns) == (I.DEVICE_DOWN, run.now_ns)


def test_device_that_returns_belongs_to_the_incident_of_its_death(plant: Plant, run: Run) -> None:
    down = [plant.find(K.LINK_DOWN, plant.uplink(leaf, 2)) for leaf in range(1, 9)]
    run.tick(*down)
    run.tick(ticks=3)
    run.clear(*down)
    run.tick(plant.find(K.DEVICE_REBOOTED, "spine2", 30), plant.find(K.LINK_FLAPPING, plant.uplink(3, 2), 30))
    run.tick(ticks=30)
    assert run.roots == ["device_down spine2"]


def test_rack_that_returns_device_by_device_is_still_one_incident(plant: Plant, run: Run) -> None:
    ticks = rack_power(plant)
    for findings in ticks:
        run.tick(*findings)
    run.tick(ticks=3)
    run.clear(*(finding for findings in ticks for finding in findings))
    for node in range(1, 5):
        run.tick(plant.find(K.DEVICE_REBOOTED, f"node{node}", 40 + 5 * node))
    run.tick(ticks=30)
    assert run.roots == ["rack_power r1"]


def test_leaves_that_report_their_lost_hosts_are_alive(plant: Plant, run: Run) -> None:
    """All hosts go: every leaf loses most of its links, but a dead leaf could not say so."""
    down = [plant.find(K.LINK_DOWN, plant.facing(leaf, node)) for leaf in range(1, 9) for node in range(1, 9)]
    run.tick(*down)
    run.tick(ticks=2)
    assert run.roots == ["rack_power r1", "rack_power r2"]


def test_reboot_that_repairs_a_gpu_belongs_to_its_fault(plant: Plant, run: Run) -> None:
    lost = plant.find(K.GPU_LOST, plant.gpu(1, 5))
    run.tick(lost)
    run.tick(ticks=3)
    run.tick(plant.find(K.DEVICE_REBOOTED, "node1", 20))
    run.clear(lost)
    run.tick(ticks=20)
    assert run.roots == ["gpu_fault node1/GPU-0001-5"]


def test_lost_telemetry_puts_nothing_at_risk(plant: Plant, run: Run) -> None:
    run.tick(plant.find(K.TARGET_FROZEN, "node5"))
    run.tick(ticks=3)
    assert (run.only.blast.nodes, run.only.blast.gpus, run.only.blast.jobs) == (("node5",), (), ())
