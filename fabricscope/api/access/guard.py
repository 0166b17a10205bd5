"""Before every request: may this client do it, and often enough? After every change: the audit log."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

import structlog
from fastapi import Request, Response

from bus.base import MESSAGE_BYTES_MAX
from common.errors import Unavailable
from fabricscope.api.access.answers import error, forbidden, to_login, too_many, unauthorized
from fabricscope.api.access.audit import AuditEntry, AuditLog
from fabricscope.api.access.client import client_of
from fabricscope.api.access.credentials import BadToken, Caller, Credentials
from fabricscope.api.access.rate import RateLimit
from fabricscope.api.access.same_origin import is_same_origin
from fabricscope.api.access.tokens import Scope
from fabricscope.api.config import ApiConfig
from fabricscope.api.metrics import AUDIT_FAILURES

log = structlog.get_logger(__name__)

READING = frozenset({"GET", "HEAD", "OPTIONS"})
OPEN = frozenset(
    {
        *("/-/healthy", "/-/ready", "/login", "/login.css", "/login.js"),
        *("/noc.css", "/theme.css", "/theme.js", "/favicon.svg"),
    }
)
"""What everybody may read, everywhere: what probes ask, and the page where a person logs in."""
CHANGES: Mapping[tuple[str, str], Scope] = {
    ("POST", "/api/v1/changes"): Scope.ACK,
    ("POST", "/api/v1/replays"): Scope.REPLAY,
    ("POST", "/-/reload"): Scope.ADMIN,
    ("POST", "/login"): Scope.READ,
    ("POST", "/logout"): Scope.READ,
}
"""Every route that changes something, and what it needs. One that is missing here needs ``admin``."""
BAD_TOKENS_PER_MINUTE = 10
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
Handler = Callable[[Request], Awaitable[Response]]


def needed_scope(method: str, path: str) -> Scope:
    """What a request needs, by its method and path alone: never by its host."""
    return Scope.READ if method in READING else CHANGES.get((method, path), Scope.ADMIN)


def address_of(request: Request) -> str:
    """Of the client, as the socket has it: headers of proxies are not believed."""
    return request.client.host if request.client else ""


class Guard:
    """Answers in place of the application what is not allowed.

    What it lets through has in its ``state`` whether the client ``may_read`` (called later, it may have changed), and
    with a change the ``caller`` and what of it is ``audited``.
    """

    def __init__(self, config: ApiConfig, credentials: Credentials, audit: AuditLog) -> None:
        self._reading_is_open = not config.reading_needs_token
        self._credentials, self._audit = credentials, audit
        self._bad_tokens = RateLimit(BAD_TOKENS_PER_MINUTE)
        self._changes = RateLimit(config.changes_per_minute)

    async def answer(self, request: Request, handle: Handler) -> Response:
        request.state.may_read = lambda: self._may_read(request)
        if request.method in READING and self._reading_is_open:
            return await handle(request)
        try:
            caller = self._credentials.caller(request)
        except BadToken:
            return self._bad_token(request)
        if request.method not in READING:
            return unauthorized() if caller is None else await self._change(request, handle, caller)
        if request.scope["path"] in OPEN:
            return await handle(request)
        if caller is None:
            return to_login(request) if _opens_a_page(request) else unauthorized()
        return await handle(request) if caller.token.allows(Scope.READ) else forbidden()

    def _may_read(self, request: Request) -> bool:
        if self._reading_is_open:
            return True
        try:
            caller = self._credentials.caller(request)
        except BadToken:  # since the request began
            return False
        return caller is not None and caller.token.allows(Scope.READ)

    def _bad_token(self, request: Request) -> Response:
        address = address_of(request)
        wait_s = self._bad_tokens.wait_s(client_of(address))
        if wait_s:
            return too_many("too many bad tokens", wait_s)
        log.warning("bad token", address=address)
        return unauthorized()

    async def _change(self, request: Request, handle: Handler, caller: Caller) -> Response:
        """By a known token: as often as allowed, and never without a line in the audit log."""
        wait_s = self._changes.wait_s(caller.token.name)
        if wait_s:
            return too_many("too many changes", wait_s)
        try:
            await asyncio.to_thread(self._audit.check)
        except Unavailable as problem:
            AUDIT_FAILURES.inc()
            log.error("change refused", error=str(problem))
            return error(503, "the audit log cannot be written")
        request.state.caller, request.state.audited = caller, {}
        result = "failed"
        try:
            response = await self._checked(request, handle, caller)
            result = str(response.status_code)
        finally:
            await self._note(request, caller, result)
        return response

    async def _checked(self, request: Request, handle: Handler, caller: Caller) -> Response:
        if not caller.token.allows(needed_scope(request.method, request.scope["path"])):
            return forbidden()
        if caller.session and not is_same_origin(request):
            return error(403, "a session changes something only from a page of this API")
        refused = _refused(request) if request.method in _WITH_BODY else None
        return refused if refused is not None else await handle(request)

    async def _note(self, request: Request, caller: Caller, result: str) -> None:
        action = f"{request.method} {request.scope['path']}"
        token = caller.token
        entry = AuditEntry(
            time.time_ns(), token.name, token.id, address_of(request), action, result, request.state.audited
        )
        try:
            await asyncio.to_thread(self._audit.append, entry)
        except Unavailable as problem:  # it is done already: the log is the next best place
            AUDIT_FAILURES.inc()
            log.error("audit log not written", error=str(problem), entry=entry.line().decode().strip())


def _opens_a_page(request: Request) -> bool:
    """A person in a browser, and no program: neither ``fetch`` nor an event stream asks for HTML."""
    return request.method == "GET" and "text/html" in request.headers.get("accept", "")


def _refused(request: Request) -> Response | None:
    """Pages of other origins may send forms and plain text unasked; JSON only when we allow it, and we never do."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return error(415, "content-type: expected application/json")
    length = request.headers.get("content-length", "")
    if not length.isdecimal() or "transfer-encoding" in request.headers:
        return error(411, "content-length: expected the length of the body")
    if int(length) > MESSAGE_BYTES_MAX:
        return error(413, f"content-length: expected at most {MESSAGE_BYTES_MAX} bytes")
    return None
