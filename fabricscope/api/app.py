"""The FastAPI application: routes, errors in one form, and the headers that keep a browser safe."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus

import structlog
from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.params import Depends as DependsMarker
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from bus.base import Bus
from common.documents.strict_json import RepeatedKey, parse_json
from dashboards.noc import STATIC
from fabricscope.api.access.answers import error
from fabricscope.api.access.event_stream import OpenStreams
from fabricscope.api.access.guard import READING, Guard
from fabricscope.api.access.sessions import Sessions
from fabricscope.api.config import ApiConfig
from fabricscope.api.description import DESCRIPTION, SUMMARY, TAGS, DescribedApi
from fabricscope.api.form import HeadAsGet, KnownHost, allowed_methods, headers_of
from fabricscope.api.metrics import REQUESTS
from fabricscope.api.paging_links import PagingLinks
from fabricscope.api.problem import describe_error, may_answer
from fabricscope.api.read_model import ReadModel
from fabricscope.api.replays import Replays
from fabricscope.api.routes import (
    changes,
    events,
    health,
    incidents,
    ledger,
    records,
    reload,
    runbooks,
    starvation,
    stream,
    targets,
    trends,
    wall,
)
from fabricscope.api.routes import replays as replay_routes
from fabricscope.api.routes.changes import TOKEN
from fabricscope.api.routes.login import router as login
from fabricscope.api.routes.reload import Reloading
from fabricscope.version import VERSION

_MODULES = (
    *(health, incidents, records, targets, ledger, starvation, trends),
    *(changes, events, stream, reload, runbooks, replay_routes, wall),
)
_ROUTERS = (*(module.router for module in _MODULES), login)
log = structlog.get_logger(__name__)


def create_app(
    config: ApiConfig,
    model: ReadModel,
    bus: Bus,
    clock: Callable[[], int],
    guard: Guard,
    sessions: Sessions,
    reloading: Reloading | None = None,
    replays: Replays | None = None,
    paging: PagingLinks | None = None,
) -> FastAPI:
    """All routes over one read model. clock: event time in nanoseconds.

    reloading: None without a settings file. replays: None where there are no recordings. paging: None where nobody is
    paged.
    """
    app = DescribedApi(
        title="Fabricscope",
        summary=SUMMARY,
        description=DESCRIPTION,
        version=VERSION,
        openapi_tags=TAGS,
        docs_url=None,  # ours is a static page that asks nobody else
        redoc_url=None,
        responses=may_answer(400, 401, 403, 429, 500),
        dependencies=_dependencies(config),
    )
    app.state.model, app.state.bus, app.state.clock = model, bus, clock
    app.state.reloading, app.state.replays = reloading, replays
    app.state.paging = paging or PagingLinks()
    app.state.sessions, app.state.session_s = sessions, config.session_s
    app.state.streams = OpenStreams(config.client_streams_max, config.streams_max)
    app.state.pictures = stream.Pictures(model, bus, clock)
    for router in _ROUTERS:
        app.include_router(router)
    app.mount("/", StaticFiles(directory=STATIC, html=True))
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    _protect(app, guard)
    app.add_middleware(KnownHost, allowed_hosts=[*config.allowed_hosts, config.host])
    app.add_middleware(HeadAsGet)
    return app


def _dependencies(config: ApiConfig) -> list[DependsMarker]:
    """Of all routes. The token is there for the description alone: the guard asks for it."""
    checks = [Depends(_no_repeated_key), Depends(_no_unknown_parameter)]
    return [*checks, TOKEN] if config.reading_needs_token else checks


def _protect(app: FastAPI, guard: Guard) -> None:
    @app.middleware("http")
    async def protect(request: Request, handle: Callable[[Request], Awaitable[Response]]) -> Response:
        try:
            response = await guard.answer(request, handle)
        except Exception:
            log.exception("request failed", method=request.method, path=request.scope["path"])
            response = error(500, "it failed, and its log says why")
        response.headers.update(headers_of(request.scope["path"]))
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


async def _http_error(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    path = request.scope["path"]
    is_unknown = problem.status_code == 404 and problem.detail == HTTPStatus.NOT_FOUND.phrase
    if is_unknown or problem.status_code == 405:
        return _not_here(request.method, path, is_unknown)
    return error(problem.status_code, str(problem.detail))


def _not_here(method: str, path: str, is_unknown: bool) -> Response:
    """A path that only other methods have, or nobody. All that no route has is looked for among the files."""
    allowed = allowed_methods((route for router in _ROUTERS for route in router.routes), path)
    if is_unknown and not allowed:
        return error(404, f"nothing is at {path}: see /docs")
    allowed = allowed or "GET, HEAD"
    answer = error(405, f"{method} {path}: expected {allowed}")
    answer.headers["Allow"] = allowed
    return answer


async def _invalid(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, RequestValidationError)
    return error(422, describe_error(problem.errors()[0]))
