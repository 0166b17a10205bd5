"""Events: pauses, watchdog storms, XIDs, links and sessions that were down, reboots."""

import math
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from fabricscope.api import views
from fabricscope.api.instants import AskedInstant
from fabricscope.api.paging import PageQuery, Paging
from fabricscope.api.routes.answering import VersionedRoute, lists
from fabricscope.api.routes.incidents import IncidentId, Model, find_incident, names_of, objects_of
from telemetry.events import Event, EventKind, EventState

_BEFORE_NS = 300 * 10**9  # of an incident: what led to it
router = APIRouter(prefix="/api/v1", tags=["incidents"], route_class=VersionedRoute)


class EventFilter(PageQuery):
    """Which events; those that every given key applies to."""

    kind: EventKind | None = Field(None, description="Of this kind alone.")
    state: EventState | None = Field(None, description="In this state alone.")
    object: str | None = Field(None, max_length=512, description="That it is about, such as node3 or port:leaf1/eth4.")
    since: AskedInstant | None = Field(
        None, description="RFC 3339 or Unix seconds; those that may have lasted until that time or begin later."
    )
    until: AskedInstant | None = Field(None, description="RFC 3339 or Unix seconds; those that may have begun before.")

    def admits(self, event: Event) -> bool:
        return (
            self.kind in (None, event.kind)
            and self.state in (None, event.state)
            and (self.object is None or self.object in names_of(event.object))
            and (self.since is None or (event.ended_by_ns or math.inf) >= self.since)
            and (self.until is None or event.began_after_ns < self.until)
        )


@router.get("/events", responses=lists())
async def list_events(model: Model, page: Paging, chosen: Annotated[EventFilter, Query()]) -> list[views.Event]:
    """Events, latest beginning first: the newest 20,000."""
    return _cut(page, filter(chosen.admits, list(model.events.values())), chosen)


@router.get("/incidents/{incident_id}/events", responses=lists(404))
async def list_incident_events(
    model: Model, page: Paging, incident_id: IncidentId, chosen: Annotated[EventFilter, Query()]
) -> list[views.Event]:
    """Events of what an incident is about or reaches, from five minutes before it to its end, latest first."""
    incident = find_incident(model, incident_id)
    reached = {*objects_of(incident), *(str(each.object) for each in incident.timeline)}
    first_ns, last_ns = incident.onset_ns - _BEFORE_NS, incident.resolved_ns or math.inf

    def belongs(event: Event) -> bool:
        is_then = event.began_after_ns <= last_ns and (event.ended_by_ns or math.inf) >= first_ns
        return is_then and bool(reached & {str(event.object), event.object.name}) and chosen.admits(event)

    return _cut(page, filter(belongs, list(model.events.values())), chosen)


def _cut(page: Paging, found: "filter[Event]", chosen: EventFilter) -> list[views.Event]:
    latest_first = page.cut(found, lambda event: (-event.began_by_ns, event.id), chosen)
    return [views.Event.of(event) for event in latest_first]
