"""A cause that the evidence allows, and how much each kind of cause and symptom counts."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef


class Tier(IntEnum):
    """Causes of a lower tier explain first; a higher tier sees only what they leave."""

    HARD = 0
    BEHIND = 1  # may be clients that wait behind a hard cause: storage and a link that loses packets
    SOFT = 2  # may be a consequence of any hard cause: a straggler, an incast without pauses, silence
    LEFT = 3  # symptoms that nothing explained


class Patience(StrEnum):
    """How long a cause waits before it fires, because it may turn out to be a part of a larger one."""

    NONE = "none"  # its detectors have waited for a second sample, and it explains itself
    TICK = "tick"
    INTERVAL = "interval"  # until every device has been read once


@dataclass(frozen=True, slots=True)
class Cause:
    """kind and root, the ids of the findings that are its own evidence, and why it ranks where it does.

    factor:  how much of the usual evidence is there, 0..1.
    devices: further devices that it disturbs (those that a pause reached).
    change:  id of the change that explains it, '' for none.
    """

    kind: IncidentKind
    root: ObjectRef
    primary: frozenset[str]
    reason: str
    factor: float = 1.0
    tier: Tier = Tier.HARD
    patience: Patience = Patience.TICK
    devices: frozenset[str] = frozenset()
    change: str = ""

    @property
    def key(self) -> tuple[IncidentKind, ObjectRef]:
        return self.kind, self.root


# How likely a cause is, given equal evidence: the one that explains with a single event what would need several.
PRIOR = {
    IncidentKind.DEVICE_REBOOTED: 1.1,
    IncidentKind.RACK_POWER: 1.3,
    IncidentKind.DEVICE_DOWN: 1.2,
    IncidentKind.PAUSE_LOOP: 1.2,
    IncidentKind.SLOW_RECEIVER: 1.1,
    IncidentKind.LINK_FLAPPING: 1.05,
    IncidentKind.LINK_DOWN: 1.0,
    IncidentKind.LINK_DEGRADED: 0.95,
    IncidentKind.GPU_FAULT: 1.0,
    IncidentKind.SLOW_STORAGE: 1.0,
    IncidentKind.INCAST: 0.9,
    IncidentKind.STRAGGLER: 0.8,
    IncidentKind.ENVIRONMENT: 1.05,
    IncidentKind.BGP_DOWN: 0.9,
    IncidentKind.LATE_CHECKPOINT: 0.8,
    IncidentKind.CAPACITY: 0.5,
    IncidentKind.WEAR: 0.5,
    IncidentKind.CONGESTION: 0.4,
    IncidentKind.TELEMETRY_LOST: 0.3,
    IncidentKind.UNEXPLAINED: 0.2,
}

PAUSES = frozenset({FindingKind.PFC_PAUSE_RECEIVED, FindingKind.PFC_PAUSE_SENT, FindingKind.PAUSE_STORM})
QUEUES = frozenset({FindingKind.ECN_MARKING, FindingKind.QUEUE_CONGESTED, FindingKind.LOSSLESS_DROPS})
# What tells of congestion, at a port or of a whole switch.
CONGESTED = PAUSES | QUEUES | {FindingKind.PFC_WITHOUT_ECN, FindingKind.ECMP_IMBALANCE}
STORAGE = frozenset({FindingKind.STORAGE_SLOW, FindingKind.METADATA_STORM})
ENVIRONMENT = frozenset({FindingKind.OVERHEATED, FindingKind.PART_FAILED})
SILENCE = frozenset({FindingKind.TARGET_SILENT, FindingKind.TARGET_FROZEN})
LINK = frozenset(
    {FindingKind.LINK_DOWN, FindingKind.LINK_FLAPPING, FindingKind.LINK_ERRORS, FindingKind.LINK_SLOW},
)
GPU_FAULTS = frozenset(
    {FindingKind.GPU_THROTTLED, FindingKind.GPU_XID, FindingKind.GPU_LOST, FindingKind.GPU_HUNG}
    | {FindingKind.GPU_ECC, FindingKind.GPU_ROW_REMAP, FindingKind.GPU_NVLINK_ERRORS, FindingKind.GPU_PCIE}
)
CHECKPOINTS = frozenset({FindingKind.CHECKPOINT_LATE, FindingKind.CHECKPOINT_OVERDUE, FindingKind.CHECKPOINT_COLLIDING})
# Findings that tell that something is wrong, not what: any cause may explain them.
SYMPTOMS = (
    frozenset({FindingKind.JOB_STALLED, FindingKind.JOB_SLOWED})
    | CHECKPOINTS
    | {FindingKind.STRAGGLER, FindingKind.DEVIATION, FindingKind.BGP_SESSION, FindingKind.STORAGE_SLOW}
    | CONGESTED
)


def weight(finding: Finding) -> float:
    """What a finding adds to the causes that explain it: confidence times its score, within limits."""
    return max(0.05, min(1.0, finding.confidence)) * max(0.5, min(3.0, finding.score))
