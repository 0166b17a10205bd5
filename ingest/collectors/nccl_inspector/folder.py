"""The files of a folder, one of each process: each is followed for as long as it is there, also under another name."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from common.patterns import compile_bounded
from common.units import to_ns
from ingest.collectors.command import NoAnswer, raise_without_descriptors
from ingest.collectors.nccl_inspector.config import Config
from ingest.collectors.nccl_inspector.records import Context
from telemetry.samples import DownReason

STATES = ("followed", "idle", "refused", "left_out")
_CHUNK = 1 << 20  # the longest line, too: that of a verbose record of 64 channels has 30 KiB
_HEAD = 256  # bytes by which a file is known again: a first record has a time and a process
_BACKLOG = 1 << 20  # of a file that is there at the start

_Key = tuple[int, int]


class _Listed(NamedTuple):
    changed_ns: int
    path: Path
    key: _Key
    size: int


@dataclass(slots=True)
class Followed:
    """One file. at: what is read, to the end of a line. is_torn: ``at`` is within a line that is passed over.

    size: as it was listed last. seen: as it was when it was read last. error: why it is not read, '' for nothing.
    """

    path: Path
    context: Context
    at: int
    size: int
    is_torn: bool
    head: bytes = b""
    seen: int = 0
    error: str = ""


@dataclass(slots=True)
class Lost:
    """Since it was asked last. bytes_lost: seen and never read. bytes_of_history: left out when a file was first seen.

    too_long: lines. cut_off: lines of which the end never came. ended: contexts of files that are gone, or were
    rewritten.
    """

    bytes_lost: int = 0
    bytes_of_history: int = 0
    too_long: int = 0
    cut_off: int = 0
    ended: list[Context] = field(default_factory=list)


class Folder:
    """Of one thread at a time."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._job = compile_bounded(config.job_folder)
        self._files: dict[_Key, Followed] = {}
        self._looked = False
        self._turn = 0
        self._lost = Lost()
        self.states = dict.fromkeys(STATES, 0)

    def lost(self) -> Lost:
        """What was lost since the last call."""
        lost, self._lost = self._lost, Lost()
        return lost

    def look(self, now_ns: int) -> None:
        """Lists the files. NoAnswer where the folder cannot be listed."""
        listed = self._listed()
        self.states = dict.fromkeys(STATES, 0) | {"left_out": max(0, len(listed) - self._config.limits.files_max)}
        listed = listed[: self._config.limits.files_max]
        recent_ns = now_ns - to_ns(self._config.age_max_s)
        gone = [self._files.pop(key) for key in sorted(self._files.keys() - {each.key for each in listed})]
        for each in listed:
            self.states["followed" if each.changed_ns >= recent_ns else "idle"] += 1
            known = self._files.get(each.key)
            if known is None:
                self._files[each.key] = self._new(each, is_recent=each.changed_ns >= recent_ns)
                continue
            if each.size < known.size:
                self._start_again(known)
            known.path, known.size = each.path, each.size
        self._looked = True
        for file in gone:
            self._end(file)

    def chunks(self) -> Iterator[tuple[Context, bytes]]:
        """Whole lines of each file that has grown, ``read_bytes_max`` of them at most, each file in its turn."""
        files = [file for file in self._files.values() if file.size != file.at]
        left = self._config.limits.read_bytes_max
        if not files:
            return
        self._turn = (self._turn + 1) % len(files)
        for file in files[self._turn :] + files[: self._turn]:
            while left > 0 and (data := self._read(file)) is not None:
                left -= len(data)
                if lines := self._whole_lines(file, data):
                    yield file.context, lines
                elif len(data) < _CHUNK:
                    break
        self.states["refused"] = sum(bool(file.error) for file in self._files.values())

    def _new(self, listed: _Listed, *, is_recent: bool) -> Followed:
        """One that comes later is read from its first line, unless nothing was written to it of late."""
        at = 0 if is_recent and self._looked else max(0, listed.size - (_BACKLOG if is_recent else 0))
        self._lost.bytes_of_history += at
        context = Context(self._job_of(listed.path), is_inside=at > 0)
        return Followed(listed.path, context, max(0, at - 1), listed.size, is_torn=at > 0)

    def _job_of(self, path: Path) -> str:
        below = path.parent.relative_to(self._config.folder).parts
        for name in (*reversed(below), self._config.folder.name):
            if len(name) <= 255 and (found := self._job.fullmatch(name)) is not None and found[1]:
                return found[1]
        return ""

    def _listed(self) -> list[_Listed]:
        """Newest first."""
        try:
            os.listdir(self._config.folder)
            return sorted(self._stated(), key=lambda each: (-each.changed_ns, each.path))
        except OSError as error:
            raise_without_descriptors(error)
            raise NoAnswer(DownReason.REFUSED, f"{self._config.folder}: {error.strerror}") from error

    def _stated(self) -> Iterator[_Listed]:
        for path in self._config.folder.glob(self._config.glob):
            try:
                status = path.lstat()
            except FileNotFoundError:
                continue  # removed since it was listed
            if stat.S_ISREG(status.st_mode):
                yield _Listed(status.st_mtime_ns, path, (status.st_dev, status.st_ino), status.st_size)

    def _read(self, file: Followed) -> bytes | None:
        """The next bytes; None where there are none, or none that can be read."""
        try:
            descriptor = os.open(file.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise_without_descriptors(error)
            file.error = "" if isinstance(error, FileNotFoundError) else str(error.strerror)
            return None
        try:
            return self._read_open(file, descriptor)
        except OSError as error:
            file.error = str(error.strerror)
            return None
        finally:
            os.close(descriptor)

    def _read_open(self, file: Followed, descriptor: int) -> bytes | None:
        status = os.fstat(descriptor)
        if self._files.get((status.st_dev, status.st_ino)) is not file:
            return None  # rotated since it was listed: the next look finds it under its new name
        head = os.pread(descriptor, _HEAD, 0)
        if not head.startswith(file.head) or status.st_size < file.at:
            file.size = file.seen
            self._start_again(file)
        file.head, file.size, file.seen = head, status.st_size, status.st_size
        file.error = "" if head[:1] in (b"", b"{") else "no record of NCCL Inspector"
        return None if file.error else os.pread(descriptor, _CHUNK, file.at) or None

    def _start_again(self, file: Followed) -> None:
        """Of a file that was rewritten in its place, as by a process with the number of an earlier one."""
        self._end(file)
        file.at, file.is_torn, file.head, file.context = 0, False, b"", Context(file.context.job_id)

    def _whole_lines(self, file: Followed, data: bytes) -> bytes:
        """Those that begin here; the start of a further one waits for its end."""
        end = data.rfind(b"\n") + 1
        if not end:
            if file.is_torn or len(data) == _CHUNK:
                self._lost.too_long += not file.is_torn
                file.is_torn = True
                file.at += len(data)
            return b""
        start = data.find(b"\n") + 1 if file.is_torn else 0
        file.at, file.is_torn = file.at + end, False
        return data[start:end]

    def _end(self, file: Followed) -> None:
        """Counts what is left of a file that cannot be read any more."""
        rest = file.size - file.at
        if rest > 0 and not file.is_torn and not file.error:
            self._lost.cut_off += 1
            self._lost.bytes_lost += rest
        self._lost.ended.append(file.context)
