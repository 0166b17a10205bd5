"""A small SQLite file that several processes use, each for a moment: sound whenever it is used. Blocking."""

import fcntl
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from common.sqlite.examination import connect, damage_named
from common.sqlite.layout import Layout
from common.sqlite.opening import Damage, Durability, open_sound
from common.sqlite.replacement import problem_of
from common.sqlite.tables import Damaged

T = TypeVar("T")


class SharedDatabase:
    """Safe to be called from several threads. setting: the key of the settings that names the folder, for messages.

    No connection stays open: another process may put a new file in the place of a damaged one, and the log of the old
    one and the new one have the same name.
    """

    def __init__(self, file: Path, setting: str, layout: Layout, durability: Durability) -> None:
        self._file, self._setting, self._layout, self._durability = file, setting, layout, durability
        self._thread = threading.Lock()
        self._sound: tuple[int, ...] | None = None  # the file as it was when it was examined, or left by us
        self._damages: list[Damage] = []

    def use(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What ``work`` returns, which runs in a transaction; once more when it found damage.

        sqlite3.Error and OSError when the machine does not let us; ConfigError for a newer version's file.
        """
        with self._alone():
            try:
                return self._run(work)
            except Damaged:
                self._sound = None
                return self._run(work)

    def pop_damage(self) -> list[Damage]:
        """What was found damaged here since the last call."""
        damages, self._damages = self._damages, []
        return damages

    def problem(self) -> str | None:
        """That damaged files lie beside it, until somebody has looked at them and taken them away."""
        return problem_of(self._file)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Of all threads and processes."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._thread:
            lock = os.open(self._file.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
            finally:
                os.close(lock)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with damage_named(self._file.name), closing(self._open()) as opened, opened as database:
            result = work(database)
        self._sound = self._stamp()
        return result

    def _open(self) -> sqlite3.Connection:
        """To read all of it each time would cost more than the work."""
        if self._sound is not None and self._sound == self._stamp():
            database = connect(self._file)
            database.execute(f"PRAGMA synchronous = {self._durability}")
            return database
        database, damage = open_sound(self._file, self._layout, self._durability, self._setting)
        if damage is not None:
            self._damages.append(damage)
        return database

    def _stamp(self) -> tuple[int, ...] | None:
        """Another one after every change by another process; None without a file."""
        try:
            found = self._file.stat()
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
