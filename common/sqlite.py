"""A small SQLite file of one process: locked and versioned. Blocking."""

import fcntl
import os
import sqlite3
from enum import StrEnum
from pathlib import Path

from common.errors import ConfigError


class Durability(StrEnum):
    """What a power cut may take."""

    EVERY_COMMIT = "FULL"  # nothing
    NO_FSYNC = "NORMAL"  # the last commits; never the file's consistency


class LockedDatabase:
    """Held by one process at a time, through a lock on a file beside it.

    setting: the key of the settings that names the place, for messages.
    schema: statements that may run again; version: of the schema, a file of a later one is refused.
    """

    def __init__(
        self, file: Path, lock: Path, setting: str, *, schema: str, version: int, durability: Durability
    ) -> None:
        self._file, self._lock_file, self._setting = file, lock, setting
        self._schema, self._version, self._durability = schema, version, durability
        self._lock: int | None = None
        self._connection: sqlite3.Connection | None = None

    def open(self) -> None:
        """ConfigError when another process holds it or a newer version wrote it."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self._lock_file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.close()
            raise ConfigError(f"{self._setting} {self._file.parent}: another process uses {self._file.name}") from error
        self._connection = sqlite3.connect(self._file, timeout=10, check_same_thread=False)
        self._connection.executescript(f"PRAGMA journal_mode = WAL; PRAGMA synchronous = {self._durability}")
        found = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if found > self._version:
            self.close()
            raise ConfigError(f"{self._setting} {self._file.parent}: written by a newer version ({found})")
        self._connection.executescript(f"{self._schema} PRAGMA user_version = {self._version}")

    def close(self) -> None:
        """Idempotent, safe before ``open``."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def connection(self) -> sqlite3.Connection:
        assert self._connection is not None, "open it first"
        return self._connection
