"""What holds for every request and answer, whatever the route: HEAD, host names, methods."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fabricscope.api.access.answers import error

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
"""What keeps a browser safe."""
_PICTURES = {"Content-Security-Policy": f"{HEADERS['Content-Security-Policy']}; img-src 'self' data:"}


def headers_of(path: str) -> Mapping[str, str]:
    """Of an answer. The style sheet of Swagger UI brings its pictures as data, which nobody else sends."""
    return HEADERS | _PICTURES if path.startswith("/docs/") else HEADERS


class HeadAsGet:
    """HEAD is answered as GET; the server leaves out the body. An answer without end ends with its headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        begun = asyncio.Event()

        async def send_and_note(message: Message) -> None:
            await send(message)
            begun.set()

        async def receive_nothing() -> Message:
            await begun.wait()
            return {"type": "http.disconnect"}

        await self._app({**scope, "method": "GET"}, receive_nothing, send_and_note)


class KnownHost:
    """Refuses other host names than the allowed ones, in our form of errors."""

    def __init__(self, app: ASGIApp, allowed_hosts: Sequence[str]) -> None:
        self._app, self._hosts = app, allowed_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if await self._admits(scope):
            await self._app(scope, receive, send)
        else:
            refusal = error(400, "host: expected one of api.allowed_hosts")
            refusal.headers.update(HEADERS)
            await refusal(scope, receive, send)

    async def _admits(self, scope: Scope) -> bool:
        admitted = False

        async def admit(*_: object) -> None:
            nonlocal admitted
            admitted = True

        await TrustedHostMiddleware(admit, self._hosts, www_redirect=False)(scope, _nothing, _discard)
        return admitted


def allowed_methods(routes: Iterable[BaseRoute], path: str) -> str:
    """For ``Allow``: the methods that some route has at this path, '' for none."""
    found = {method for route in routes if isinstance(route, Route) for method in _methods(route, path)}
    return ", ".join(sorted(found | {"HEAD"} if "GET" in found else found))


def _methods(route: Route, path: str) -> Iterable[str]:
    return (route.methods or ()) if route.path_regex.match(path) else ()


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


async def _discard(_: Message) -> None:
    return None
