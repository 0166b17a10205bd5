"""What every kind of finding, incident and effect means: one table each, as data, checked when it is loaded.

All stages read the same tables: correlation what explains what, alerts whose incident it is, people the texts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import ConfigDict, TypeAdapter

from telemetry.findings import FindingKind
from telemetry.incidents import IncidentKind, Severity
from telemetry.objects import ObjectKind

_STRICT = ConfigDict(extra="forbid")
_ACRONYMS = frozenset({"bgp", "gpu", "tcp"})


class FindingGroup(StrEnum):
    """Kinds of findings that causes use together."""

    PAUSE = "pause"
    QUEUE = "queue"
    CONGESTION = "congestion"
    LINK = "link"
    ROUTING = "routing"
    ENVIRONMENT = "environment"
    SILENCE = "silence"
    REBOOT = "reboot"
    GPU = "gpu"
    STRAGGLER = "straggler"
    TRANSPORT = "transport"
    PROGRAM = "program"
    JOB = "job"
    STORAGE = "storage"
    STORAGE_CLIENT = "storage_client"
    CHECKPOINT = "checkpoint"
    TREND = "trend"
    DEVIATION = "deviation"


class Domain(StrEnum):
    """The part of the cluster, and so the team, that an incident concerns."""

    FABRIC = "fabric"
    DEVICE = "device"
    POWER = "power"
    GPU = "gpu"
    STORAGE = "storage"
    CAPACITY = "capacity"
    TELEMETRY = "telemetry"
    UNKNOWN = "unknown"


class Tier(IntEnum):
    """Causes of a lower tier explain first; a higher tier gets only the findings that are left."""

    HARD = 0
    DEPENDENT = 1  # may be clients that wait behind a hard cause: storage and a link that loses packets
    SOFT = 2  # may be a consequence of any hard cause: a straggler, an incast without pauses, silence
    RESIDUAL = 3  # symptoms that nothing explained


class HoldPolicy(StrEnum):
    """How long a cause waits before it fires, because it may turn out to be a part of a larger one; longest last."""

    NONE = "none"  # its detectors have already waited for a second sample
    TICK = "tick"
    INTERVAL = "interval"  # until every device has been read once
    SILENCE = "silence"  # until a device that died would be silent
    BUSY = "busy"  # for longer than the memory and the IOMMU of a healthy host are busy


class Effect(StrEnum):
    """What a symptom shows. What each means stands in ``effects.yaml``."""

    BACK_PRESSURE = "back_pressure"
    QUEUEING = "queueing"
    DROPS = "drops"
    SESSION_LOST = "session_lost"
    RETRANSMISSION = "retransmission"
    LINE_ERRORS = "line_errors"
    TRAFFIC_LOST = "traffic_lost"
    CLOCK_LOST = "clock_lost"
    POWER_LOST = "power_lost"
    HEAT = "heat"
    LONGER_WORK = "longer_work"
    JOB_SLOWED = "job_slowed"
    JOB_STALLED = "job_stalled"
    JOB_IDLE = "job_idle"
    STORAGE_WAITS = "storage_waits"
    CLIENT_WAITS = "client_waits"
    WRITES_WAIT = "writes_wait"
    WRITES_MISSING = "writes_missing"
    WORN = "worn"
    OTHER = "other"


class Within(StrEnum):
    """How far an effect of a cause reaches, each including the ones before; a path includes nothing else."""

    OWN = "own"
    CERTAIN = "certain"
    JOBS = "jobs"
    DEVICE = "device"
    FABRIC = "fabric"
    PATH = "path"


@dataclass(frozen=True, slots=True)
class DetectorMeaning:
    """What a detector looks for, and when it breaches."""

    __pydantic_config__ = _STRICT

    finds: str
    limit: str


@dataclass(frozen=True, slots=True)
class FindingMeaning:
    """A row of ``findings.yaml``, where each field is explained."""

    __pydantic_config__ = _STRICT

    objects: tuple[ObjectKind, ...]
    group: FindingGroup
    meaning: str
    text: str
    detectors: Mapping[str, DetectorMeaning]
    record: str = ""
    cause: str = ""
    symptom: bool = False
    shows: Effect | None = None
    by_evidence: bool = False
    faint: bool = False
    waiting: bool = False


@dataclass(frozen=True, slots=True)
class EffectMeaning:
    """A row of ``effects.yaml``, where each field is explained."""

    __pydantic_config__ = _STRICT

    meaning: str
    up: frozenset[str] = frozenset()
    down: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Prediction:
    """One effect of a cause.

    through: kinds of its own evidence without which it has not that effect; empty: any. silent_through: those without
    which a job that waits for it still sends; None: it may send nothing.
    """

    __pydantic_config__ = _STRICT

    within: Within
    through: frozenset[FindingKind] = frozenset()
    silent_through: frozenset[FindingKind] | None = None


@dataclass(frozen=True, slots=True)
class IncidentMeaning:
    """A row of ``incidents.yaml``, where each field is explained."""

    __pydantic_config__ = _STRICT

    meaning: str
    root: str
    domain: Domain
    severity_floor: Severity
    prior: float
    tier: Tier
    hold: HoldPolicy
    evidence: frozenset[FindingKind]
    returning: frozenset[FindingKind]
    predicts: Mapping[Effect, Prediction]
    phrase: str
    action: str
    runbook: str
    severity_ceiling: Severity = Severity.CRITICAL
    away: str = ""
    over: str = ""
    over_action: str = ""
    absent: str = ""
    denied_by: frozenset[FindingKind] = frozenset()
    resembles: tuple[IncidentKind, ...] = ()
    intermittent: bool = False
    pages_without_waiting: bool = True
    wait_hold: HoldPolicy = HoldPolicy.NONE
    disturbs_fabric: bool = False
    takes_away: frozenset[Literal["gpus", "device", "path"]] = frozenset()


@cache
def finding_kinds() -> Mapping[FindingKind, FindingMeaning]:
    """The whole table of findings."""
    return TypeAdapter(dict[FindingKind, FindingMeaning]).validate_python(_read("findings.yaml"))


@cache
def effects() -> Mapping[Effect, EffectMeaning]:
    """The whole table of effects."""
    return TypeAdapter(dict[Effect, EffectMeaning]).validate_python(_read("effects.yaml"))


@cache
def incident_kinds() -> Mapping[IncidentKind, IncidentMeaning]:
    """The whole table of incidents."""
    rows = _read("incidents.yaml")
    for row in rows.values():
        row["tier"] = Tier[row["tier"].upper()]
        row["evidence"], row["returning"] = _kinds(row["evidence"]), _kinds(row["returning"])
        row["denied_by"] = _kinds(row.get("denied_by", ()))
        row["predicts"] = _predictions(row["predicts"])
    return TypeAdapter(dict[IncidentKind, IncidentMeaning]).validate_python(rows)


def in_words(kind: IncidentKind) -> str:
    """
    >>> in_words(IncidentKind.GPU_FAULT), in_words(IncidentKind.SLOW_STORAGE)
    ('GPU fault', 'slow storage')
    """
    first, *rest = kind.split("_")
    return " ".join((first.upper() if first in _ACRONYMS else first, *rest))


def kinds_in(*groups: FindingGroup) -> frozenset[FindingKind]:
    """All kinds of findings of these groups."""
    return frozenset(kind for kind, row in finding_kinds().items() if row.group in groups)


def _kinds(names: Iterable[str]) -> frozenset[FindingKind]:
    """Kinds by their names, or by the names of their groups."""
    found: set[FindingKind] = set()
    for name in names:
        found |= {FindingKind(name)} if name in set(FindingKind) else kinds_in(FindingGroup(name))
    return frozenset(found)


def _predictions(row: Mapping[str, Any]) -> dict[str, Any]:
    """One a row: a reach alone stands for an effect without conditions, ``any`` for every effect that is not named."""
    named = {name: value if isinstance(value, Mapping) else {"within": value} for name, value in row.items()}
    if rest := named.pop("any", None):
        named = dict.fromkeys(map(str, Effect), rest) | named
    return named


def _read(name: str) -> dict[str, Any]:
    text = files("telemetry.kinds").joinpath(name).read_bytes()
    table: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    return table
