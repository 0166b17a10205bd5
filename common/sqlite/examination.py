"""Whether a file is as it was written: its header, its pages, its schema and every row. Blocking."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from common.sqlite.layout import Layout, mark_of, schema_of
from common.sqlite.tables import Damaged, Table
from common.sqlite.wal import lost_commits

REASONS_MAX = 1000
# errors of the machine: they say nothing about what the file holds
_OF_THE_MACHINE = {
    sqlite3.SQLITE_AUTH,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_PROTOCOL,
}
_OF_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_NOTADB}
# a message of SQLite may quote damaged text
UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)


@dataclass(frozen=True, slots=True)
class Condition:
    """version: of a file that has one. is_new: nothing was ever written to it.

    reasons: of damage; none when it is sound. cut_off: its write-ahead log lost commits, which the file does not show.
    """

    version: int | None = None
    reasons: tuple[str, ...] = ()
    is_new: bool = False
    cut_off: bool = False


def connect(file: Path) -> sqlite3.Connection:
    """Reads damaged text as it is, so that its checksum is what fails."""
    database = sqlite3.connect(file, timeout=10, check_same_thread=False)
    database.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    return database


def wal_of(file: Path) -> Path:
    """Its write-ahead log."""
    return file.with_name(f"{file.name}-wal")


@contextmanager
def damage_named(what: str) -> Iterator[None]:
    """Also a decorator. Damaged in place of the errors by which SQLite says so; others as they come."""
    try:
        yield
    except sqlite3.Error as error:
        if _primary_code(error) in _OF_DAMAGE:
            raise Damaged(f"{what}: {error}") from error
        raise


def reason_of(error: Exception, file: Path) -> str:
    """Why the fixed statements of opening or reading a file failed; raises the error when it is of the machine."""
    code = _primary_code(error)
    # one byte of the header makes a file that can be written read-only
    if code in _OF_THE_MACHINE or (code == sqlite3.SQLITE_READONLY and not os.access(file, os.W_OK)):
        raise error
    return f"{type(error).__name__}: {error}"


def examine(database: sqlite3.Connection, file: Path, layout: Layout) -> Condition:
    """Reads all of it. Errors of the machine are raised."""
    version, reasons = None, list[str]()
    cut_off = False
    try:
        frames = database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]
        if frames >= 0 and (lost := lost_commits(wal_of(file), frames)) is not None:
            cut_off = True
            reasons.append(lost)
        number, mark = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("user_version", "application_id"))
        if mark == 0:
            if number == 0 and not reasons and not schema_of(database):
                return Condition(is_new=True)
            # before there were marks there were no checksums, so this is no file of this version
            version = number if number > layout.version else min(number, layout.version - 1)
        elif mark == mark_of(number):
            version = number
        else:
            reasons.append(f"the header says version {number}, and has the mark of another one")
        if version is None or version <= layout.version:
            reasons += _reasons(database, layout, version)
    except UNREADABLE as error:
        reasons.append(reason_of(error, file))
    return Condition(version, tuple(reasons[:REASONS_MAX]), cut_off=cut_off)


def _reasons(database: sqlite3.Connection, layout: Layout, version: int | None) -> list[str]:
    messages = database.execute("PRAGMA integrity_check").fetchall()
    reasons = [f"integrity check: {message}" for (message,) in messages if message != "ok"]
    if version == layout.version:
        reasons += _schema_reasons(database, layout)
        for table in layout.tables:
            reasons += _row_reasons(database, table)
    return reasons


def _schema_reasons(database: sqlite3.Connection, layout: Layout) -> list[str]:
    new = layout.empty()
    expected = schema_of(new)
    new.close()
    return [] if schema_of(database) == expected else ["the schema is not that of its version"]


def _row_reasons(database: sqlite3.Connection, table: Table) -> list[str]:
    reasons = []
    for found in database.execute(f"{table.select} NOT INDEXED"):
        try:
            table.checked(found)
        except Damaged as error:
            reasons.append(f"{table.name}: {error}")
    return reasons


def _primary_code(error: Exception) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
