"""What the NOC page shows beside incidents: the cluster at a glance, its fabric, and each incident explained."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.exceptions import HTTPException

from fabricscope.api.data_state import silent
from fabricscope.api.problem import may_answer
from fabricscope.api.replays import Replays
from fabricscope.api.routes.incidents import Model
from fabricscope.api.wall.drawing import Drawing, drawing
from fabricscope.api.wall.explanation import Explanation, explain
from fabricscope.api.wall.overview import Overview, overview
from fabricscope.api.wall.plan import Scope
from telemetry.objects import NAME_CHARS_MAX

router = APIRouter(prefix="/api/v1", tags=["cluster"], responses=may_answer(422))
Name = Annotated[str, Query(max_length=NAME_CHARS_MAX)]


@router.get("/overview")
async def get_overview(request: Request, model: Model) -> Overview:
    """Jobs and their pace, GPU-hours today, traffic by tier, and which targets do not answer. In event time.
    Replays that are done."""
    found = silent(list(model.targets.values()), request.app.state.clock())
    replays: Replays | None = request.app.state.replays
    return await asyncio.to_thread(overview, model, found, replays.all() if replays else ())


@router.get("/fabric")
async def get_fabric(model: Model, pod: Name = "", rack: Name = "") -> Drawing:
    """The fabric as boxes and bundles, and what is unhealthy in it, worst first.

    pod, rack: of this one alone, with the switches that it hangs from. One that does not exist has no boxes.
    """
    return await asyncio.to_thread(drawing, model, Scope(pod, rack))


@router.get("/incidents/{incident_id}/explanation", responses=may_answer(404))
async def explain_incident(model: Model, incident_id: str) -> Explanation:
    """From the cause of an incident to its effects, and the findings that it explains and suppresses."""
    incident = model.incidents.get(incident_id)
    if incident is None:
        raise HTTPException(404, f"no incident {incident_id}")
    return await asyncio.to_thread(explain, model, incident)
