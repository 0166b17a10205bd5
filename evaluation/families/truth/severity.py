"""How severe the first notice of a fault should be, and how soon it should come: from what the fault cost, not from
what the product says of its own kinds."""

from evaluation.families.truth.reach import Reach
from telemetry.incidents import IncidentKind, Severity
from telemetry.objects import ObjectKind

INFO, WARNING, CRITICAL = Severity.INFO, Severity.WARNING, Severity.CRITICAL
# What the product promises (docs/correlation.md, Cost): critical where waiting jobs lose 6 whole GPUs, or 600
# GPU-seconds are lost. Not read from its settings: a product that is set otherwise is judged by the same limits.
CRITICAL_GPUS, CRITICAL_GPU_SECONDS = 6.0, 600.0
TOLERANCE = 1.5  # within this factor of a limit either severity is right
STANDSTILL = IncidentKind.PAUSE_LOOP  # it never ends by itself, whoever waits behind it now
# Nothing waits for a device that is back after its reboot, nor for a row of memory that was replaced. Bits that are
# repaired, heat that slows nothing yet and a GPU that its job does not wait for may be said early, or on a board alone.
HARMLESS = frozenset({IncidentKind.DEVICE_REBOOTED, IncidentKind.WEAR, IncidentKind.LINK_DEGRADED})
HARMLESS |= {IncidentKind.ENVIRONMENT, IncidentKind.STRAGGLER}
# Pressure is what all fabrics and file systems have. Where nobody waits for it, it is a line on a board.
PRESSURE = frozenset({IncidentKind.SLOW_RECEIVER, IncidentKind.INCAST, IncidentKind.CONGESTION})
PRESSURE |= {IncidentKind.SLOW_STORAGE, IncidentKind.STORAGE_PATH, IncidentKind.LATE_CHECKPOINT}
PRESSURE |= {IncidentKind.TCP_FALLBACK}  # a job that exchanges little loses nothing by it
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


def severities_due(reach: Reach, at_ns: int = 0) -> frozenset[Severity]:
    """Severities that are right for a notice at ``at_ns``; with INFO nobody has to be paged, with none nobody may.

    Whether INFO is among them does not depend on ``at_ns``. None is right for planned work, also where nobody announced
    it: its hosts were drained before, and who stopped their jobs knows what it cost.
    """
    truth = reach.truth
    if truth.planned:
        return frozenset()
    if truth.expected is IncidentKind.TELEMETRY_LOST:
        return frozenset({INFO})
    if truth.expected is STANDSTILL:
        return frozenset({CRITICAL})
    if not reach.harm.total and truth.fault not in HARD:
        if truth.expected in PRESSURE:
            return frozenset({INFO})
        if truth.expected in HARMLESS or _is_spare(reach):
            return frozenset({INFO, WARNING})
    return _by_cost(reach, at_ns)


def _is_spare(reach: Reach) -> bool:
    """Whether it took a path between switches from the fabric that no job used: whoever works there has others."""
    root, graph = reach.truth.root, reach.graph
    if reach.users:
        return False
    if root.kind is ObjectKind.DEVICE:
        return graph.is_switch(root.name) and not any(map(graph.is_edge, graph.neighbours(root.name)))
    ends = graph.ends(root)
    return bool(ends) and all(map(graph.is_switch, ends))


def _by_cost(reach: Reach, at_ns: int) -> frozenset[Severity]:
    """By the whole GPUs that are lost while the fault lasts, and the GPU-seconds that were lost until then.

    Where whole jobs stand still there is no tolerance: nothing about it is gradual.
    """
    harm = reach.harm
    if harm.standing >= CRITICAL_GPUS:
        return frozenset({CRITICAL})
    times = max(harm.gpus / CRITICAL_GPUS, harm.lost_by(at_ns) / CRITICAL_GPU_SECONDS)
    if times >= TOLERANCE:
        return frozenset({CRITICAL})
    return frozenset({WARNING} if times <= 1.0 / TOLERANCE else {WARNING, CRITICAL})


def is_hard(reach: Reach) -> bool:
    return reach.truth.expected in HARD_KINDS or reach.truth.fault in HARD


def evidence_group(reach: Reach) -> str:
    """Which metrics show the fault: of the GPUs, of the hosts, of storage, else of the switches' ports."""
    root = reach.truth.root
    if root.kind is ObjectKind.DEVICE and root.name in reach.traffic.servers:
        return "lustre"
    if root.kind is ObjectKind.DEVICE and reach.graph.is_edge(root.name):
        return "node"
    return GROUPS.get(root.kind, "ports")


def limit_s(reach: Reach, evidence_s: float) -> float:
    """How late the page may be. evidence_s: how far the evidence of its group is apart."""
    return evidence_s + SLACK_S if is_hard(reach) else SLOW_INTERVALS * evidence_s
