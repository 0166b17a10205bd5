"""How severe the first notice of a fault should be, and how soon it should come: from what was broken, not from what
the product says of its own kinds."""

from evaluation.families.truth.reach import Reach
from telemetry.incidents import IncidentKind, Severity
from telemetry.objects import ObjectKind

INFO, WARNING, CRITICAL = Severity.INFO, Severity.WARNING, Severity.CRITICAL
# Everything behind it stands still.
STANDSTILL = frozenset({IncidentKind.RACK_POWER, IncidentKind.PAUSE_LOOP})
# One GPU or one process stops the whole job.
STOPS_JOB = frozenset({"hung-gpu", "nccl-hang", "xid"})
# A counter or a state says it at once: one interval must do. All others need a course of values.
HARD_KINDS = frozenset(
    {IncidentKind.LINK_DOWN, IncidentKind.DEVICE_DOWN, IncidentKind.DEVICE_REBOOTED, IncidentKind.RACK_POWER}
    | {IncidentKind.BGP_DOWN}
)
HARD = frozenset({"xid", "speed-downgrade"})
SLACK_S = 5.0  # of a hard fault, on top of one interval of its evidence
SLOW_INTERVALS = 3.0
GROUPS = {
    ObjectKind.GPU: "dcgm",
    ObjectKind.RACK: "dcgm",
    ObjectKind.STORAGE_TARGET: "lustre",
    ObjectKind.FILESYSTEM: "lustre",
    ObjectKind.JOB: "dcgm",
}


def severities_due(reach: Reach, *, announced: bool = True) -> frozenset[Severity]:
    """Severities that are right for the first notice; with INFO nobody has to be paged, with none nobody may.

    A fault that slows a job may be either, as that depends on how much; that is generous. announced: whether telemetry
    has the changes that people announce; without them nothing distinguishes maintenance from a fault.
    """
    truth = reach.truth
    if truth.planned:
        return frozenset() if announced else frozenset(Severity)
    if truth.expected is IncidentKind.TELEMETRY_LOST:
        return frozenset({INFO})
    if truth.expected in STANDSTILL or (truth.fault in STOPS_JOB and reach.affected):
        return frozenset({CRITICAL})
    if reach.affected:
        return frozenset({WARNING, CRITICAL})
    # Nothing waits for a device that is back after its reboot, nor for a row of memory that was replaced.
    harmless = truth.expected in (IncidentKind.DEVICE_REBOOTED, IncidentKind.WEAR)
    return frozenset({INFO, WARNING} if harmless else {WARNING})


def is_hard(reach: Reach) -> bool:
    return reach.truth.expected in HARD_KINDS or reach.truth.fault in HARD


def evidence_group(reach: Reach) -> str:
    """Which metrics show the fault: of the GPUs, of the hosts, of storage, else of the switches' ports."""
    root = reach.truth.root
    if root.kind is ObjectKind.DEVICE and root.name in reach.paths.servers:
        return "lustre"
    if root.kind is ObjectKind.DEVICE and reach.graph.is_edge(root.name):
        return "node"
    return GROUPS.get(root.kind, "ports")


def limit_s(reach: Reach, evidence_s: float) -> float:
    """How late the page may be. evidence_s: how far the evidence of its group is apart."""
    return evidence_s + SLACK_S if is_hard(reach) else SLOW_INTERVALS * evidence_s
