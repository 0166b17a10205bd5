"""Sessions of browsers: each has a random id in a cookie, and stands for the token that it began with."""

import secrets
import threading
from collections import Counter
from pathlib import Path
from typing import Literal

import structlog
from pydantic import BaseModel, ConfigDict, Field

from common.documents.strict_json import parse_json
from common.units import NS_PER_S
from fabricscope.api.access.private_file import replace_private
from fabricscope.api.access.tokens import SECRET_BYTES, Token, digest

SESSIONS_MAX = 1000
_BYTES_MAX = 1024 * 1024
_SHA256 = r"^[0-9a-f]{64}$"
log = structlog.get_logger(__name__)


class Session(BaseModel):
    """One session, without its id. sha256: of the id. token: SHA-256 of the token. Both in hex.

    expires_ns: by the wall clock, in ns since the Unix epoch; not after the token does.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str = Field(pattern=_SHA256)
    token: str = Field(pattern=_SHA256)
    expires_ns: int


class _File(BaseModel):
    """``sessions.json``, oldest first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    sessions: tuple[Session, ...] = Field((), max_length=SESSIONS_MAX)


class Sessions:
    """The sessions of one API, at most 1,000; they survive a restart. Blocking, but for ``find``; thread-safe.

    Of too many the oldest one goes, of the token that has most: nobody ends the sessions of others by logging in.
    folder: of the tokens. A file that cannot be read ends all sessions; one that cannot be written ends none, as
    people look for what is wrong just then.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "sessions.json"
        self._lock = threading.Lock()
        self._known: dict[str, Session] = {}

    def load(self) -> None:
        """What an earlier process left."""
        try:
            with self._file.open("rb") as stream:
                content = stream.read(_BYTES_MAX)
            parse_json(content)  # which refuses keys that are there twice
            self._known = {one.sha256: one for one in _File.model_validate_json(content).sessions}
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:  # a ValidationError is one
            log.warning("sessions cannot be read: people log in again", file=str(self._file), error=str(error)[:200])

    def find(self, identity: str, now_ns: int) -> Session | None:
        """The session with this id; None when it is over or there was none."""
        found = self._known.get(digest(identity))
        return None if found is None or found.expires_ns <= now_ns else found

    def open(self, token: Token, lasts_s: float, now_ns: int) -> tuple[str, Session]:
        """A new session and its id, which is nowhere else."""
        identity = secrets.token_urlsafe(SECRET_BYTES)
        expires_ns = min(token.expires_ns, now_ns + int(lasts_s * NS_PER_S))
        session = Session(sha256=digest(identity), token=token.sha256, expires_ns=expires_ns)
        with self._lock:
            kept = [one for one in self._known.values() if one.expires_ns > now_ns]
            if len(kept) >= SESSIONS_MAX:
                [(most, _)] = Counter(one.token for one in kept).most_common(1)
                kept.remove(next(one for one in kept if one.token == most))
            self._keep([*kept, session])
        return identity, session

    def close(self, identity: str) -> None:
        """Ends it, if it is there."""
        with self._lock:
            ended = digest(identity)
            self._keep([one for one in self._known.values() if one.sha256 != ended])

    def _keep(self, sessions: list[Session]) -> None:
        self._known = {one.sha256: one for one in sessions}
        try:
            replace_private(self._file, _File(sessions=tuple(sessions)).model_dump_json(indent=1).encode() + b"\n")
        except OSError as error:
            log.warning("sessions not written: a restart ends them", file=str(self._file), error=str(error))
