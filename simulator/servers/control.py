"""The control port: ground truth, state and clock of the simulation, and faults on request. For tests and demos."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import orjson
from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from common.errors import BadInput, ConfigError
from simulator.faults.schedule import ScheduledFault

_BODY_BYTES_MAX = 64 * 1024
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class FaultRequest(BaseModel):
    """Body of ``POST /faults``. at: ``+30s`` is from now, ``30s`` from the start of the simulation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fault: str = Field(min_length=1, max_length=64, description="name, like slow-receiver")
    at: str = Field("+0s", pattern=r"^\+?\d+(\.\d+)?(ms|s|m|h)$")
    target: str = Field("", max_length=200, description="what breaks; empty lets the seed choose")
    lasts: str = Field("0s", pattern=r"^\d+(\.\d+)?(ms|s|m|h)$", description="how long; 0s is the fault's own length")

    @property
    def from_now(self) -> bool:
        """Whether ``at`` is relative to the moment of the request, not to the start."""
        return self.at.startswith("+")

    def scheduled(self) -> ScheduledFault:
        """ValidationError for a fault that does not exist."""
        return ScheduledFault(
            fault=self.fault, at_s=_seconds(self.at), lasts_s=_seconds(self.lasts), target=self.target
        )


class ControlledService(Protocol):
    """What the control port reads and does. Times in its answers are event time."""

    def truth(self) -> Mapping[str, Any]:
        """The ground truth so far, one entry a fault."""
        ...

    def changes(self) -> Mapping[str, Any]:
        """Change events so far."""
        ...

    def state(self) -> Mapping[str, Any]:
        """Which devices are reachable, which ports are down, which exporters are frozen."""
        ...

    def clock(self) -> Mapping[str, Any]: ...

    async def inject(self, wanted: ScheduledFault, *, from_now: bool) -> Mapping[str, Any]: ...

    async def end_fault(self, name: str) -> Mapping[str, Any]: ...


def control_app(service: ControlledService) -> web.Application:
    """Routes over the service; an invalid request is answered with 400 and the reason."""

    async def post_fault(request: web.Request) -> web.Response:
        try:
            wanted = FaultRequest.model_validate_json(await request.read())
            return _json(await service.inject(wanted.scheduled(), from_now=wanted.from_now))
        except ValidationError as error:
            first = error.errors()[0]
            return _json({"error": f"{'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}"}, 400)
        except (BadInput, ConfigError) as error:
            return _json({"error": str(error)}, 400)

    async def delete_fault(request: web.Request) -> web.Response:
        return _json(await service.end_fault(request.match_info["name"]))

    app = web.Application(client_max_size=_BODY_BYTES_MAX)
    for document in (service.truth, service.changes, service.state, service.clock):
        app.router.add_get(f"/{document.__name__}", _route(document))
    app.router.add_post("/faults", post_fault)
    app.router.add_delete("/faults/{name}", delete_fault)
    return app


def _seconds(text: str) -> float:
    """
    >>> _seconds("+1.5m"), _seconds("250ms")
    (90.0, 0.25)
    """
    number = text.lstrip("+").rstrip("msh")
    return float(number) * _SECONDS[text.lstrip("+")[len(number) :]]


def _route(document: Callable[[], Mapping[str, Any]]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def get(_: web.Request) -> web.Response:
        return _json(document())

    return get


def _json(body: Mapping[str, Any], status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(body), status=status, content_type="application/json")
