"""One file of the spool: written at its end, read from any record on. Blocking."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ingest.outgoing import Outgoing
from ingest.spool.record import HEAD_BYTES, Amount, Head, decode_body, decode_head

SUFFIX = ".segment"
_READ_BYTES = 256 * 1024


@dataclass(slots=True)
class Segment:
    """A file and what is known of it. first: what was spooled before it, ever. size: bytes that are whole records, as
    far as known. first_ns, last_ns: when its first and newest record were spooled."""

    path: Path
    number: int
    first: Amount
    first_ns: int
    last_ns: int
    size: int

    def heads(self) -> Iterator[Head]:
        """Up to the end, or to a head that is damaged."""
        with self.path.open("rb", _READ_BYTES) as file:
            offset = 0
            while offset < self.size:
                file.seek(offset)
                head = decode_head(file.read(HEAD_BYTES))
                if head is None:
                    return
                offset += HEAD_BYTES + head.body_bytes
                if offset <= self.size:
                    yield head

    def cut(self, size: int) -> None:
        """Takes back what is behind ``size``, if the disk does it: else the counts in the next segment tell."""
        with suppress(OSError):
            os.truncate(self.path, size)

    def records(self, offset: int) -> Iterator[tuple[Head, Outgoing | None, int]]:
        """Head, message (None when damaged) and end of each record from ``offset`` on, up to a damaged head."""
        with self.path.open("rb", _READ_BYTES) as file:
            file.seek(offset)
            while offset < self.size:
                head = decode_head(file.read(HEAD_BYTES))
                if head is None:
                    return
                offset += HEAD_BYTES + head.body_bytes
                if offset > self.size:
                    return
                yield head, decode_body(head, file.read(head.body_bytes)), offset


def path_of(folder: Path, number: int) -> Path:
    return folder / f"{number:016d}{SUFFIX}"


def open_segment(path: Path) -> Segment | None:
    """What a file of an earlier process holds; None when its first head is damaged. OSError when it cannot be read."""
    with path.open("rb") as file:
        head, size = decode_head(file.read(HEAD_BYTES)), os.fstat(file.fileno()).st_size
    if head is None:
        return None
    return Segment(path, int(path.stem), head.before, head.spooled_ns, head.spooled_ns, size)


class SegmentWriter:
    """A new file. ``append`` leaves either the whole of what it is given or, after OSError, nothing of it."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb", buffering=0)
        self.size = 0

    def append(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            with suppress(OSError):  # readers know the size, and the next process the counts of the next segment
                self._file.truncate(self.size)
                self._file.seek(self.size)
            raise
        self.size += len(data)

    def sync(self) -> None:
        """Returns when it survives a power cut."""
        os.fdatasync(self._file.fileno())

    def close(self) -> None:
        self._file.close()
