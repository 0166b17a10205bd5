"""Which symptoms a cause explains, by how near they are: tables by hand from ``telemetry/kinds/incidents.yaml``."""

from dataclasses import replace

import pytest

from analytics.correlate.cause import cause_of
from analytics.correlate.config import CorrelateConfig
from analytics.correlate.symptoms import Near, explains
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.objects import device, parse_object
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, S

CONFIG = CorrelateConfig()
ANYWHERE = set(Near)
NOWHERE: set[Near] = set()
OWN = {Near.OWN}
JOBS = {Near.CERTAIN_JOB, Near.POSSIBLE_JOB}
NOT_FABRIC = ANYWHERE - {Near.FABRIC}


def near_enough(cluster: Fabric, kind: I, root: str, symptom: K) -> set[Near]:
    """How near a symptom with the onset of the cause may be to come from it."""
    cause = cause_of(kind, parse_object(root), frozenset(), "")
    finding = cluster.find(symptom, "leaf1")
    return {near for near in Near if explains(CONFIG, cause, near, T0, finding)}


@pytest.mark.parametrize(
    ("kind", "root", "symptom", "expected"),
    [
        # A fault that disturbs the fabric explains its traffic anywhere, and jobs that depend on it.
        (I.DEVICE_DOWN, "device:spine1", K.PFC_PAUSE_SENT, ANYWHERE),
        (I.DEVICE_DOWN, "device:spine1", K.DEVIATION, ANYWHERE),
        (I.DEVICE_DOWN, "device:spine1", K.JOB_STALLED, NOT_FABRIC),
        # Others explain marks and queues anywhere, but neither pauses nor drops.
        (I.GPU_FAULT, "gpu:node1/GPU-0001-0", K.ECN_MARKING, ANYWHERE),
        (I.GPU_FAULT, "gpu:node1/GPU-0001-0", K.PFC_PAUSE_SENT, NOT_FABRIC),
        (I.GPU_FAULT, "gpu:node1/GPU-0001-0", K.LOSSLESS_DROPS, NOT_FABRIC),
        # A straggler comes from what its job depends on, or from storage.
        (I.DEVICE_DOWN, "device:node1", K.STRAGGLER, {Near.OWN, Near.CERTAIN_JOB}),
        (I.SLOW_STORAGE, "storage_target:scratch/OST0000", K.STRAGGLER, NOT_FABRIC),
        # GPUs without kernels wait for storage, or for what their job cannot go on without; not for the fabric.
        (I.SLOW_STORAGE, "storage_target:scratch/OST0000", K.JOB_IDLE, {Near.OWN, *JOBS}),
        (I.DEVICE_DOWN, "device:oss1", K.JOB_IDLE, {Near.OWN, Near.CERTAIN_JOB}),
        (I.SLOW_RECEIVER, "port:leaf1/1", K.JOB_IDLE, OWN),
        (I.GPU_FAULT, "gpu:node1/GPU-0001-0", K.JOB_IDLE, OWN),
        # A checkpoint is written while no kernel runs.
        (I.GPU_FAULT, "gpu:node1/GPU-0001-0", K.CHECKPOINT_LATE, OWN),
        (I.DEVICE_DOWN, "device:node1", K.CHECKPOINT_LATE, {Near.OWN, Near.CERTAIN_JOB}),
        (I.LINK_FLAPPING, "link:a/1--b/1", K.CHECKPOINT_LATE, NOT_FABRIC),
        (I.SLOW_STORAGE, "storage_target:scratch/OST0000", K.CHECKPOINT_COLLIDING, NOT_FABRIC),
        # Storage is slow behind a link that loses packets, next to a job that uses it or at its server.
        (I.LINK_FLAPPING, "link:a/1--b/1", K.STORAGE_SLOW, NOT_FABRIC),
        (I.LINK_DEGRADED, "link:a/1--b/1", K.STORAGE_SLOW, NOT_FABRIC),
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
    assert explains(CONFIG, cause, Near.OWN, T0, finding) is expected
