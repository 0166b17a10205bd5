"""The NOC page's live feed: its whole content whenever that changes, and whether there is data to rely on."""

import asyncio
import contextlib
import math
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from typing import Any

import orjson
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from sse_starlette import EventSourceResponse, ServerSentEvent

from bus.base import Bus
from fabricscope.api import views
from fabricscope.api.access.event_stream import BoundedEventSource
from fabricscope.api.data_state import DataState, data_state
from fabricscope.api.read_model import ReadModel
from fabricscope.api.routes.health import problem
from fabricscope.api.routes.incidents import Model
from fabricscope.api.views.view import View
from telemetry.incidents import IncidentState
from telemetry.topology import Device, Job

router = APIRouter(prefix="/api/v1", tags=["stream"])

INCIDENTS_SHOWN = 50
PERIOD_S = 1.0
UNCHANGED_S = 5.0  # after which the state of the data is sent again: that data is missing changes nothing else


class ClusterSize(View):
    """How much of each the topology has."""

    switches: int
    gpus: int
    jobs: int


class NocContent(View):
    """The content of the NOC page. incidents: the worst 50. firing, pending: how many are open, sent or not.

    samples: of the newest collection of all targets.
    """

    incidents: tuple[views.Incident, ...]
    firing: int
    pending: int
    cluster: ClusterSize
    samples: int


class _EventStream(JSONResponse):
    """For the description alone."""

    media_type = "text/event-stream"


_DESCRIBED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events without end; the schema is that of their data.",
        "content": {
            "text/event-stream": {
                "example": 'id: 42\nevent: picture\ndata: {"incidents":[],"firing":0,"pending":0,"cluster":'
                '{"switches":6,"gpus":64,"jobs":1},"samples":12480}\n\n'
                'event: data\ndata: {"level":"good","text":"","up":72,"all":72,"age_s":3.1}\n\n',
            }
        },
    }
}


@router.get("/stream", response_model=NocContent | DataState, response_class=_EventStream, responses=_DESCRIBED)
async def stream_noc_content(request: Request, model: Model) -> EventSourceResponse:
    """Events named ``picture``: the content of the NOC page, at once and after each change. ``id`` grows.
    Events named ``data``: whether there is data to rely on, with every picture and every five seconds without one.

    It ends when the client may not read any more, as its token was revoked. 429 while ``client_streams_max`` or
    ``streams_max`` are open.
    """
    state = request.app.state
    found = _events(model, state.pictures, request.state.may_read)
    return BoundedEventSource(found, state.streams, ping=15)


class Pictures:
    """What all streams send, as JSON, made once for all of them. clock: event time in nanoseconds."""

    def __init__(self, model: ReadModel, bus: Bus, clock: Callable[[], int]) -> None:
        self._model, self._version, self._json = model, -1, ""
        self._bus, self._clock = bus, clock
        self._data, self._data_at_s = "", -math.inf

    def newest(self) -> tuple[int, str]:
        """With its version."""
        if self._version != self._model.version:
            self._version = self._model.version
            self._json = noc_content(self._model).model_dump_json()
        return self._version, self._json

    def data(self) -> str:
        """The state of the data, at most a second old: of 10,000 targets it takes milliseconds."""
        now_s = time.monotonic()
        if now_s - self._data_at_s >= PERIOD_S:
            model = self._model
            broken = problem(model, self._bus), model.detection.problem()
            found = data_state([*model.targets.values()], self._clock(), *broken)
            self._data, self._data_at_s = orjson.dumps(found).decode(), now_s
        return self._data


async def _events(
    model: ReadModel, pictures: Pictures, may_read: Callable[[], bool]
) -> AsyncGenerator[ServerSentEvent, None]:
    seen = -1
    while may_read():
        if model.version != seen:
            seen, content = pictures.newest()
            yield ServerSentEvent(content, event="picture", id=str(seen))
        yield ServerSentEvent(pictures.data(), event="data")
        await asyncio.sleep(PERIOD_S)  # people read it: once a second is enough
        async with model.changed:
            if model.version == seen:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(model.changed.wait(), UNCHANGED_S)


def noc_content(model: ReadModel) -> NocContent:
    """Incidents worst first, how many are open, and the size of the cluster."""
    incidents = model.worst_first()
    states = Counter(incident.state for incident in incidents)
    return NocContent(
        incidents=tuple(map(views.Incident.of, incidents[:INCIDENTS_SHOWN])),
        firing=states[IncidentState.FIRING],
        pending=states[IncidentState.PENDING],
        cluster=ClusterSize(
            switches=sum(device.role in ("leaf", "spine") for device in model.topology.entities(Device)),
            gpus=len(model.paces.gpus.of(model.topology)),
            jobs=len(model.topology.entities(Job)),
        ),
        samples=sum(status.series for status in list(model.targets.values())),
    )
