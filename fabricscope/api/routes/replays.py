"""Recordings run again: what would the program have found?"""

import asyncio
from dataclasses import fields
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from common.errors import BadInput
from fabricscope.api import views
from fabricscope.api.instants import AskedInstant
from fabricscope.api.paging import PageQuery, Paging
from fabricscope.api.paging_links import PagingLinks
from fabricscope.api.problem import may_answer
from fabricscope.api.read_model import badness
from fabricscope.api.replayed import Replayed
from fabricscope.api.replays import NAME_PATTERN, Busy, Replay, Replays
from fabricscope.api.routes.answering import VersionedRoute, lists, shows
from fabricscope.api.routes.changes import TOKEN
from fabricscope.api.routes.incidents import IncidentId, evidence_plots
from fabricscope.api.routes.wall import DRAWING, EXPLANATION, Pod, Rack
from fabricscope.api.wall.drawing import Drawing, drawing
from fabricscope.api.wall.explanation import Explanation, explain
from fabricscope.api.wall.plan import Scope
from telemetry.incidents import Incident

router = APIRouter(prefix="/api/v1", tags=["replays"], route_class=VersionedRoute)


At = Annotated[AskedInstant, Query(description="RFC 3339 or Unix seconds, in the time of the recording.")]
ReplayId = Annotated[str, Path(description="As the list has it.")]


class ReplayRequest(BaseModel):
    """recording: its folder's name in ``recordings_dir``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    recording: Annotated[str, Field(pattern=NAME_PATTERN, examples=["incident-4711"])]


@router.post("/replays", status_code=202, responses=may_answer(404, 409, 411, 413, 415, 422, 503), dependencies=[TOKEN])
async def start_replay(request: Request, wanted: ReplayRequest) -> views.Replay:
    """Run a recording through detection and correlation again, with the settings it was made with. It pages nobody.

    Needs a token with the scope ``replay``. 404 without ``recordings_dir`` or such a recording, 409 while one runs.
    """
    request.state.audited["recording"] = wanted.recording
    try:
        begun = _replays(request).start(wanted.recording)
    except BadInput as error:
        raise HTTPException(404, str(error)) from error
    except Busy:
        raise HTTPException(409, "a replay runs already") from None
    request.state.audited["id"] = begun.id
    return _view(begun)


@router.get("/replays", responses=shows(404))
async def list_replays(request: Request) -> list[views.Replay]:
    """The newest replays since the API started, at most 10, newest first."""
    return [_view(replay) for replay in _replays(request).all()]


@router.get("/replays/{replay_id}", responses=shows(404))
async def get_replay(request: Request, replay_id: ReplayId) -> views.Replay:
    """One replay: whether it runs, and how many incidents it found."""
    return _view(_replay(request, replay_id))


@router.get("/replays/{replay_id}/incidents", responses=lists(404))
async def list_replayed_incidents(
    request: Request, page: Paging, replay_id: ReplayId, query: Annotated[PageQuery, Query()]
) -> list[views.Incident]:
    """What a replay found, worst first, once its state is ``done``: the last version of each incident."""
    found = _replay(request, replay_id).found.incidents
    return [views.Incident.of(incident) for incident in page.cut(found, badness, query)]


@router.get("/replays/{replay_id}/incidents/{incident_id}/plots", responses=shows(404))
async def list_replayed_plots(
    request: Request, replay_id: ReplayId, incident_id: IncidentId
) -> list[views.EvidencePlot]:
    """The evidence of an incident of a replay as lines, from 15 minutes before it; of the worst 50 incidents."""
    found = _replay(request, replay_id).found
    return await asyncio.to_thread(evidence_plots, found, _incident(found, incident_id))


@router.get("/replays/{replay_id}/incidents/{incident_id}/explanation", responses=shows(404, example=EXPLANATION))
async def explain_replayed_incident(request: Request, replay_id: ReplayId, incident_id: IncidentId) -> Explanation:
    """From the cause of an incident of a replay to its effects, as it was known at the end. A replay pages nobody, and
    so has no silence and no board."""
    found = _replay(request, replay_id).found
    incident = _incident(found, incident_id)
    as_of = found.as_of(max(incident.updated_ns, incident.resolved_ns))
    return await asyncio.to_thread(explain, as_of, incident, PagingLinks().about(incident))


@router.get("/replays/{replay_id}/fabric", responses=shows(404, example=DRAWING))
async def get_replayed_fabric(request: Request, replay_id: ReplayId, at: At, pod: Pod = "", rack: Rack = "") -> Drawing:
    """The fabric as of a time of a replay: what was unhealthy then, and which incident explained it. No traffic."""
    found = _replay(request, replay_id).found
    return await asyncio.to_thread(lambda: drawing(found.as_of(at), Scope(pod, rack)))


def _incident(found: Replayed, incident_id: str) -> Incident:
    for one in found.incidents:
        if one.id == incident_id:
            return one
    raise HTTPException(404, f"no incident {incident_id} in this replay")


def _view(replay: Replay) -> views.Replay:
    record = {field.name: getattr(replay, field.name) for field in fields(replay) if field.name != "found"}
    return views.Replay.model_validate(record | {"incidents": len(replay.found.incidents)})


def _replay(request: Request, replay_id: str) -> Replay:
    found = _replays(request).get(replay_id)
    if found is None:
        raise HTTPException(404, f"no replay {replay_id}")
    return found


def _replays(request: Request) -> Replays:
    replays: Replays | None = request.app.state.replays
    if replays is None:
        raise HTTPException(404, "api.recordings_dir is not set")
    return replays
