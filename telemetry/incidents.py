"""Incidents: one cause, everything that it explains, and what it costs."""

from dataclasses import dataclass
from enum import StrEnum

from telemetry.findings import Evidence
from telemetry.objects import ObjectRef


class IncidentKind(StrEnum):
    """The causes that correlation can name."""

    SLOW_RECEIVER = "slow_receiver"  # a host pauses its leaf port (PCIe stall, injected storm). Root: the leaf port
    INCAST = "incast"  # many senders into one egress port. Root: that port
    PAUSE_LOOP = "pause_loop"  # a cycle of pauses (deadlock). Root: one port of the cycle
    LINK_DOWN = "link_down"  # root: the link
    LINK_FLAPPING = "link_flapping"  # root: the link
    LINK_DEGRADED = "link_degraded"  # errors or low speed. Root: the link
    BGP_DOWN = "bgp_down"  # a switch lost a session while its links are up. Root: the device
    DEVICE_DOWN = "device_down"  # a switch or host that died. Root: the device
    DEVICE_REBOOTED = "device_rebooted"
    RACK_POWER = "rack_power"  # root: the rack
    ENVIRONMENT = "environment"  # power or cooling of a rack or device, which still works. Root: the rack or device
    STRAGGLER = "straggler"  # root: the GPU
    GPU_FAULT = "gpu_fault"  # XID, fallen off the bus, throttled. Root: the GPU
    SLOW_STORAGE = "slow_storage"  # root: the storage target
    LATE_CHECKPOINT = "late_checkpoint"  # late, missing or colliding, and no storage is slow. Root: the job
    CAPACITY = "capacity"  # will be full soon. Root: the link, device or storage target
    WEAR = "wear"  # will reach the end of its life soon. Root: the link or GPU
    CONGESTION = "congestion"  # congestion that no single cause explains. Root: the worst port
    TELEMETRY_LOST = "telemetry_lost"  # a target is silent or frozen, nothing else is wrong. Root: its device
    UNEXPLAINED = "unexplained"  # findings that no rule joins. Root: the object of the first one


class IncidentState(StrEnum):
    PENDING = "pending"
    FIRING = "firing"
    RESOLVED = "resolved"


class Severity(StrEnum):
    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """Another cause that the evidence allows, with its confidence 0..1 and why it ranks where it does."""

    kind: IncidentKind
    root: ObjectRef
    confidence: float
    reason: str


@dataclass(frozen=True, slots=True)
class BlastRadius:
    """What the cause reaches. All sorted; GPUs as ``host/UUID``."""

    links: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One thing that happened, in event time."""

    at_ns: int
    object: ObjectRef
    text: str


@dataclass(frozen=True, slots=True)
class Incident:
    """One cause, as of ``updated_ns``. ``id`` is a function of the telemetry alone and never changes.

    onset_ns:    first symptom. opened_ns: when it was first seen (pending). fired_ns, resolved_ns: 0 until then.
    gpu_seconds: time that GPUs of the blast radius lost so far.
    order_known: False when the sampling period is too long to tell which symptom came first.
    findings:    ids of the findings explained, sorted. gaps: what telemetry is missing, in words.
    title:       at most 140 characters.
    """

    id: str
    kind: IncidentKind
    root: ObjectRef
    state: IncidentState
    severity: Severity
    title: str
    onset_ns: int
    opened_ns: int
    updated_ns: int
    fired_ns: int
    resolved_ns: int
    confidence: float
    order_known: bool
    first_symptom: str
    evidence: tuple[Evidence, ...]
    alternatives: tuple[Hypothesis, ...]
    blast: BlastRadius
    gpu_seconds: float
    findings: tuple[str, ...]
    timeline: tuple[TimelineEntry, ...]
    gaps: tuple[str, ...]
    action: str
    runbook: str
