"""Incidents, findings, and the evidence behind them."""

import asyncio
import math
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import Field
from starlette.exceptions import HTTPException

from fabricscope.api import views
from fabricscope.api.evidence_plot import SeriesSource, evidence_plot
from fabricscope.api.instants import AskedInstant
from fabricscope.api.paging import Key, PageQuery, Paging
from fabricscope.api.read_model import ReadModel, badness
from fabricscope.api.routes.answering import VersionedRoute, lists, shows
from fabricscope.api.views.incidents import MemberKind, members_of
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.incidents import Incident, IncidentKind, IncidentState, Severity
from telemetry.objects import ObjectRef

_KINDS = tuple(MemberKind)
router = APIRouter(prefix="/api/v1", tags=["incidents"], route_class=VersionedRoute)


def read_model(request: Request) -> ReadModel:
    """The application's read model, as FastAPI passes it to an endpoint."""
    model = request.app.state.model
    assert isinstance(model, ReadModel)
    return model


Model = Annotated[ReadModel, Depends(read_model)]
IncidentId = Annotated[str, Path(description="As lists of incidents have it.")]


class IncidentOrder(StrEnum):
    """worst: open before resolved, critical before warning, most expensive first. newest: by when it was first seen.

    The second one stays as it is while somebody reads page by page.
    """

    WORST = "worst"
    NEWEST = "newest"


class IncidentFilter(PageQuery):
    """Which incidents; those that every given key applies to."""

    state: IncidentState | None = Field(None, description="In this state alone.")
    severity: Severity | None = Field(None, description="Of this severity alone.")
    kind: IncidentKind | None = Field(None, description="Of this cause alone.")
    object: str | None = Field(None, max_length=512, description="That it is about or reaches, such as node3 or GPU-….")
    since: AskedInstant | None = Field(
        None, description="RFC 3339 or Unix seconds; those that were open at that time or later."
    )
    until: AskedInstant | None = Field(None, description="RFC 3339 or Unix seconds; those that began before it.")
    since_first_seen: bool | None = Field(
        None, description="Only known faults, which were there before telemetry began, or only the others."
    )
    order: IncidentOrder = Field(
        IncidentOrder.WORST, description="worst first, or newest first, which does not change between two pages."
    )

    def admits(self, incident: Incident) -> bool:
        over_ns = incident.resolved_ns or math.inf
        return (
            self.state in (None, incident.state)
            and self.severity in (None, incident.severity)
            and self.kind in (None, incident.kind)
            and self.since_first_seen in (None, incident.since_first_seen)
            and (self.object is None or self.object in objects_of(incident))
            and (self.since is None or over_ns >= self.since)
            and (self.until is None or incident.onset_ns < self.until)
        )


def objects_of(incident: Incident) -> set[str]:
    """Names of what an incident is about or reaches: ``port:leaf1/Ethernet4``, each of its parts, nodes, GPUs, jobs."""
    root, blast = incident.root, incident.blast
    return {*names_of(root), *blast.links, *blast.nodes, *blast.gpus, *blast.jobs}


def names_of(ref: ObjectRef) -> set[str]:
    """What an object may be called in a question: whole, and each of its parts."""
    return {str(ref), ref.name, *ref.name.split("/")}


@router.get("/incidents", responses=lists())
async def list_incidents(
    model: Model, page: Paging, chosen: Annotated[IncidentFilter, Query()]
) -> list[views.Incident]:
    """Incidents, worst first. Of what each reaches there are ten names at most: see its members."""
    found = filter(chosen.admits, list(model.incidents.values()))
    key = badness if chosen.order is IncidentOrder.WORST else _age
    shown = page.cut(found, key, chosen)
    return await asyncio.to_thread(lambda: [views.Incident.of(incident) for incident in shown])  # 0.1 s of 1,000


@router.get("/incidents/{incident_id}", responses=shows(404))
async def get_incident(model: Model, incident_id: IncidentId) -> views.Incident:
    """One incident, in its newest version."""
    return views.Incident.of(find_incident(model, incident_id))


class MemberFilter(PageQuery):
    """Which members of an incident."""

    kind: MemberKind | None = Field(None, description="Links, nodes, GPUs, jobs or findings alone.")


@router.get("/incidents/{incident_id}/members", responses=lists(404))
async def list_members(
    model: Model, page: Paging, incident_id: IncidentId, chosen: Annotated[MemberFilter, Query()]
) -> list[views.Member]:
    """All that an incident reaches (links, nodes, GPUs, jobs), and the findings that it explains.

    By kind, then by name. Pages belong to one version of the incident as long as its ``updated`` stays the same.
    """
    members = members_of(find_incident(model, incident_id))
    chosen_ones = (member for member in members if chosen.kind in (None, member.kind))
    return page.cut(chosen_ones, lambda member: (_KINDS.index(member.kind), member.name), chosen)


@router.get("/incidents/{incident_id}/plots", responses=shows(404))
async def list_evidence_plots(model: Model, incident_id: IncidentId) -> list[views.EvidencePlot]:
    """The evidence of an incident as lines, as far back as recent telemetry is kept."""
    return await asyncio.to_thread(evidence_plots, model.history, find_incident(model, incident_id))


def evidence_plots(source: SeriesSource, incident: Incident) -> list[views.EvidencePlot]:
    """Of all its evidence that the source has series of."""
    return [plot for one in incident.evidence if (plot := evidence_plot(source, one)) is not None]


class FindingFilter(PageQuery):
    """Which findings; those that every given key applies to."""

    state: FindingState | None = Field(None, description="In this state alone.")
    kind: FindingKind | None = Field(None, description="Of this kind alone.")
    object: str | None = Field(None, max_length=512, description="That it is about, such as node3 or port:leaf1/eth4.")

    def admits(self, finding: Finding) -> bool:
        return (
            self.state in (None, finding.state)
            and self.kind in (None, finding.kind)
            and (self.object is None or self.object in names_of(finding.object))
        )


@router.get("/findings", responses=lists())
async def list_findings(model: Model, page: Paging, chosen: Annotated[FindingFilter, Query()]) -> list[views.Finding]:
    """Findings, newest first."""
    found = filter(chosen.admits, list(model.findings.values()))
    newest_first = page.cut(found, lambda finding: (-finding.observed_ns, finding.id), chosen)
    return [views.Finding.model_validate(finding) for finding in newest_first]


def _age(incident: Incident) -> Key:
    return -incident.opened_ns, incident.id


def find_incident(model: ReadModel, incident_id: str) -> Incident:
    """404 where it is not known."""
    found = model.incidents.get(incident_id)
    if found is None:
        raise HTTPException(404, f"no incident {incident_id}")
    return found
