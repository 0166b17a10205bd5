"""What a file of ours looks like, and the number by which a later version knows it."""

import sqlite3
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common.sqlite.tables import Row, Table

Rows = dict[str, list[Row]]


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What could be read of a damaged file: rows that are as they were written, by table.

    whole: tables of which nothing is missing for certain. reasons: what is wrong, in words.
    damaged: rows that were found and cannot be used, by table; rows of pages that cannot be read are in no count.
    """

    rows: Rows
    whole: frozenset[str]
    reasons: tuple[str, ...]
    damaged: Mapping[str, int] = field(default_factory=dict)


def _no_earlier(table: Table, row: Mapping[str, Any]) -> Row:
    raise ValueError("there is no earlier version")


def _as_read(salvaged: Salvaged, now_ns: int) -> Rows:
    return salvaged.rows


@dataclass(frozen=True, slots=True)
class Layout:
    """version: of the schema; a file of a later one is refused, of an earlier one converted.

    indices: statements that make them, each ended by a semicolon.
    convert: a row of an earlier version, by column, as a row of this one; KeyError, TypeError, ValueError or BadInput
        when it is none.
    repair: the rows to go on with after damage, given the Unix time in nanoseconds. Pure.
    """

    tables: tuple[Table, ...]
    version: int
    indices: str = ""
    convert: Callable[[Table, Mapping[str, Any]], Row] = _no_earlier
    repair: Callable[[Salvaged, int], Rows] = _as_read

    @property
    def mark(self) -> int:
        """Kept in the header beside the version: a number that was changed by damage has another mark."""
        return mark_of(self.version)

    def create(self, database: sqlite3.Connection) -> None:
        """Makes all tables and indices in a file that has none, in one transaction."""
        definitions = "".join(f"{table.definition};" for table in self.tables)
        numbers = f"PRAGMA user_version = {self.version}; PRAGMA application_id = {self.mark};"
        database.executescript(f"BEGIN IMMEDIATE; {definitions} {self.indices} {numbers} COMMIT;")

    def write(self, file: Path, rows: Rows) -> None:
        """A new file with these rows. sqlite3.Error and OSError as they come."""
        database = sqlite3.connect(file)
        try:
            self.create(database)
            with database:
                for table in self.tables:
                    table.put(database, rows[table.name])
        finally:
            database.close()

    def empty(self) -> sqlite3.Connection:
        """A new file in memory."""
        database = sqlite3.connect(":memory:")
        self.create(database)
        return database


def mark_of(version: int) -> int:
    """A positive 31 bit number, as SQLite's application id is signed."""
    return zlib.crc32(b"fabricscope sqlite %d" % version) >> 1


def schema_of(database: sqlite3.Connection) -> list[Row]:
    """What was created, apart from where it lies in the file."""
    found = database.execute("SELECT name, type, tbl_name, coalesce(sql, '') FROM sqlite_schema")
    return sorted(found, key=repr)  # damage may change the type of a value too
