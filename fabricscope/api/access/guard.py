"""Before every request: may this client do it, and often enough? After every change: the audit log."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import structlog
from fastapi import Request, Response

from bus.base import MESSAGE_BYTES_MAX
from common.errors import ConfigError, Unavailable
from common.secrets import read_secret_text
from fabricscope.api.access.answers import error, forbidden, too_many, unauthorized
from fabricscope.api.access.audit import AuditEntry, AuditLog
from fabricscope.api.access.client import client_of
from fabricscope.api.access.rate import RateLimit
from fabricscope.api.access.token_store import TokenStore
from fabricscope.api.access.tokens import NEVER_NS, Scope, Token, digest, holder
from fabricscope.api.config import ApiConfig
from fabricscope.api.metrics import AUDIT_FAILURES

log = structlog.get_logger(__name__)

READING = frozenset({"GET", "HEAD", "OPTIONS"})
CHANGES: Mapping[tuple[str, str], Scope] = {
    ("POST", "/api/v1/changes"): Scope.ACK,
    ("POST", "/api/v1/replays"): Scope.REPLAY,
    ("POST", "/-/reload"): Scope.ADMIN,
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

    ConfigError for a token file of no use: without a token everybody would be let in.
    """

    def __init__(self, config: ApiConfig, tokens: TokenStore, audit: AuditLog) -> None:
        self._reading_is_open = not config.reading_needs_token
        self._tokens, self._audit = tokens, audit
        self._of_settings = () if config.bearer_token_file is None else (_token_of(config.bearer_token_file),)
        self._bad_tokens = RateLimit(BAD_TOKENS_PER_MINUTE)
        self._changes = RateLimit(config.changes_per_minute)

    async def answer(self, request: Request, handle: Handler) -> Response:
        reads = request.method in READING
        if reads and self._reading_is_open:
            return await handle(request)
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secret:
            return unauthorized()
        token = self._holder(secret.strip())
        if token is None:
            wait_s = self._bad_tokens.wait_s(client_of(address_of(request)))
            if wait_s:
                return too_many("too many bad tokens", wait_s)
            log.warning("bad token", address=address_of(request))
            return unauthorized()
        if not reads:
            return await self._change(request, handle, token)
        return await handle(request) if token.allows(Scope.READ) else forbidden()

    async def _change(self, request: Request, handle: Handler, token: Token) -> Response:
        """By a known token: as often as allowed, and never without a line in the audit log."""
        wait_s = self._changes.wait_s(token.name)
        if wait_s:
            return too_many("too many changes", wait_s)
        try:
            await asyncio.to_thread(self._audit.check)
        except Unavailable as problem:
            AUDIT_FAILURES.inc()
            log.error("change refused", error=str(problem))
            return error(503, "the audit log cannot be written")
        request.state.audited = {}
        result = "failed"
        try:
            response = await self._checked(request, handle, token)
            result = str(response.status_code)
        finally:
            await self._note(request, token, result)
        return response

    async def _checked(self, request: Request, handle: Handler, token: Token) -> Response:
        if not token.allows(needed_scope(request.method, request.scope["path"])):
            return forbidden()
        refused = _refused(request) if request.method in _WITH_BODY else None
        return refused if refused is not None else await handle(request)

    async def _note(self, request: Request, token: Token, result: str) -> None:
        action = f"{request.method} {request.scope['path']}"
        entry = AuditEntry(
            time.time_ns(), token.name, token.id, address_of(request), action, result, request.state.audited
        )
        try:
            await asyncio.to_thread(self._audit.append, entry)
        except Unavailable as problem:  # it is done already: the log is the next best place
            AUDIT_FAILURES.inc()
            log.error("audit log not written", error=str(problem), entry=entry.line().decode().strip())

    def _holder(self, secret: str) -> Token | None:
        try:
            tokens = self._tokens.load()
        except ConfigError as problem:  # nobody is let in by a file that cannot be read
            log.error("tokens cannot be read", error=str(problem))
            tokens = ()
        return holder((*tokens, *self._of_settings), secret, time.time_ns())


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


def _token_of(file: Path) -> Token:
    """The token of the settings: everything is allowed, for ever."""
    try:
        secret = read_secret_text(file)
    except Unavailable as problem:
        raise ConfigError(f"api.bearer_token_file: {problem}, expected a token") from problem
    return Token(
        id="settings",
        name="bearer_token_file",
        scopes=(Scope.ADMIN,),
        sha256=digest(secret),
        created_ns=0,
        expires_ns=NEVER_NS,
    )
