"""Silences: alerts that nobody wants to be paged for during a time. Durable before ``add`` returns."""

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from alerts.matcher import Matcher, all_match
from common.errors import BadInput
from common.sqlite.layout import Layout
from common.sqlite.opening import Damage, Durability
from common.sqlite.shared import SharedDatabase
from common.sqlite.tables import Row, Table

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


SILENCES = Table("silences", {"id": "TEXT", "ends_ns": "INTEGER", "silence": "TEXT"}, key=("id",))


def _convert(table: Table, row: Mapping[str, Any]) -> Row:
    """From files without checksums."""
    return _row(Silence.model_validate_json(row["silence"]))


def _row(silence: Silence) -> Row:
    return silence.id, silence.ends_ns, silence.model_dump_json()


LAYOUT = Layout(tables=(SILENCES,), version=1, convert=_convert)


class SilenceStore:
    """The silences in ``folder``; any process of the machine may edit them. Blocking: call it off the event loop.

    A damaged silence is set aside, and so is not in force any more: a page too many is better than one that is lost.
    """

    def __init__(self, folder: Path) -> None:
        self._file = SharedDatabase(folder / "silences.sqlite", "alerting.folder", LAYOUT, Durability.EVERY_COMMIT)

    def add(self, silence: Silence) -> None:
        """Adds or replaces by id; BadInput (reason ``too_many``) beyond SILENCES_MAX."""

        def write(database: sqlite3.Connection) -> None:
            count = database.execute("SELECT count(*) FROM silences WHERE id != ?", (silence.id,)).fetchone()[0]
            if count >= SILENCES_MAX:
                raise BadInput(f"{count} silences: at most {SILENCES_MAX}", "too_many")
            SILENCES.put(database, [_row(silence)])

        self._file.use(write)

    def expire(self, silence_id: str) -> bool:
        """Ends it now; False when there is none of that id."""

        def write(database: sqlite3.Connection) -> bool:
            return database.execute("DELETE FROM silences WHERE id = ?", (silence_id,)).rowcount > 0

        return self._file.use(write)

    def current(self, now_ns: int) -> list[Silence]:
        """Those that have not ended, in the order of their ids; ended ones are forgotten."""

        def read(database: sqlite3.Connection) -> list[Row]:
            rows = list(SILENCES.find(database, "ORDER BY id"))
            over = [(silence_id,) for silence_id, ends_ns, _ in rows if ends_ns <= now_ns]
            if over:
                database.executemany("DELETE FROM silences WHERE id = ?", over)
            return [row for row in rows if row[1] > now_ns]

        return [Silence.model_validate_json(text) for _, _, text in self._file.use(read)]

    def pop_damage(self) -> list[Damage]:
        """What this process has found damaged and set aside since the last call."""
        return self._file.pop_damage()

    def problem(self) -> str | None:
        """That damaged files lie in the folder, until somebody has taken them away."""
        return self._file.problem()
