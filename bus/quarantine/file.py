"""Notes in a small file. They need not survive a power cut, which no record causes: nothing here waits for the disk."""

import fcntl
import os
from pathlib import Path

import structlog

from bus.quarantine.notes import Notes, decode_notes, encode_notes
from common.errors import BadInput

_BYTES_MAX = 1024 * 1024
log = structlog.get_logger(__name__)


class NotesFile:
    """One process at a time. A stage whose notes cannot be read or written works without them, and says so once."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: int | None = None

    def open(self) -> Notes:
        """What the process before has left; empty notes when there was none."""
        if self._path is None:
            return Notes()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            data = os.pread(self._file, _BYTES_MAX, 0)
        except OSError as error:
            self._give_up(error)
            return Notes()
        try:
            return decode_notes(data) if data else Notes()
        except BadInput as error:
            log.warning("notes of a crash refused", file=str(self._path), reason=error.reason, error=str(error))
            return Notes()

    def write(self, notes: Notes) -> None:
        """Into the page cache, which outlives this process: microseconds. What an older line had behind it stays."""
        if self._file is not None:
            try:
                os.pwrite(self._file, encode_notes(notes), 0)
            except OSError as error:
                self._give_up(error)

    def close(self, *, keep: bool) -> None:
        """keep: whether the next process needs the notes. Idempotent, safe before ``open``."""
        if self._file is not None:
            if not keep and self._path is not None:
                self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = None

    def _give_up(self, error: OSError) -> None:
        log.warning("what ends this stage will not be quarantined", file=str(self._path), error=str(error))
        if self._file is not None:
            os.close(self._file)
            self._file = None
