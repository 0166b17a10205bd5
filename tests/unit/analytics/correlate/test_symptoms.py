"""Which symptoms a cause explains, by how near they are: tables by hand from ``telemetry/kinds/incidents.yaml``."""

from dataclasses import replace

import pytest

from analytics.correlate.cause import cause_of
from analytics.correlate.config import CorrelateConfig
from analytics.correlate.symptoms import Near, Objection, effect_of, why_not
from telemetry.findings import Evidence
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.kinds import Effect
from telemetry.objects import device, parse_object
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, S

CONFIG = CorrelateConfig()
ANYWHERE = set(Near)
NOWHERE: set[Near] = set()
OWN = {Near.OWN}
JOBS = {Near.CERTAIN_JOB, Near.POSSIBLE_JOB}
ON_DEVICE = ANYWHERE - {Near.FABRIC}


def near_enough(cluster: Fabric, kind: I, root: str, symptom: K) -> set[Near]:
    """How near a symptom with the onset of the cause may be to come from it."""
    cause = cause_of(kind, parse_object(root), frozenset(), "")
    finding = cluster.find(symptom, "leaf1")
    return {near for near in Near if not why_not(CONFIG, cause, near, T0, finding)}


@pytest.mark.parametrize(
    ("kind", "root", "symptom", "expected"),
    [
        # A fault that disturbs the fabric explains its traffic anywhere, and jobs that depend on it.
        (I.DEVICE_DOWN, "device:spine1", K.PFC_PAUSE_SENT, ANYWHERE),
        (I.DEVICE_DOWN, "device:spine1", K.DEVIATION, ANYWHERE),
        (I.DEVICE_DOWN, "device:spine1", K.JOB_STALLED, {Near.OWN, *JOBS}),
        # A slow GPU makes no queue longer and pauses nobody: those who wait for it send less.
        (I.GPU_FAULT, "gpu:node1/GPU-0001-0", K.ECN_MARKING, NOWHERE),
        (I.GPU_FAULT, "gpu:node1/GPU-0001-0", K.PFC_PAUSE_SENT, NOWHERE),
        (I.STRAGGLER, "gpu:node1/GPU-0001-0", K.LOSSLESS_DROPS, NOWHERE),
        (I.GPU_FAULT, "gpu:node1/GPU-0001-0", K.JOB_STALLED, {Near.OWN, Near.CERTAIN_JOB}),
        (I.GPU_FAULT, "gpu:node1/GPU-0001-0", K.DEVIATION, ANYWHERE),
        # A rack that gets warm pauses nobody, though its hosts' ports are its own.
        (I.ENVIRONMENT, "rack:r1", K.PFC_PAUSE_RECEIVED, NOWHERE),
        # Storage that takes no more data pauses those next to it, and nothing far away.
        (I.SLOW_STORAGE, "storage_target:scratch/OST0000", K.PFC_PAUSE_SENT, ON_DEVICE),
        (I.SLOW_STORAGE, "storage_target:scratch/OST0000", K.QUEUE_CONGESTED, ON_DEVICE),
        # A straggler comes from what its job depends on, or from storage.
        (I.DEVICE_DOWN, "device:node1", K.STRAGGLER, {Near.OWN, Near.CERTAIN_JOB}),
        (I.SLOW_STORAGE, "storage_target:scratch/OST0000", K.STRAGGLER, {Near.OWN, *JOBS}),
        # GPUs without kernels wait for storage, or for what their job cannot go on without; not for the fabric.
        (I.SLOW_STORAGE, "storage_target:scratch/OST0000", K.JOB_IDLE, {Near.OWN, *JOBS}),
        (I.DEVICE_DOWN, "device:oss1", K.JOB_IDLE, {Near.OWN, Near.CERTAIN_JOB}),
        (I.SLOW_RECEIVER, "port:leaf1/1", K.JOB_IDLE, NOWHERE),
        (I.GPU_FAULT, "gpu:node1/GPU-0001-0", K.JOB_IDLE, NOWHERE),
        # A checkpoint is written while no kernel runs.
        (I.GPU_FAULT, "gpu:node1/GPU-0001-0", K.CHECKPOINT_LATE, NOWHERE),
        (I.DEVICE_DOWN, "device:node1", K.CHECKPOINT_LATE, {Near.OWN, Near.CERTAIN_JOB}),
        (I.LINK_FLAPPING, "link:a/1--b/1", K.CHECKPOINT_LATE, ON_DEVICE),
        (I.SLOW_STORAGE, "storage_target:scratch/OST0000", K.CHECKPOINT_COLLIDING, {Near.OWN, *JOBS}),
        # Storage is slow behind a link that loses packets, next to a job that uses it or at its server.
        (I.LINK_FLAPPING, "link:a/1--b/1", K.STORAGE_SLOW, ON_DEVICE),
        (I.LINK_DEGRADED, "link:a/1--b/1", K.STORAGE_SLOW, ON_DEVICE),
        # Without a way to its server too, which is at the end of the link or one link from the switch.
        (I.LINK_DOWN, "link:a/1--b/1", K.STORAGE_SLOW, {Near.DEVICE}),
        (I.DEVICE_REBOOTED, "device:leaf1", K.STORAGE_SLOW, {Near.DEVICE}),
        (I.GPU_FAULT, "gpu:node1/GPU-0001-0", K.STORAGE_SLOW, NOWHERE),
        # Weak causes explain what is about their root, forecasts nothing.
        (I.TELEMETRY_LOST, "device:node1", K.DEVIATION, NOWHERE),
        (I.UNEXPLAINED, "device:node1", K.JOB_STALLED, OWN),
        (I.CAPACITY, "device:node1", K.DEVIATION, NOWHERE),
        # What is no symptom is a cause's own evidence or nothing.
        (I.DEVICE_DOWN, "device:node1", K.LINK_DOWN, NOWHERE),
        (I.DEVICE_DOWN, "device:node1", K.GPU_XID, NOWHERE),
    ],
)
def test_how_near_a_symptom_must_be(cluster: Fabric, kind: I, root: str, symptom: K, expected: set[Near]) -> None:
    assert near_enough(cluster, kind, root, symptom) == expected


