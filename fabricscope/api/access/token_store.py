"""The tokens in a file: hashes that the API checks, and the secret of the one that local commands use."""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from common.documents.strict_json import parse_json
from common.errors import BadInput, ConfigError, Unavailable
from common.secrets import read_secret_text
from common.units import NS_PER_S
from fabricscope.api.access.private_file import replace_private
from fabricscope.api.access.tokens import Scope, Token, holder, issue

LOCAL = "local"
"""Name of the token that commands on this machine use by themselves."""
LOCAL_SCOPES = (Scope.READ, Scope.ACK)
DAY_S = 86_400
LOCAL_LASTS_S, LOCAL_RENEWED_S = 90 * DAY_S, 30 * DAY_S
ACTIVE_MAX = 2  # of one name: the old one works until everybody has the new one
TOKENS_MAX = 1000
_BYTES_MAX = 1024 * 1024


class _File(BaseModel):
    """``tokens.json``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    tokens: tuple[Token, ...] = Field((), max_length=TOKENS_MAX)


class TokenStore:
    """Tokens of one state folder, for the API and for commands at the same time. Blocking.

    folder: made with mode 0700; its files have mode 0600. Raises ConfigError when they cannot be read or written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file, self.local_file = folder / "tokens.json", folder / "local.token"
        self._read_of: tuple[int, ...] = ()
        self._tokens: tuple[Token, ...] = ()

    def load(self) -> tuple[Token, ...]:
        """All tokens; those that have expired are among them. Reads the file again when it has changed."""
        try:
            found = self._file.stat()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise self._unusable(error) from error
        version = found.st_ino, found.st_mtime_ns, found.st_size
        if version != self._read_of:
            self._tokens, self._read_of = self._parse(), version
        return self._tokens

    def create(self, name: str, scopes: Sequence[Scope], *, lasts_s: float, now_ns: int) -> tuple[Token, str]:
        """A new token and its secret. BadInput when two of this name are active. Forgets expired ones."""
        with self._locked():
            active = tuple(token for token in self.load() if token.is_active(now_ns))
            same = [token.id for token in active if token.name == name]
            if len(same) >= ACTIVE_MAX:
                raise BadInput(f"token {name}: {' and '.join(same)} are active, expected one at most: revoke one first")
            if len(active) >= TOKENS_MAX:
                raise BadInput(f"{len(active)} tokens are active, expected fewer than {TOKENS_MAX}")
            token, secret = issue(name, scopes, now_ns=now_ns, lasts_ns=int(lasts_s * NS_PER_S))
            self._write((*active, token))
        return token, secret

    def revoke(self, which: str) -> tuple[Token, ...]:
        """Removes the token of this id, or all of this name, and returns them; BadInput when there is none."""
        with self._locked():
            tokens = self.load()
            gone = tuple(token for token in tokens if which == token.id) or tuple(
                token for token in tokens if which == token.name
            )
            if not gone:
                raise BadInput(f"no token {which}: expected an id or a name of `fabricscope token list`")
            self._write(tuple(token for token in tokens if token not in gone))
        return gone

    def ensure_local(self, now_ns: int) -> Token:
        """The token whose secret is in ``local_file``; a new one when that is missing, revoked or soon over."""
        with self._locked():
            tokens = self.load()
            token = holder(tokens, self._local_secret(), now_ns)
            if token is not None and token.expires_ns - now_ns > LOCAL_RENEWED_S * NS_PER_S:
                return token
            new, secret = issue(LOCAL, LOCAL_SCOPES, now_ns=now_ns, lasts_ns=LOCAL_LASTS_S * NS_PER_S)
            kept = [one for one in tokens if one.name == LOCAL and one.is_active(now_ns)][-(ACTIVE_MAX - 1) :]
            self._write((*(one for one in tokens if one.name != LOCAL), *kept, new))
            self._replace(self.local_file, f"{secret}\n".encode())
        return new

    def _local_secret(self) -> str:
        try:
            return read_secret_text(self.local_file)
        except Unavailable:
            return ""

    def _parse(self) -> tuple[Token, ...]:
        try:
            with self._file.open("rb") as stream:
                content = stream.read(_BYTES_MAX)
            parse_json(content)  # which refuses keys that are there twice
            return _File.model_validate_json(content).tokens
        except OSError as error:
            raise self._unusable(error) from error
        except ValueError as error:  # a ValidationError is one
            raise ConfigError(
                f"{self._file}: not a list of tokens of this version: move it away, and create the tokens again"
            ) from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time; the kernel ends it with the process."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self._folder / "tokens.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unusable(error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _write(self, tokens: tuple[Token, ...]) -> None:
        self._replace(self._file, _File(tokens=tokens).model_dump_json(indent=1).encode() + b"\n")

    def _replace(self, path: Path, content: bytes) -> None:
        try:
            replace_private(path, content)
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> ConfigError:
        return ConfigError(f"api.state_dir {self._folder}: {error.strerror}: expected a folder that can be written")
