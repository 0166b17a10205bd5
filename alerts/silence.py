"""Silences: alerts that nobody wants to be paged for during a time. Durable before ``add`` returns."""

import sqlite3
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator

from alerts.matcher import Matcher, all_match
from common.errors import BadInput

SILENCES_MAX = 10_000


class Silence(BaseModel):
    """Alerts that fit all matchers are not paged from ``starts_ns`` until ``ends_ns``.

    A page that is open stays open and is resolved as usual. What still fires at the end is paged then.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str = Field(min_length=1, max_length=64)
    matchers: tuple[Matcher, ...] = Field(min_length=1, max_length=20)
    starts_ns: int
    ends_ns: int
    created_by: str = Field(max_length=200)
    comment: str = Field(default="", max_length=1000)

    @model_validator(mode="after")
    def _ends_after_start(self) -> "Silence":
        if self.ends_ns <= self.starts_ns:
            raise ValueError("a silence must end after it starts")
        return self


def in_force(silences: Iterable[Silence], now_ns: int) -> tuple[Silence, ...]:
    """Those that have started and not ended. now_ns: by the wall clock, as people mean it."""
    return tuple(each for each in silences if each.starts_ns <= now_ns < each.ends_ns)


def silenced_by(silences: Iterable[Silence], labels: Mapping[str, str]) -> Silence | None:
    """The first of the silences in force that covers the alert."""
    for silence in silences:
        if all_match(silence.matchers, labels):
            return silence
    return None


class SilenceStore:
    """The silences in ``folder``; any process of the machine may edit them. Blocking: call it off the event loop."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "silences.sqlite"
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    def add(self, silence: Silence) -> None:
        """Adds or replaces by id; BadInput (reason ``too_many``) beyond SILENCES_MAX."""
        with self._lock, self._open() as database:
            count = database.execute("SELECT count(*) FROM silences WHERE id != ?", (silence.id,)).fetchone()[0]
            if count >= SILENCES_MAX:
                raise BadInput(f"{count} silences: at most {SILENCES_MAX}", "too_many")
            row = (silence.id, silence.ends_ns, silence.model_dump_json())
            database.execute("INSERT OR REPLACE INTO silences VALUES (?, ?, ?)", row)

    def expire(self, silence_id: str) -> bool:
        """Ends it now; False when there is none of that id."""
        with self._lock, self._open() as database:
            return database.execute("DELETE FROM silences WHERE id = ?", (silence_id,)).rowcount > 0

    def current(self, now_ns: int) -> list[Silence]:
        """Those that have not ended, in the order of their ids; ended ones are forgotten."""
        with self._lock, self._open() as database:
            if database.execute("SELECT 1 FROM silences WHERE ends_ns <= ? LIMIT 1", (now_ns,)).fetchone():
                database.execute("DELETE FROM silences WHERE ends_ns <= ?", (now_ns,))
            rows = database.execute("SELECT silence FROM silences ORDER BY id").fetchall()
        return [Silence.model_validate_json(text) for (text,) in rows]

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self._path, timeout=10, check_same_thread=False)
            self._connection.executescript(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                "CREATE TABLE IF NOT EXISTS silences (id TEXT PRIMARY KEY, ends_ns INTEGER, silence TEXT)"
            )
        return self._connection
