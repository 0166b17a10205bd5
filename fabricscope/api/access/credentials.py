"""Who a request is from: the token in its header, or the one that the session of its cookie began with."""

import time
from dataclasses import dataclass
from pathlib import Path

import structlog
from fastapi import Request

from common.errors import ConfigError, Unavailable
from common.secrets import read_secret_text
from fabricscope.api.access.cookie import session_id
from fabricscope.api.access.sessions import Sessions
from fabricscope.api.access.token_store import TokenStore
from fabricscope.api.access.tokens import NEVER_NS, Scope, Token, digest, holder
from fabricscope.api.config import ApiConfig

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Caller:
    """session: the id of the session, '' with the token itself."""

    token: Token
    session: str = ""


class BadToken(Exception):
    """A token that lets nobody in."""


class Credentials:
    """All that lets somebody in. ConfigError for a token file of no use: without a token everybody would be let in."""

    def __init__(self, config: ApiConfig, tokens: TokenStore, sessions: Sessions) -> None:
        self._tokens, self._sessions = tokens, sessions
        self._of_settings = () if config.bearer_token_file is None else (_token_of(config.bearer_token_file),)

    def caller(self, request: Request) -> Caller | None:
        """By the token that it brings, or else by its session. None without either, or once the session is over.

        Raises BadToken.
        """
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and secret:
            token = holder(self._all(), secret.strip(), time.time_ns())
            if token is None:
                raise BadToken
            return Caller(token)
        identity = session_id(request)
        token = self._token_of_session(identity) if identity else None
        return None if token is None else Caller(token, identity)

    def _token_of_session(self, identity: str) -> Token | None:
        """None as soon as the token is revoked or has expired, whatever the session says."""
        now_ns = time.time_ns()
        session = self._sessions.find(identity, now_ns)
        if session is None:
            return None
        return next((one for one in self._all() if one.sha256 == session.token and one.is_active(now_ns)), None)

    def _all(self) -> tuple[Token, ...]:
        try:
            tokens = self._tokens.load()
        except ConfigError as problem:  # nobody is let in by a file that cannot be read
            log.error("tokens cannot be read", error=str(problem))
            tokens = ()
        return *tokens, *self._of_settings


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
