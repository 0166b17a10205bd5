"""How far the bus was exported, and the facts that are shown: one small SQLite file. Blocking."""

import fcntl
import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from telemetry.bus.base import Offsets
from telemetry.errors import ConfigError

SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS offsets (topic TEXT, partition INTEGER, next INTEGER, PRIMARY KEY (topic, partition));
CREATE TABLE IF NOT EXISTS facts (key TEXT PRIMARY KEY, fact BLOB);
"""


class Position:
    """Held by one process at a time. A crash repeats at most what was sent since the last ``save``."""

    def __init__(self, folder: Path, name: str) -> None:
        self._file = folder / f"{name}.sqlite"
        self._lock: int | None = None
        self._connection: sqlite3.Connection | None = None

    def open(self) -> None:
        """ConfigError when another process holds it or a newer version wrote it."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self._file.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.close()
            raise ConfigError(f"remote_write.folder: another process exports from {self._file}") from error
        self._connection = sqlite3.connect(self._file, timeout=10, check_same_thread=False)
        # NORMAL: after a power cut some seconds are sent twice, which the receiver knows; no fsync for each request
        self._connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            self.close()
            raise ConfigError(f"remote_write.folder: {self._file} was written by a newer version ({version})")
        self._connection.executescript(f"{_SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}")

    def close(self) -> None:
        """Idempotent, safe before ``open``."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def load(self) -> tuple[Offsets, list[bytes]]:
        """Where to go on, and the facts that were shown, as they were on the bus."""
        rows = self._db.execute("SELECT topic, partition, next FROM offsets")
        offsets = {(topic, partition): following for topic, partition, following in rows}
        return offsets, [fact for (fact,) in self._db.execute("SELECT fact FROM facts ORDER BY key")]

    def save(self, offsets: Offsets, facts: Mapping[str, bytes | None]) -> None:
        """facts: those that changed; None for one that is over."""
        with self._db as database:
            rows = [(topic, partition, following) for (topic, partition), following in offsets.items()]
            database.executemany("INSERT OR REPLACE INTO offsets VALUES (?, ?, ?)", rows)
            over = [(key,) for key, fact in facts.items() if fact is None]
            database.executemany("DELETE FROM facts WHERE key = ?", over)
            kept = [(key, fact) for key, fact in facts.items() if fact is not None]
            database.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", kept)

    @property
    def _db(self) -> sqlite3.Connection:
        assert self._connection is not None, "open it first"
        return self._connection
