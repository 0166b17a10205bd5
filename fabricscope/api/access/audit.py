"""What was changed through the API and on the command line, by whom, and with what result: JSON lines in files."""

import errno
import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import orjson

from common.errors import Unavailable
from common.printing import printable
from common.units import NS_PER_S, NS_PER_US

FILE_BYTES_MAX = 8 * 1024 * 1024
FILES_MAX = 8  # the file that is written, and seven before it
_CHARS_MAX = 2000  # of one value


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change, done or refused. at_ns: by the wall clock, ns since the Unix epoch.

    who, token: name and id of the token, '' without one. address: of the client; ``command line`` for a command.
    action: the route or the command. result: HTTP status, or a word. details: what about, as text.
    """

    at_ns: int
    who: str
    token: str
    address: str
    action: str
    result: str
    details: Mapping[str, str] = field(default_factory=dict)

    def line(self) -> bytes:
        """One line of JSON, harmless to print."""
        at = datetime.fromtimestamp(self.at_ns // NS_PER_S, UTC).replace(microsecond=self.at_ns % NS_PER_S // NS_PER_US)
        named = {
            "at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "who": self.who,
            "token": self.token,
            "address": self.address,
            "action": self.action,
            "result": self.result,
            **self.details,
        }
        return orjson.dumps({name: _bounded(value) for name, value in named.items()}) + b"\n"


class AuditLog:
    """``audit.jsonl`` in a folder, for several processes; ``audit.jsonl.1`` is the file before it. Blocking.

    Lines are only ever appended. With a file that is full the oldest of ``FILES_MAX`` goes.
    """

    def __init__(self, folder: Path, file_bytes_max: int = FILE_BYTES_MAX) -> None:
        self._folder, self._bytes_max = folder, file_bytes_max
        self.file = folder / "audit.jsonl"

    def check(self) -> None:
        """Unavailable when nothing could be appended now: then nothing should be changed."""
        with self._opened():
            pass

    def append(self, entry: AuditEntry) -> None:
        """Returns once it is durable. Unavailable when it is not."""
        line = entry.line()
        with self._opened() as file:
            try:
                if os.fstat(file).st_size + len(line) > self._bytes_max:
                    self._rotate()
                    with self._open_file() as new:
                        _write(new, line)
                else:
                    _write(file, line)
            except OSError as error:
                raise self._unwritable(error) from error

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """The file, while no other process appends or rotates."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self._folder / "audit.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with self._open_file() as file:
                yield file
        finally:
            os.close(lock)

    @contextmanager
    def _open_file(self) -> Iterator[int]:
        try:
            file = os.open(self.file, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            yield file
        finally:
            os.close(file)

    def _rotate(self) -> None:
        for number in range(FILES_MAX - 1, 0, -1):
            older = self._folder / f"{self.file.name}.{number}"
            newer = self.file if number == 1 else self._folder / f"{self.file.name}.{number - 1}"
            if newer.exists():
                newer.replace(older)

    def _unwritable(self, error: OSError) -> Unavailable:
        return Unavailable(f"audit log {self.file}: {error.strerror}")


def _write(file: int, line: bytes) -> None:
    """Whole, or not at all: half a line on a full disk is taken back."""
    before = os.fstat(file).st_size
    if os.write(file, line) < len(line):
        os.ftruncate(file, before)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(file)


def _bounded(value: str) -> str:
    shown = printable(value.encode("utf-8", "replace").decode())
    return shown if len(shown) <= _CHARS_MAX else shown[: _CHARS_MAX - 1] + "…"
