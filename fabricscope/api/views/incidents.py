"""Incidents as the API answers them: whole, but for the names of what they reach, which may be thousands."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from enum import StrEnum

from pydantic import Field

from common.errors import BadInput
from fabricscope.api.instants import EXAMPLE, Instant, MaybeInstant
from fabricscope.api.views.view import View
from telemetry import incidents
from telemetry.findings import Evidence
from telemetry.incidents import Hypothesis, IncidentKind, IncidentState, Severity
from telemetry.objects import ObjectRef
from telemetry.series import parse_series_key

MEMBERS_SHOWN = 10
PORT = {"kind": "port", "name": "leaf1/Ethernet4"}
EVIDENCE = {
    "series": 'fabric_port_pfc_pause_seconds_total{device="leaf1",port="Ethernet4",direction="rx",priority="3"}',
    "value": 0.61,
    "normal": 0.0,
    "unit": "ratio",
}


class Members(View):
    """What an incident reaches, of one kind: how many, and at most ten names.

    Those that its root, evidence and timeline name come first, then the others by name. ``more`` is how many are not
    among them: ``GET /api/v1/incidents/{incident_id}/members`` lists all.
    """

    count: int
    first: tuple[str, ...]
    more: int

    @classmethod
    def of(cls, names: Sequence[str], named: Iterable[str] = ()) -> "Members":
        """names: sorted."""
        worst = dict.fromkeys(name for name in named if _holds(names, name))
        first = tuple(dict.fromkeys((*worst, *names[:MEMBERS_SHOWN])))[:MEMBERS_SHOWN]
        return cls(count=len(names), first=first, more=len(names) - len(first))


class MemberKind(StrEnum):
    LINK = "link"
    NODE = "node"
    GPU = "gpu"
    JOB = "job"
    FINDING = "finding"


class Member(View):
    """One link, node, GPU (``host/UUID``) or job that an incident reaches, or the id of a finding that it explains."""

    kind: MemberKind
    name: str = Field(examples=["node1/GPU-5f3c"])


class Blast(View):
    """What the cause reaches. GPUs as ``host/UUID``."""

    links: Members
    nodes: Members
    gpus: Members
    jobs: Members


class TimelineEntry(View):
    """One thing that happened, in event time."""

    at: Instant
    object: ObjectRef
    text: str


class RecordEvent(View):
    """Something that happened to an object. what: a flap, an outage, an incident, a move, a change. detail: more."""

    at: Instant
    what: str
    detail: str


class ObjectRecord(View):
    """What has happened to an object since ``since``: a port, a cable, a GPU, a device, a storage target.

    events: the newest ones, oldest first. counts: of all of them, by ``what``. score: how often it fails: each event is
    1 at first and half of that after a week. line: for people, '' where nothing came back and nothing was done to it.
    serials: of the module in each port that the object is or has, by the port's name. parts: what evidence showed of
    which of its parts, counted as in ``counts``.
    """

    object: ObjectRef = Field(examples=[PORT])
    since: Instant
    events: tuple[RecordEvent, ...] = Field(examples=[[{"at": EXAMPLE, "what": "flap", "detail": ""}]])
    counts: dict[str, int] = Field(examples=[{"flap": 2}])
    score: float = Field(examples=[1.9])
    line: str = Field(examples=["2nd flap in 24 h"])
    serials: dict[str, str] = Field(examples=[{"leaf1/Ethernet4": "INLBM0000001"}])
    parts: dict[str, dict[str, int]] = Field(examples=[{"link 5": {"NVLink error": 3}}])


class Incident(View):
    """One cause, and what it costs, as of ``updated``. The id never changes.

    onset: when what speaks for its root began. opened: when it was first seen. fired, resolved: null until then.
    gpu_seconds: time that GPUs of the blast radius lost so far. order_known: false when the sampling period is too long
    to tell which symptom came first. findings: ids of those that it explains. gaps: what telemetry is missing.
    since_first_seen: all its evidence was there when telemetry began. because, against, missing: why it is this cause
    and not the next ones, and what would make it surer. occurrences: how often an intermittent fault has come. where:
    the root as people call it.
    """

    id: str = Field(examples=["slow_receiver/port:leaf1/Ethernet4/1769896800"])
    kind: IncidentKind
    root: ObjectRef = Field(examples=[PORT])
    state: IncidentState
    severity: Severity
    title: str = Field(examples=["[CRIT] pod1: PFC storm from leaf1/Ethernet4 — 64 GPUs, 1 job stalled"])
    onset: Instant
    opened: Instant
    updated: Instant
    fired: MaybeInstant
    resolved: MaybeInstant = Field(examples=[None])
    confidence: float = Field(ge=0, le=1, examples=[0.93])
    order_known: bool
    first_symptom: str = Field(examples=["leaf1/Ethernet4 is paused by its host for 61 % of the time"])
    evidence: tuple[Evidence, ...] = Field(examples=[[EVIDENCE]])
    alternatives: tuple[Hypothesis, ...] = Field(
        examples=[[{"kind": "incast", "root": PORT, "confidence": 0.2, "reason": "ECN marks without a pausing host"}]]
    )
    blast: Blast
    gpu_seconds: float = Field(examples=[7200.0])
    findings: Members
    timeline: tuple[TimelineEntry, ...]
    gaps: tuple[str, ...] = Field(examples=[["1 of 6 switches silent"]])
    action: str = Field(examples=["Drain node1 and look at its PCIe link."])
    runbook: str = Field(examples=["slow_receiver"])
    since_first_seen: bool
    because: tuple[str, ...] = Field(examples=[["node1 pauses leaf1/Ethernet4 and nothing pauses node1"]])
    against: tuple[str, ...] = Field(examples=[["not incast: no queue is long"]])
    missing: tuple[str, ...] = Field(examples=[["leaf3 not heard of"]])
    occurrences: int = Field(ge=0, examples=[1])
    record: ObjectRecord | None
    where: str = Field(examples=["leaf1/Ethernet4"])

    @classmethod
    def of(cls, incident: incidents.Incident) -> "Incident":
        named = tuple(dict.fromkeys(_named(incident)))
        blast = {kind.name: Members.of(getattr(incident.blast, kind.name), named) for kind in fields(incident.blast)}
        record = {field.name: getattr(incident, field.name) for field in fields(incident)}
        return cls.model_validate(record | {"blast": blast, "findings": Members.of(incident.findings)})


class EvidencePlot(View):
    """One evidence series over time; counters as rates per second. null where there is no value.

    unit, normal: of the line. Without a normal where that of the evidence is of something computed from it.
    """

    series: str = Field(examples=[EVIDENCE["series"]])
    unit: str = Field(examples=["ratio"])
    normal: float | None = Field(examples=[0.0])
    times: tuple[Instant, ...]
    values: tuple[float | None, ...] = Field(examples=[[0.61]])


def members_of(incident: incidents.Incident) -> Iterator[Member]:
    """All of them, by kind and then by name."""
    blast = incident.blast
    of_kind = (blast.links, blast.nodes, blast.gpus, blast.jobs, incident.findings)
    for kind, names in zip(MemberKind, of_kind, strict=True):
        yield from (Member(kind=kind, name=name) for name in names)


def _named(incident: incidents.Incident) -> Iterator[str]:
    """Names that the incident speaks of, what matters most first."""
    yield from (incident.root.name, incident.root.device)
    for evidence in incident.evidence:
        try:
            _, labels = parse_series_key(evidence.series)
        except BadInput:  # computed from many series
            continue
        host = labels.get("device", "")
        yield from (host, f"{host}/{labels.get('gpu', '')}")
    for entry in incident.timeline:
        yield from (entry.object.name, entry.object.device)


def _holds(names: Sequence[str], name: str) -> bool:
    at = bisect_left(names, name)
    return at < len(names) and names[at] == name
