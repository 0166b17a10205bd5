"""The NOC page's live feed: its whole content whenever that changes, and whether there is data to rely on."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable

import orjson
from fastapi import APIRouter, Request
from sse_starlette import EventSourceResponse, ServerSentEvent

from bus.base import Bus
from fabricscope.api.access.event_stream import BoundedEventSource
from fabricscope.api.data_state import data_state
from fabricscope.api.read_model import ReadModel
from fabricscope.api.routes.health import problem
from fabricscope.api.routes.incidents import Model
from telemetry.incidents import IncidentState
from telemetry.topology import Device, Gpu, Job

router = APIRouter(prefix="/api/v1", tags=["stream"])

INCIDENTS_SHOWN = 50
PERIOD_S = 1.0
UNCHANGED_S = 5.0  # after which the state of the data is sent again: that data is missing changes nothing else


@router.get("/stream")
async def stream_noc_content(request: Request, model: Model) -> EventSourceResponse:
    """Events named ``picture``: the content of the NOC page, at once and after each change. ``id`` grows.
    Events named ``data``: whether there is data to rely on, with every picture and every five seconds without one.

    It ends when the client may not read any more, as its token was revoked. 429 while ``client_streams_max`` or
    ``streams_max`` are open.
    """
    state = request.app.state
    return BoundedEventSource(_events(model, state.bus, state.clock, request.state.may_read), state.streams, ping=15)


async def _events(
    model: ReadModel, bus: Bus, clock: Callable[[], int], may_read: Callable[[], bool]
) -> AsyncIterator[ServerSentEvent]:
    seen = -1
    while may_read():
        if model.version != seen:
            seen = model.version
            yield ServerSentEvent(orjson.dumps(noc_content(model)).decode(), event="picture", id=str(seen))
        found = data_state([*model.targets.values()], clock(), problem(model, bus))
        yield ServerSentEvent(orjson.dumps(found).decode(), event="data")
        await asyncio.sleep(PERIOD_S)  # people read it: once a second is enough
        async with model.changed:
            if model.version == seen:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(model.changed.wait(), UNCHANGED_S)


def noc_content(model: ReadModel) -> dict[str, object]:
    """Incidents worst first, how many are open, and the size of the cluster."""
    incidents = model.worst_first()
    states = Counter(incident.state for incident in incidents)
    return {
        "incidents": incidents[:INCIDENTS_SHOWN],
        "firing": states[IncidentState.FIRING],
        "pending": states[IncidentState.PENDING],
        "cluster": {
            "switches": sum(device.role in ("leaf", "spine") for device in model.topology.entities(Device)),
            "gpus": len(model.topology.entities(Gpu)),
            "jobs": len(model.topology.entities(Job)),
        },
        "samples": sum(status.series for status in model.targets.values()),
    }
