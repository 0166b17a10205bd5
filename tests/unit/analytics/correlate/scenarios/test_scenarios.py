"""One fault is one incident with the right root, and two are two."""

from typing import Any

import pytest

from telemetry.incidents import IncidentKind as I
from telemetry.incidents import IncidentState
from tests.unit.analytics.correlate.faults import (
    Make,
    bgp_down,
    checkpoint_late,
    checkpoints_collide,
    dirty_optic,
    dirty_optic_before_storage,
    exporter_frozen,
    gpu_lost,
    gpu_throttled,
    host_down,
    host_link_down,
    incast,
    incast_without_pauses,
    line_card,
    link_down,
    link_down_takes_its_session,
    link_flapping,
    metadata_storm,
    node_overheats,
    pause_loop,
    program_fails,
    rack_overheats,
    rack_power,
    reboot,
    routing_daemon,
    slow_receiver,
    slow_storage,
    spine_down,
    spine_down_noticed_slowly,
    storage_pauses,
    straggler,
    tcp_fallback,
)
from tests.unit.analytics.correlate.small_fabric import Fabric, Run

SCENARIOS: list[tuple[Make, I, str]] = [
    (slow_receiver, I.SLOW_RECEIVER, "port:leaf3/Ethernet4"),
    (incast, I.INCAST, "port:leaf2/Ethernet12"),
    (incast_without_pauses, I.INCAST, "port:leaf2/Ethernet12"),
    (pause_loop, I.PAUSE_LOOP, "port:leaf1/Ethernet4000"),
    (link_down, I.LINK_DOWN, "link:leaf1/Ethernet4000--spine1/Ethernet0"),
    (link_down_takes_its_session, I.LINK_DOWN, "link:leaf1/Ethernet4000--spine1/Ethernet0"),
    (bgp_down, I.BGP_DOWN, "device:leaf3"),
    (routing_daemon, I.BGP_DOWN, "device:spine2"),
    (line_card, I.DEVICE_DOWN, "device:spine2"),
    (metadata_storm, I.SLOW_STORAGE, "storage_target:scratch/OST0001"),
    (host_link_down, I.LINK_DOWN, "link:leaf1/Ethernet0--node1/mlx5_0"),
    (link_flapping, I.LINK_FLAPPING, "link:leaf2/Ethernet4004--spine2/Ethernet4"),
    (dirty_optic, I.LINK_DEGRADED, "link:leaf2/Ethernet4008--spine3/Ethernet4"),
    (dirty_optic_before_storage, I.LINK_DEGRADED, "link:leaf2/Ethernet4008--spine3/Ethernet4"),
    (spine_down, I.DEVICE_DOWN, "device:spine2"),
    (spine_down_noticed_slowly, I.DEVICE_DOWN, "device:spine2"),
    (host_down, I.DEVICE_DOWN, "device:node3"),
    (rack_power, I.RACK_POWER, "rack:r1"),
    (rack_overheats, I.ENVIRONMENT, "rack:r1"),
    (reboot, I.DEVICE_REBOOTED, "device:leaf4"),
    (program_fails, I.PROGRAM_FAILED, "job:1"),
    (straggler, I.STRAGGLER, "gpu:node6/GPU-0006-1"),
    (tcp_fallback, I.TCP_FALLBACK, "device:node6"),
    (gpu_throttled, I.GPU_FAULT, "gpu:node6/GPU-0006-1"),
    (gpu_lost, I.GPU_FAULT, "gpu:node1/GPU-0001-5"),
    (node_overheats, I.GPU_FAULT, "gpu:node1/GPU-0001-0"),
    (slow_storage, I.SLOW_STORAGE, "storage_target:scratch/OST0002"),
    (storage_pauses, I.SLOW_STORAGE, "storage_target:scratch/OST0002"),
    (checkpoint_late, I.LATE_CHECKPOINT, "job:1"),
    (checkpoints_collide, I.LATE_CHECKPOINT, "job:1"),
    (exporter_frozen, I.TELEMETRY_LOST, "device:node5"),
]


@pytest.mark.parametrize(("make", "kind", "root"), SCENARIOS, ids=lambda value: getattr(value, "__name__", ""))
def test_one_fault_is_one_incident_with_its_root(make: Make, kind: Any, root: Any, cluster: Fabric, run: Run) -> None:
    ticks = make(cluster)
    for findings in ticks:
        run.tick(*findings)
    run.tick(ticks=30)
    incident = run.only
    assert (incident.kind, str(incident.root), incident.state) == (kind, root, IncidentState.FIRING)
    assert set(incident.findings) == {finding.id for findings in ticks for finding in findings}
    assert len(incident.title) <= 140
    assert "{" not in incident.action + incident.runbook


@pytest.mark.parametrize(("make", "kind", "root"), SCENARIOS, ids=lambda value: getattr(value, "__name__", ""))
def test_strong_evidence_fires_within_two_ticks(make: Make, kind: Any, root: Any, cluster: Fabric, run: Run) -> None:
    for findings in make(cluster):
        run.tick(*findings)
    run.tick(ticks=2)
    assert [str(incident.root) for incident in run.incidents.values()] == [root]


PAIRS = [
    (slow_receiver, gpu_lost, ["gpu_fault node1/GPU-0001-5", "slow_receiver leaf3/Ethernet4"]),
    (slow_receiver, incast, ["incast leaf2/Ethernet12", "slow_receiver leaf3/Ethernet4"]),
    (link_down, straggler, ["link_down leaf1/Ethernet4000--spine1/Ethernet0", "straggler node6/GPU-0006-1"]),
    (link_down, spine_down, ["device_down spine2", "link_down leaf1/Ethernet4000--spine1/Ethernet0"]),
    (spine_down, slow_storage, ["device_down spine2", "slow_storage scratch/OST0002"]),
    (dirty_optic, slow_storage, ["link_degraded leaf2/Ethernet4008--spine3/Ethernet4", "slow_storage scratch/OST0002"]),
    (host_down, dirty_optic, ["device_down node3", "link_degraded leaf2/Ethernet4008--spine3/Ethernet4"]),
]


@pytest.mark.parametrize(("one", "other", "roots"), PAIRS, ids=lambda value: getattr(value, "__name__", ""))
def test_two_faults_at_once_are_two_incidents(
    one: Make, other: Make, roots: list[str], cluster: Fabric, run: Run
) -> None:
    first, second = one(cluster), other(cluster)
    for tick in range(max(len(first), len(second))):
        both = (first[tick] if tick < len(first) else []) + (second[tick] if tick < len(second) else [])
        run.tick(*both)
    run.tick(ticks=30)
    assert run.roots == roots
