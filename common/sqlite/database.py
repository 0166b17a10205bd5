"""A small SQLite file of one process: locked, versioned, and sound whenever it is open. Blocking."""

import sqlite3
from pathlib import Path

from common.folder_lock import FolderLock
from common.sqlite.layout import Layout
from common.sqlite.opening import Damage, Durability, open_sound
from common.sqlite.replacement import problem_of


class LockedDatabase:
    """Held by one process at a time, through a lock on a file beside it.

    setting: the key of the settings that names the place, for messages.
    damage: what was damaged when it was opened last, None when all was sound.
    """

    def __init__(self, file: Path, lock: Path, setting: str, layout: Layout, durability: Durability) -> None:
        self._file, self._setting = file, setting
        self._layout, self._durability = layout, durability
        self._lock = FolderLock(lock, setting)
        self._connection: sqlite3.Connection | None = None
        self.damage: Damage | None = None

    def open(self) -> None:
        """What is damaged is set aside, and the rest goes on.

        ConfigError when another process holds it or a newer version wrote it.
        """
        self._lock.acquire()
        try:
            self._connection, self.damage = open_sound(self._file, self._layout, self._durability, self._setting)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Idempotent, safe before ``open``."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._lock.release()

    def problem(self) -> str | None:
        """That damaged files lie beside it, until somebody has looked at them and taken them away."""
        return problem_of(self._file)

    @property
    def connection(self) -> sqlite3.Connection:
        assert self._connection is not None, "open it first"
        return self._connection
