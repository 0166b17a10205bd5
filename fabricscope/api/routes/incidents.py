"""Incidents, findings, and the evidence behind them."""

import asyncio
import math
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from common.errors import BadInput
from common.units import NS_PER_S
from fabricscope.api.change_event import Time
from fabricscope.api.problem import may_answer
from fabricscope.api.read_model import ReadModel
from telemetry.catalogue import Kind, metrics
from telemetry.findings import Evidence, Finding, FindingState
from telemetry.incidents import Incident, IncidentKind, IncidentState, Severity
from telemetry.series import parse_series_key

router = APIRouter(prefix="/api/v1", tags=["incidents"], responses=may_answer(422))


def read_model(request: Request) -> ReadModel:
    """The application's read model, as FastAPI passes it to an endpoint."""
    model = request.app.state.model
    assert isinstance(model, ReadModel)
    return model


Model = Annotated[ReadModel, Depends(read_model)]


@dataclass(frozen=True, slots=True)
class EvidencePlot:
    """One evidence series over time. ``times`` in seconds since the Unix epoch; counters as rates per second.

    unit, normal: of the line. Without a normal where that of the evidence is of something computed from it.
    """

    series: str
    unit: str
    normal: float | None
    times: list[float]
    values: list[float | None]


class IncidentFilter(BaseModel):
    """Which incidents; those that every given key applies to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: IncidentState | None = None
    severity: Severity | None = None
    kind: IncidentKind | None = None
    object: str | None = Field(None, max_length=512, description="That it is about or reaches, such as node3 or GPU-….")
    since: Time | None = Field(None, description="RFC 3339; those that were open at that time or later.")
    until: Time | None = Field(None, description="RFC 3339; those that began before it.")
    since_first_seen: bool | None = Field(
        None, description="Only known faults, which were there before telemetry began, or only the others."
    )
    limit: int = Field(1000, ge=1, le=10_000)

    def admits(self, incident: Incident) -> bool:
        over_ns = incident.resolved_ns or math.inf
        return (
            self.state in (None, incident.state)
            and self.severity in (None, incident.severity)
            and self.kind in (None, incident.kind)
            and self.since_first_seen in (None, incident.since_first_seen)
            and (self.object is None or self.object in objects_of(incident))
            and (self.since is None or over_ns >= self.since.timestamp() * NS_PER_S)
            and (self.until is None or incident.onset_ns < self.until.timestamp() * NS_PER_S)
        )


def objects_of(incident: Incident) -> set[str]:
    """Names of what an incident is about or reaches: ``port:leaf1/Ethernet4``, each of its parts, nodes, GPUs, jobs."""
    root, blast = incident.root, incident.blast
    return {str(root), root.name, *root.name.split("/"), *blast.links, *blast.nodes, *blast.gpus, *blast.jobs}


@router.get("/incidents")
async def list_incidents(model: Model, chosen: Annotated[IncidentFilter, Query()]) -> list[Incident]:
    """Incidents, worst first."""
    return list(islice(filter(chosen.admits, model.worst_first()), chosen.limit))


@router.get("/incidents/{incident_id}", responses=may_answer(404))
async def get_incident(model: Model, incident_id: str) -> Incident:
    """One incident, in its newest version."""
    return _incident(model, incident_id)


@router.get("/incidents/{incident_id}/plots", responses=may_answer(404))
async def list_evidence_plots(model: Model, incident_id: str) -> list[EvidencePlot]:
    """The evidence of an incident as lines, as far back as recent telemetry is kept."""
    evidence = _incident(model, incident_id).evidence
    return await asyncio.to_thread(lambda: [plot for one in evidence if (plot := _plot(model, one)) is not None])


@router.get("/findings")
async def list_findings(
    model: Model, state: FindingState | None = None, limit: Annotated[int, Query(ge=1, le=10_000)] = 1000
) -> list[Finding]:
    """All findings, newest first."""
    chosen = [finding for finding in model.findings.values() if state in (None, finding.state)]
    return sorted(chosen, key=lambda finding: (-finding.observed_ns, finding.id))[:limit]


def _incident(model: ReadModel, incident_id: str) -> Incident:
    found = model.incidents.get(incident_id)
    if found is None:
        raise HTTPException(404, f"no incident {incident_id}")
    return found


def _plot(model: ReadModel, evidence: Evidence) -> EvidencePlot | None:
    try:
        name, labels = parse_series_key(evidence.series)
    except BadInput:  # evidence that is computed from many series has no line of its own
        return None
    line = model.history.series(labels.get("device", ""), {evidence.series}).get(evidence.series)
    if line is None:
        return None
    times, values = line
    metric, unit, normal = metrics().get(name), evidence.unit, evidence.normal
    if metric is not None and metric.kind is Kind.COUNTER and times.size > 1:
        steps = np.diff(values)
        values = np.where(steps >= 0, steps / (np.diff(times) / 1e9), np.nan)
        times = times[1:]
        if unit.startswith("ratio") and metric.unit != "seconds":  # a share that follows from the rate, and is not it
            unit, normal = f"{metric.unit}/s", None
    shown = [float(value) if np.isfinite(value) else None for value in values]
    return EvidencePlot(evidence.series, unit, normal, (times / 1e9).tolist(), shown)
