"""The control port: ground truth, state and clock of the simulation, and faults on request. For tests and demos."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Protocol

import orjson
from aiohttp import web
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from common.errors import BadInput, ConfigError
from simulator.faults.schedule import ScheduledFault

_BODY_BYTES_MAX = 64 * 1024
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def _duration(text: str) -> str:
    if re.fullmatch(r"\+?\d+(\.\d+)?(ms|s|m|h)", text) is None:
        raise ValueError(f"{text!r}: expected a duration such as 250ms, 30s, 1.5m or 2h")
    return text


def _length(text: str) -> str:
    if text.startswith("+"):
        raise ValueError(f"{text!r}: expected a length without +, such as 30s")
    return _duration(text)


_Length = Annotated[str, AfterValidator(_length)]


class FaultRequest(BaseModel):
    """Body of ``POST /faults``: a fault of a schedule, with durations as texts.

    at: ``+30s`` is from now, ``30s`` from the start of the simulation. on, off: it acts and pauses for so long in turn.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    fault: str = Field(min_length=1, max_length=64, description="name, like slow-receiver")
    at: Annotated[str, AfterValidator(_duration)] = "+0s"
    target: str = Field("", max_length=200, description="what breaks; empty lets the seed choose")
    lasts: _Length = Field("0s", description="how long; 0s is the fault's own length")
    strength: float = Field(1.0, strict=True, description="how bad it is, 1 as in the table of faults")
    on: _Length = Field("0s", description="of an intermittent fault; 0s: it always acts")
    off: _Length = "0s"
    silent: bool = Field(False, strict=True, description="the devices that it is on answer no collection meanwhile")

    @property
    def from_now(self) -> bool:
        """Whether ``at`` is relative to the moment of the request, not to the start."""
        return self.at.startswith("+")

    def scheduled(self) -> ScheduledFault:
        """ValidationError for a fault that does not exist, or that cannot happen so."""
        return ScheduledFault(
            fault=self.fault,
            at_s=_seconds(self.at),
            lasts_s=_seconds(self.lasts),
            target=self.target,
            strength=self.strength,
            on_s=_seconds(self.on),
            off_s=_seconds(self.off),
            silent=self.silent,
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
            return _json({"error": _reason(error)}, 400)
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


def _reason(error: ValidationError) -> str:
    """The field that is wrong, and what was expected there."""
    first = error.errors()[0]
    where, text = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        text = f"unknown, expected one of {', '.join(FaultRequest.model_fields)}"
    return f"{where or 'body'}: {text}"


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
