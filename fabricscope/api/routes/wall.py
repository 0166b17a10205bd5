"""What the NOC page shows beside incidents: the cluster at a glance, its fabric, and each incident explained."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.exceptions import HTTPException

from fabricscope.api.data_state import silent
from fabricscope.api.instants import EXAMPLE
from fabricscope.api.replays import Replays
from fabricscope.api.routes.answering import VersionedRoute, shows
from fabricscope.api.routes.incidents import IncidentId, Model
from fabricscope.api.views.incidents import PORT
from fabricscope.api.wall.drawing import Drawing, drawing
from fabricscope.api.wall.explanation import Explanation, explain
from fabricscope.api.wall.overview import Overview, overview
from fabricscope.api.wall.plan import Scope
from telemetry.objects import NAME_CHARS_MAX

router = APIRouter(prefix="/api/v1", tags=["cluster"], route_class=VersionedRoute)
Pod = Annotated[str, Query(max_length=NAME_CHARS_MAX, description="This one alone, with the switches above it.")]
Rack = Annotated[str, Query(max_length=NAME_CHARS_MAX, description="This one alone, with the switches above it.")]
_JOB = {"job_id": "4711", "name": "train", "user": "carol", "nodes": 8, "gpus": 64, "started": EXAMPLE}
_LOAD = {"links": 64, "measured": 64, "used_bits_per_second": 1.1e13, "rated_bits_per_second": 5.1e13}
_OVERVIEW = {
    "at": EXAMPLE,
    "jobs_running": 1,
    "jobs": [{**_JOB, "state": "slowed", "work": 0.21, "usual": 0.43}],
    "gpu_hours": {"since": EXAMPLE, "watched": 704.0, "lost": {"slow_receiver": 3.5}},
    "traffic": [{"tier": "spines – leaves", **_LOAD}],
    "silent_targets": 1,
    "silent": [{"target": "dcgm/node1:9400", "device": "node1", "reason": "timeout", "since": EXAMPLE}],
    "replays": [{"id": "5f0c9a1e5f0c9a1e", "recording": "incident-4711", "ended": EXAMPLE}],
}
DRAWING = {
    "pod": "",
    "rack": "",
    "boxes": [
        {"id": "leaf/pod=pod1", "tier": "leaf", "name": "pod1", "devices": 8, "pod": "pod1", "rack": ""}
        | {"unhealthy": 1, "severity": "critical", "is_root": True}
    ],
    "bundles": [{"a": "spine", "b": "leaf/pod=pod1", "unhealthy": 0, **_LOAD}],
    "lines": [{"a": "leaf/pod=pod1", "b": "host/pod=pod1", "severity": "critical", "is_root": True}],
    "unhealthy": [
        {**PORT, "label": PORT["name"], "text": "is paused by its peer (61 %, usually 0 %)", "onset": EXAMPLE}
        | {
            "is_root": True,
            "incident": "5f0c9a1e5f0c9a1e",
            "severity": "critical",
            "boxes": ["leaf/pod=pod1", "host/pod=pod1"],
        }
    ],
    "unhealthy_objects": 1,
}
EXPLANATION = {
    "cause": "a host pauses its leaf port and is not paused itself",
    "effects": [{"meaning": "the work of a job fell", "objects": 1, "onset": EXAMPLE}],
    "findings": 1,
    "suppressed": [
        {"object": {"kind": "job", "name": "4711"}, "text": "works less", "onset": EXAMPLE, "cleared": False}
    ],
    "worse": ["higher"],
    "gpus": {"node1/GPU-5f3c0a1b2d": "node1 GPU 3 (GPU-5f3c0a1b)"},
    "links": {
        "silence": "https://alertmanager.example/#/silences/new?filter=%7Bincident_id%3D%225f0c9a1e5f0c9a1e%22%7D",
        "board": "https://grafana.example/d/fabricscope-fabric?from=1769895900000&to=now&var-cluster=pod1",
        "runbook": "/runbooks/slow_receiver?object=port%3Aleaf1%2FEthernet4",
    },
}


@router.get("/overview", responses=shows(example=_OVERVIEW))
async def get_overview(request: Request, model: Model) -> Overview:
    """Jobs and their pace, GPU-hours today, traffic by tier, targets that do not answer, and replays that are done.

    In event time.
    """
    found = silent(list(model.targets.values()), request.app.state.clock())
    replays: Replays | None = request.app.state.replays
    return await asyncio.to_thread(overview, model, found, replays.all() if replays else ())


@router.get("/fabric", responses=shows(example=DRAWING))
async def get_fabric(model: Model, pod: Pod = "", rack: Rack = "") -> Drawing:
    """The fabric as boxes and bundles, and what is unhealthy in it, worst first.

    A pod or rack that does not exist has no boxes.
    """
    return await asyncio.to_thread(drawing, model, Scope(pod, rack))


@router.get("/incidents/{incident_id}/explanation", responses=shows(404, example=EXPLANATION))
async def explain_incident(request: Request, model: Model, incident_id: IncidentId) -> Explanation:
    """From the cause of an incident to its effects, the findings that it explains and suppresses, and where to go on:
    the form for a silence of it, its board, its runbook."""
    incident = model.incidents.get(incident_id)
    if incident is None:
        raise HTTPException(404, f"no incident {incident_id}")
    return await asyncio.to_thread(explain, model, incident, request.app.state.paging.about(incident))
