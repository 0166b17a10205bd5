"""The NOC page's live feed: one server-sent event with its whole content whenever that changes."""

import asyncio
from collections.abc import AsyncIterator

import orjson
from fastapi import APIRouter, Request
from sse_starlette import EventSourceResponse, ServerSentEvent

from fabricscope.api.access.event_stream import BoundedEventSource
from fabricscope.api.read_model import ReadModel
from fabricscope.api.routes.incidents import Model
from telemetry.topology import Device, Gpu, Job

router = APIRouter(prefix="/api/v1", tags=["stream"])

INCIDENTS_SHOWN = 50
PERIOD_S = 1.0


@router.get("/stream")
async def stream_noc_content(request: Request, model: Model) -> EventSourceResponse:
    """Events named ``picture``: the content of the NOC page, at once and after each change. ``id`` grows.

    429 while ``client_streams_max`` or ``streams_max`` are open.
    """
    return BoundedEventSource(_events(model), request.app.state.streams, ping=15)


async def _events(model: ReadModel) -> AsyncIterator[ServerSentEvent]:
    while True:
        seen = model.version
        yield ServerSentEvent(orjson.dumps(noc_content(model)).decode(), event="picture", id=str(seen))
        await asyncio.sleep(PERIOD_S)  # people read it: once a second is enough
        async with model.changed:
            while model.version == seen:
                await model.changed.wait()


def noc_content(model: ReadModel) -> dict[str, object]:
    """Incidents worst first, the time of the newest sample, and how many targets are up."""
    up = sum(status.up for status in model.targets.values())
    return {
        "incidents": model.worst_first()[:INCIDENTS_SHOWN],
        "newest_ns": model.newest_ns,
        "targets": {"up": up, "all": len(model.targets)},
        "cluster": {
            "switches": sum(device.role in ("leaf", "spine") for device in model.topology.entities(Device)),
            "gpus": len(model.topology.entities(Gpu)),
            "jobs": len(model.topology.entities(Job)),
        },
        "samples": sum(status.series for status in model.targets.values()),
    }