CLOCK, ACTIVE = "gpu_sm_clock_hertz{}", "gpu_tensor_active_ratio{}"


@pytest.mark.parametrize(
    ("symptom", "values", "shows"),
    [
        # Both are evidence of a straggler: which of them left its normal decides.
        (K.STRAGGLER, [(CLOCK, 1.2e9, 1.9e9), (ACTIVE, 0.9, 0.5)], Effect.CLOCK_LOST),
        (K.STRAGGLER, [(CLOCK, 1.89e9, 1.9e9), (ACTIVE, 0.9, 0.5)], Effect.LONGER_WORK),
        (K.STRAGGLER, [], Effect.LONGER_WORK),
        # To the other side it shows something else.
        (K.DEVIATION, [(CLOCK, 1.9e9, 1.2e9)], Effect.OTHER),
        (K.DEVIATION, [("gpu_temperature_celsius{}", 80.0, 60.0)], Effect.HEAT),
        (K.DEVIATION, [("gpu_temperature_celsius{}", 60.0, 80.0)], Effect.OTHER),
        (K.DEVIATION, [("gpu_power_watts{}", 200.0, None), ("gpu_power_watts{}", 200.0, 600.0)], Effect.POWER_LOST),
        # A kind that is one effect is that one, whatever its values.
        (K.STORAGE_SLOW, [("storage_read_bytes_total{}", 1.0, 9.0)], Effect.STORAGE_WAITS),
    ],
)
def test_what_a_symptom_shows(
    cluster: Fabric, symptom: K, values: list[tuple[str, float, float | None]], shows: Effect
) -> None:
    evidence = tuple(Evidence(series, value, normal, "unit") for series, value, normal in values)
    assert effect_of(replace(cluster.find(symptom, "node1"), evidence=evidence)) is shows


@pytest.mark.parametrize(
    ("kind", "root", "explained"),
    [
        (I.SLOW_STORAGE, "storage_target:scratch/OST0000", False),
        (I.SLOW_RECEIVER, "port:leaf1/Ethernet0", False),
        (I.LINK_DOWN, "link:leaf1/Ethernet0--node1/mlx5_0", False),
        (I.GPU_FAULT, "gpu:node1/GPU-0001-0", True),
        (I.ENVIRONMENT, "rack:r1", True),
    ],
)
def test_neither_storage_nor_the_fabric_lowers_a_clock(cluster: Fabric, kind: I, root: str, explained: bool) -> None:
    slow = replace(cluster.find(K.STRAGGLER, cluster.gpu(1, 0)), evidence=(Evidence(CLOCK, 1.2e9, 1.9e9, "Hz"),))
    cause = cause_of(kind, parse_object(root), frozenset(), "")
    assert any(not why_not(CONFIG, cause, near, T0, slow) for near in Near) is explained


