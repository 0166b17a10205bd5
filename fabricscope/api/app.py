"""The FastAPI application: routes, errors in one form, and the headers that keep a browser safe."""

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from bus.base import MESSAGE_BYTES_MAX, Bus
from common.errors import ConfigError, Unavailable
from common.secrets import read_secret_text
from dashboards.noc import STATIC
from fabricscope.api import changes, health, incidents, starvation, stream, targets, trends
from fabricscope.api.config import ApiConfig
from fabricscope.api.metrics import REQUESTS
from fabricscope.api.problem import Problem, describe_error, may_answer
from fabricscope.api.read_model import ReadModel
from fabricscope.version import VERSION

_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_ERROR_TYPES = {
    400: "bad_data",
    401: "unauthorized",
    404: "not_found",
    405: "bad_method",
    411: "bad_data",
    413: "bad_data",
    415: "bad_data",
    422: "bad_data",
    503: "unavailable",
}


def create_app(config: ApiConfig, model: ReadModel, bus: Bus, clock: Callable[[], int]) -> FastAPI:
    """All routes over one read model. clock: event time in nanoseconds."""
    app = FastAPI(title="Fabricscope", version=VERSION, docs_url=None, redoc_url=None, responses=may_answer(401))
    app.state.model, app.state.bus, app.state.clock = model, bus, clock
    for module in (health, incidents, targets, starvation, trends, changes, stream):
        app.include_router(module.router)
    app.mount("/", StaticFiles(directory=STATIC, html=True))
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    _guard(app, config)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*config.allowed_hosts, config.host])
    return app


def error(status: int, text: str) -> JSONResponse:
    """The one form of errors."""
    body = Problem("error", _ERROR_TYPES.get(status, "internal"), text)
    return JSONResponse(asdict(body), status_code=status)


def _guard(app: FastAPI, config: ApiConfig) -> None:
    token = _token(config.bearer_token_file)

    @app.middleware("http")
    async def guard(request: Request, handle: Callable[[Request], Awaitable[Response]]) -> Response:
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token is not None and not hmac.compare_digest(bearer.encode(), token.encode()):
            response: Response = error(401, "a bearer token is needed")
        elif request.method == "POST" and (refusal := _refused(request)) is not None:
            response = refusal
        else:
            response = await handle(request)
        response.headers.update(_HEADERS)
        _count(request, response.status_code)
        return response


def _count(request: Request, status: int) -> None:
    """By route as declared, so that nothing that a client chooses becomes a label; all that has none is ``other``."""
    route = getattr(request.scope.get("route"), "path", "other")
    REQUESTS.labels(request.method if request.method in ("GET", "POST") else "other", route, status).inc()


def _refused(request: Request) -> JSONResponse | None:
    """Pages of other origins may send forms and plain text unasked; JSON only when we allow it, and we never do."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return error(415, "content-type: expected application/json")
    length = request.headers.get("content-length", "")
    if not length.isdecimal() or "transfer-encoding" in request.headers:
        return error(411, "content-length: expected the length of the body")
    if int(length) > MESSAGE_BYTES_MAX:
        return error(413, f"content-length: expected at most {MESSAGE_BYTES_MAX} bytes")
    return None


def _token(file: Path | None) -> str | None:
    """ConfigError for an empty file: without a token everybody would be let in."""
    if file is None:
        return None
    try:
        return read_secret_text(file)
    except Unavailable as error:
        raise ConfigError(f"api.bearer_token_file: {error}, expected a token") from error


async def _http_error(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    return error(problem.status_code, str(problem.detail))


async def _invalid(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, RequestValidationError)
    return error(422, describe_error(problem.errors()[0]))
