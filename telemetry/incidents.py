"""Incidents: one cause, everything that it explains, and what it costs."""

from dataclasses import dataclass, field
from enum import StrEnum

from telemetry.findings import Evidence
from telemetry.objects import EventTime, Finite, Name, ObjectRef


class IncidentKind(StrEnum):
    """The causes that can be named. What each means stands in ``telemetry/kinds/incidents.yaml``."""

    SLOW_RECEIVER = "slow_receiver"
    INCAST = "incast"
    PAUSE_LOOP = "pause_loop"
    LINK_DOWN = "link_down"
    LINK_FLAPPING = "link_flapping"
    LINK_DEGRADED = "link_degraded"
    BGP_DOWN = "bgp_down"
    DEVICE_DOWN = "device_down"
    DEVICE_REBOOTED = "device_rebooted"
    RACK_POWER = "rack_power"
    ENVIRONMENT = "environment"
    STRAGGLER = "straggler"
    TCP_FALLBACK = "tcp_fallback"
    GPU_FAULT = "gpu_fault"
    PROGRAM_FAILED = "program_failed"
    JOB_HANG = "job_hang"
    SLOW_STORAGE = "slow_storage"
    STORAGE_PATH = "storage_path"
    LATE_CHECKPOINT = "late_checkpoint"
    CAPACITY = "capacity"
    WEAR = "wear"
    CONGESTION = "congestion"
    TELEMETRY_LOST = "telemetry_lost"
    ALERTS_OVERLOADED = "alerts_overloaded"  # of the alerts stage about itself; no cause of correlation
    SAMPLES_DROPPED = "samples_dropped"  # said by the alerts stage; no cause of correlation
    UNEXPLAINED = "unexplained"


class IncidentState(StrEnum):
    PENDING = "pending"
    FIRING = "firing"
    RESOLVED = "resolved"


class Severity(StrEnum):
    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """Larger is worse."""
        return _RANKS.index(self)


_RANKS = (Severity.INFO, Severity.WARNING, Severity.CRITICAL)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """Another cause that the evidence allows, with its confidence 0..1 and why it ranks where it does."""

    kind: IncidentKind
    root: ObjectRef
    confidence: Finite
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

    at_ns: EventTime
    object: ObjectRef
    text: str


@dataclass(frozen=True, slots=True)
class RecordEvent:
    """Something that happened to an object. what: a flap, an outage, an incident, a move, a change. detail: more, as
    which of its parts it was.
    """

    at_ns: EventTime
    what: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """What has happened to an object since ``since_ns``: a port, a cable, a GPU, a device, a storage target.

    events: the newest ones, oldest first. counts: of all of them, by ``what``. score: how often it fails, as of the
    incident with this record: each event is 1 at first and half of that after a week. line: for people, '' where
    nothing came back and nothing was done to it. serials: of the module in each port that the object is or has, by the
    port's name; only where a source states it. parts: what evidence showed of which of its parts, counted as in
    ``counts``, by part: ``{"link 5": {"NVLink error": 3}}``.
    """

    object: ObjectRef
    since_ns: EventTime
    events: tuple[RecordEvent, ...]
    counts: dict[str, int]
    score: Finite
    line: str
    serials: dict[str, str] = field(default_factory=dict)
    parts: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Incident:
    """One cause, as of ``updated_ns``. ``id`` is a function of the telemetry alone and never changes.

    onset_ns:    when what speaks for its root began, or began to matter; telemetry of other intervals may show a first
                 symptom before it. opened_ns: when it was first seen (pending). fired_ns, resolved_ns: 0 until then.
    gpu_seconds: time that GPUs of the blast radius lost so far.
    order_known: False when the sampling period is too long to tell which symptom came first.
    findings:    ids of the findings explained, sorted. gaps: what telemetry is missing, in words.
    title:       at most 140 characters.
    since_first_seen: all its evidence was there when telemetry began: a known fault, and no page until a job waits.
    because:     evidence for the cause, strongest first. against: why it is not the next two hypotheses. missing: what
                 would make it surer, and is not known. All in words, and empty in records from before they existed.
    where:       the root as people call it: ``node1 GPU 3 (serial 1650321004242)``; '' in records from before that.
    occurrences: how often an intermittent fault has come. record: of the root, None where nothing is recorded of it.
    """

    id: Name
    kind: IncidentKind
    root: ObjectRef
    state: IncidentState
    severity: Severity
    title: str
    onset_ns: EventTime
    opened_ns: EventTime
    updated_ns: EventTime
    fired_ns: EventTime
    resolved_ns: EventTime
    confidence: Finite
    order_known: bool
    first_symptom: str
    evidence: tuple[Evidence, ...]
    alternatives: tuple[Hypothesis, ...]
    blast: BlastRadius
    gpu_seconds: Finite
    findings: tuple[str, ...]
    timeline: tuple[TimelineEntry, ...]
    gaps: tuple[str, ...]
    action: str
    runbook: str
    since_first_seen: bool = False
    because: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    occurrences: int = 1
    record: ObjectRecord | None = None
    where: str = ""
