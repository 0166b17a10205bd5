"""A log that is followed: a file that may be replaced, a fifo, or /dev/kmsg. Reads never wait."""

import errno
import os
import stat
from pathlib import Path

_CHUNK = 64 * 1024  # a read of /dev/kmsg returns one record, which has at most 8 KiB
_LINE_BYTES_MAX = 64 * 1024


class LogFile:
    """from_start: whether what is there already is read too, as in /dev/kmsg, whose records have a time.

    too_long: lines of more than 64 KiB, which are left out.
    """

    def __init__(self, path: Path, *, from_start: bool) -> None:
        self._path, self._from_start = path, from_start
        self._descriptor: int | None = None
        self._rest = b""
        self._skipping = False
        self.too_long = 0

    def read(self, bytes_max: int) -> list[str]:
        """Whole lines, about ``bytes_max`` of them at most. OSError when it cannot be opened or read."""
        lines: list[str] = []
        left = bytes_max
        while left > 0:
            if self._descriptor is None:
                self._open()
            chunk = self._chunk()
            if not chunk:
                if not self._is_replaced():
                    break
                self.close()
                self._from_start = True  # a new file holds nothing that was read
                continue
            left -= len(chunk)
            lines += self._lines(chunk)
        return lines

    def close(self) -> None:
        """Idempotent."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor, self._rest, self._skipping = None, b"", False

    def _open(self) -> None:
        try:
            self._descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            self._from_start = True  # what comes later is new from its first line on
            raise
        if not self._from_start and stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            os.lseek(self._descriptor, 0, os.SEEK_END)

    def _chunk(self) -> bytes:
        """b"" when there is nothing now."""
        assert self._descriptor is not None
        while True:
            try:
                return os.read(self._descriptor, _CHUNK)
            except BlockingIOError:
                return b""
            except OSError as error:
                if error.errno != errno.EPIPE:
                    self.close()
                    raise
                # EPIPE: records were overwritten before they were read: the next read gives the oldest one that is left

    def _is_replaced(self) -> bool:
        """Whether another file has the name now, or the file became shorter."""
        assert self._descriptor is not None
        opened = os.fstat(self._descriptor)
        if not stat.S_ISREG(opened.st_mode):
            return False
        try:
            named = self._path.stat()
        except FileNotFoundError:
            return False  # between two files
        is_another = (named.st_ino, named.st_dev) != (opened.st_ino, opened.st_dev)
        return is_another or os.lseek(self._descriptor, 0, os.SEEK_CUR) > opened.st_size

    def _lines(self, chunk: bytes) -> list[str]:
        *whole, rest = (self._rest + chunk).split(b"\n")
        if self._skipping and whole:
            del whole[0]
            self._skipping = False
        if len(rest) > _LINE_BYTES_MAX:
            self.too_long += not self._skipping
            rest, self._skipping = b"", True
        self._rest = rest
        return [line.decode("utf-8", "replace") for line in whole]