@pytest.mark.parametrize(
    ("kind", "root", "evidence", "expected"),
    [
        # Warm air slows no job; GPUs that it throttles do.
        (I.ENVIRONMENT, "rack:r1", {K.OVERHEATED}, False),
        (I.ENVIRONMENT, "rack:r1", {K.OVERHEATED, K.GPU_THROTTLED}, True),
        # Rows that wait to be replaced slow nothing.
        (I.GPU_FAULT, "gpu:node1/GPU-0001-0", {K.GPU_ROW_REMAP}, False),
        (I.GPU_FAULT, "gpu:node1/GPU-0001-0", {K.GPU_ROW_REMAP, K.GPU_HUNG}, True),
    ],
)
def test_a_job_waits_only_for_what_slows_it(
    cluster: Fabric, kind: I, root: str, evidence: set[K], expected: bool
) -> None:
    cause = cause_of(kind, parse_object(root), frozenset(), "")
    slowed = cluster.find(K.JOB_SLOWED, "job:1")
    assert (why_not(CONFIG, cause, Near.CERTAIN_JOB, T0, slowed, evidence=evidence) is None) is expected


@pytest.mark.parametrize(
    ("symptom", "after_s", "expected"),
    [
        # Three sampling intervals of 10 s before the cause; any time after it, but a straggler six intervals.
        (K.JOB_STALLED, -30.001, False),
        (K.JOB_STALLED, -30, True),
        (K.JOB_STALLED, 9999, True),
        (K.STRAGGLER, -30, True),
        (K.STRAGGLER, 60, True),
        (K.STRAGGLER, 60.001, False),
    ],
)
def test_the_time_between_cause_and_symptom(cluster: Fabric, symptom: K, after_s: float, expected: bool) -> None:
    cause = cause_of(I.DEVICE_DOWN, device("leaf1"), frozenset(), "")
    finding = replace(cluster.find(symptom, "leaf1"), onset_ns=T0 + round(after_s * S))
    assert (why_not(CONFIG, cause, Near.OWN, T0, finding) is None) is expected


@pytest.mark.parametrize(
    ("cause_s", "symptom_s", "slack_s"),
    [
        (0.0, 0.0, 30),
        (1.0, 1.0, 15),
        (1.0, 0.0, 30),
        (1.0, 10.0, 30),
        (30.0, 1.0, 90),
        (10.0, 30.0, 90),
        (1.0, 900.0, 180),
    ],
)
def test_that_time_counts_in_the_slower_cadence_of_both(
    cluster: Fabric, cause_s: float, symptom_s: float, slack_s: int
) -> None:
    cause = cause_of(I.DEVICE_DOWN, device("leaf1"), frozenset(), "")
    earliest = replace(cluster.find(K.JOB_STALLED, "leaf1"), onset_ns=T0 - slack_s * S, cadence_s=symptom_s)
    earlier = replace(earliest, onset_ns=earliest.onset_ns - 1)
    assert why_not(CONFIG, cause, Near.OWN, T0, earliest, cadence_s=cause_s) is None
    assert why_not(CONFIG, cause, Near.OWN, T0, earlier, cadence_s=cause_s) is Objection.TIME


SILENT = Evidence('silent_seconds{job_id="1"}', 20.0, None, "seconds")


@pytest.mark.parametrize(
    ("kind", "root", "evidence", "objection"),
    [
        (I.INCAST, "port:leaf1/Ethernet0", {K.QUEUE_CONGESTED}, Objection.MECHANISM),
        (I.INCAST, "port:leaf1/Ethernet0", {K.QUEUE_CONGESTED, K.PAUSE_STORM}, None),
        (I.SLOW_RECEIVER, "port:leaf1/Ethernet0", None, Objection.MECHANISM),
        (I.PAUSE_LOOP, "port:leaf1/Ethernet0", {K.PFC_PAUSE_SENT}, None),
        (I.LINK_DOWN, "link:leaf1/Ethernet0--node1/mlx5_0", {K.LINK_DOWN}, None),
        (I.SLOW_STORAGE, "storage_target:scratch/OST0000", {K.STORAGE_SLOW}, None),
    ],
)
def test_who_sends_nothing_does_not_wait_for_a_queue(
    cluster: Fabric, kind: I, root: str, evidence: set[K] | None, objection: Objection | None
) -> None:
    cause = cause_of(kind, parse_object(root), frozenset(), "")
    slowed = cluster.find(K.JOB_SLOWED, "job:1")
    assert why_not(CONFIG, cause, Near.CERTAIN_JOB, T0, slowed, evidence=evidence) is None
    silent = replace(slowed, evidence=(*slowed.evidence, SILENT))
    assert why_not(CONFIG, cause, Near.CERTAIN_JOB, T0, silent, evidence=evidence) is objection
