"""Tokens of the API: who may do what, and until when. Pure: the store keeps them, the guard asks for them."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
PREFIX = "fabricscope_"  # so that scanners for leaked secrets find one
SECRET_BYTES = 32  # a secret that cannot be guessed needs no slow hash
NEVER_NS = 2**63 - 1


class Scope(StrEnum):
    """What a token allows."""

    READ = "read"  # look at everything
    ACK = "ack"  # keep people from being paged: announce changes
    REPLAY = "replay"  # run recordings again
    ADMIN = "admin"  # everything


class Token(BaseModel):
    """One token, without its secret. Times in ns since the Unix epoch, by the wall clock.

    id: names it in lists and in the audit log. sha256: of the secret, in hex.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    name: str = Field(pattern=NAME_PATTERN)
    scopes: tuple[Scope, ...] = Field(min_length=1)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    created_ns: int
    expires_ns: int

    def is_active(self, now_ns: int) -> bool:
        return now_ns < self.expires_ns

    def allows(self, scope: Scope) -> bool:
        return scope in self.scopes or Scope.ADMIN in self.scopes


def issue(name: str, scopes: Iterable[Scope], *, now_ns: int, lasts_ns: int) -> tuple[Token, str]:
    """A new token and its secret, which is nowhere else."""
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    given = tuple(scope for scope in Scope if scope in set(scopes))
    token = Token(
        id=secrets.token_hex(4),
        name=name,
        scopes=given,
        sha256=digest(secret),
        created_ns=now_ns,
        expires_ns=now_ns + lasts_ns,
    )
    return token, secret


def digest(secret: str) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def holder(tokens: Iterable[Token], secret: str, now_ns: int) -> Token | None:
    """The active token with this secret. All are compared, each in constant time."""
    given, found = digest(secret), None
    for token in tokens:
        if hmac.compare_digest(token.sha256, given) and token.is_active(now_ns):
            found = token
    return found
