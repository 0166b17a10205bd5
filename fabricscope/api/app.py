"""The FastAPI application: routes, errors in one form, and the headers that keep a browser safe."""

from collections.abc import Awaitable, Callable

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from bus.base import Bus
from common.documents.strict_json import RepeatedKey, parse_json
from dashboards.noc import STATIC
from fabricscope.api.access.answers import error
from fabricscope.api.access.event_stream import OpenStreams
from fabricscope.api.access.guard import READING, Guard
from fabricscope.api.access.sessions import Sessions
from fabricscope.api.config import ApiConfig
from fabricscope.api.metrics import REQUESTS
from fabricscope.api.problem import describe_error, may_answer
from fabricscope.api.read_model import ReadModel
from fabricscope.api.replays import Replays
from fabricscope.api.routes import (
    changes,
    health,
    incidents,
    records,
    reload,
    runbooks,
    starvation,
    stream,
    targets,
    trends,
)
from fabricscope.api.routes import replays as replay_routes
from fabricscope.api.routes.login import router as login
from fabricscope.api.routes.reload import Reloading
from fabricscope.version import VERSION

_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def create_app(
    config: ApiConfig,
    model: ReadModel,
    bus: Bus,
    clock: Callable[[], int],
    guard: Guard,
    sessions: Sessions,
    reloading: Reloading | None = None,
    replays: Replays | None = None,
) -> FastAPI:
    """All routes over one read model. clock: event time in nanoseconds.

    reloading: None without a settings file. replays: None where there are no recordings.
    """
    app = FastAPI(
        title="Fabricscope",
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        responses=may_answer(401, 403, 429),
        dependencies=[Depends(_no_repeated_key), Depends(_no_unknown_parameter)],
    )
    app.state.model, app.state.bus, app.state.clock = model, bus, clock
    app.state.reloading, app.state.replays = reloading, replays
    app.state.sessions, app.state.session_s = sessions, config.session_s
    app.state.streams = OpenStreams(config.client_streams_max, config.streams_max)
    for module in (
        health,
        incidents,
        records,
        targets,
        starvation,
        trends,
        changes,
        stream,
        reload,
        runbooks,
        replay_routes,
    ):
        app.include_router(module.router)
    app.include_router(login)
    app.mount("/", StaticFiles(directory=STATIC, html=True))
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    _protect(app, guard)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*config.allowed_hosts, config.host])
    return app


def _protect(app: FastAPI, guard: Guard) -> None:
    @app.middleware("http")
    async def protect(request: Request, handle: Callable[[Request], Awaitable[Response]]) -> Response:
        response = await guard.answer(request, handle)
        response.headers.update(_HEADERS)
        _count(request, response.status_code)
        return response


def _count(request: Request, status: int) -> None:
    """By route as declared, so that nothing that a client chooses becomes a label; all that has none is ``other``."""
    route = getattr(request.scope.get("route"), "path", "other")
    REQUESTS.labels(request.method if request.method in ("GET", "POST") else "other", route, status).inc()


async def _no_repeated_key(request: Request) -> None:
    """Which of two values counts is not for the parser to choose. Of every route that takes a body."""
    if request.method in READING:
        return
    try:
        parse_json(await request.body())
    except RepeatedKey as error:
        raise HTTPException(422, f"body: {error}") from None
    except ValueError:  # the model says what is wrong
        return


async def _no_unknown_parameter(request: Request) -> None:
    """A parameter that a route does not know would be ignored, and its answer taken for something else."""
    if not request.query_params:
        return
    path = request.app.openapi()["paths"].get(request.scope["route"].path, {})
    declared = path.get(request.method.lower(), {}).get("parameters", ())
    known = sorted(each["name"] for each in declared if each["in"] == "query")
    for name in request.query_params:
        if name not in known:
            raise HTTPException(422, f"query.{name[:64]}: expected {', '.join(known) or 'no parameter'}")


async def _http_error(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    return error(problem.status_code, str(problem.detail))


async def _invalid(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, RequestValidationError)
    return error(422, describe_error(problem.errors()[0]))
