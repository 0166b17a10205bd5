"""The control port: what is broken, what time it is, and a way to break something. For tests and demonstrations."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from telemetry.errors import BadInput, ConfigError

_BODY_BYTES_MAX = 64 * 1024

Answer = Callable[[], Mapping[str, Any]]


class FaultRequest(BaseModel):
    """Body of ``POST /faults``. at: ``+30s`` from now, or plain ``30s`` from the start of the simulation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fault: str = Field(min_length=1, max_length=64, description="name, like slow-receiver")
    at: str = Field("+0s", pattern=r"^\+?\d+(\.\d+)?(ms|s|m|h)$")
    target: str = Field("", max_length=200, description="object to break; empty lets the seed choose")
    duration: str = Field("", pattern=r"^(\d+(\.\d+)?(ms|s|m|h))?$", description="how long; empty is the fault's own")


Inject = Callable[[FaultRequest], Awaitable[Mapping[str, Any]]]


def control_app(truth: Answer, state: Answer, clock: Answer, inject: Inject) -> web.Application:
    """Routes over four calls; wrong requests get 400 and say why."""

    async def post_fault(request: web.Request) -> web.Response:
        try:
            wanted = FaultRequest.model_validate_json(await request.read())
            return _json(await inject(wanted))
        except ValidationError as error:
            first = error.errors()[0]
            return _json({"error": f"{'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}"}, 400)
        except (BadInput, ConfigError) as error:
            return _json({"error": str(error)}, 400)

    app = web.Application(client_max_size=_BODY_BYTES_MAX)
    for path, answer in (("/truth", truth), ("/state", state), ("/clock", clock)):
        app.router.add_get(path, _route(answer))
    app.router.add_post("/faults", post_fault)
    return app


def _route(answer: Answer) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def get(_: web.Request) -> web.Response:
        return _json(answer())

    return get


def _json(body: Mapping[str, Any], status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(body), status=status, content_type="application/json")
