"""Reads what can be read of a damaged file, or of one of an earlier version. Blocking."""

import contextlib
import shutil
import sqlite3
import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from common.errors import BadInput
from common.sqlite.examination import REASONS_MAX, UNREADABLE, connect, wal_of
from common.sqlite.layout import Layout, Salvaged
from common.sqlite.tables import CHECKSUM, Damaged, Row, Table

_PAGE_BYTES = 4096  # SQLite's default, which our files have
_WAL_MODE = b"\x02\x02"


def salvage(file: Path, layout: Layout, reasons: Sequence[str]) -> Salvaged:
    """The file itself is only copied, to a file beside it that is gone on return.

    reasons: of damage that is known already; without any, every table is whole. OSError when the copy has no room.
    """
    reader = _Reader(layout)
    scratch = file.with_name(f"{file.name}.scratch")
    try:
        _copy(file, scratch)
        reader.read(scratch)
        if reasons:
            # the first page says where the tables begin, and is the same in every file of this version
            _copy(file, scratch)
            _take_first_page(scratch, layout)
            reader.read(scratch)
    finally:
        for each in (scratch, *_companions(scratch)):
            each.unlink(missing_ok=True)
    bad = {name: found for name, found in reader.bad.items() if found and name not in reader.whole}
    names = frozenset(table.name for table in layout.tables)
    return Salvaged(
        rows={table.name: [*reader.found[table.name].values()] for table in layout.tables},
        whole=reader.whole if reasons else names - bad.keys(),
        reasons=tuple(dict.fromkeys([*reasons, *chain(*bad.values())]))[:REASONS_MAX],
        damaged={name: len(found) for name, found in bad.items()},
    )


class _Reader:
    """found: rows by table and key. whole: tables of which one reading found everything. bad: reasons by table."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.found: dict[str, dict[Row, Row]] = {table.name: {} for table in layout.tables}
        self.whole = frozenset[str]()
        self.bad: dict[str, set[str]] = {}

    def read(self, file: Path) -> None:
        with contextlib.closing(connect(file)) as database:
            for table in self._layout.tables:
                with contextlib.suppress(*UNREADABLE):
                    bad = set(self._read_table(database, table))
                    self.bad.setdefault(table.name, set()).update(bad)
                    messages = database.execute(f"PRAGMA integrity_check({table.name})").fetchall()
                    if not bad and messages == [("ok",)]:
                        self.whole |= {table.name}

    def _read_table(self, database: sqlite3.Connection, table: Table) -> Iterator[str]:
        """Takes the rows that are as they were written; yields what is wrong with the others."""
        places = {column: number for number, column in enumerate(table.columns)}
        for values in _scan(database, table):
            try:
                is_checked = CHECKSUM in values
                row = table.checked(tuple(values.values())) if is_checked else self._converted(table, values)
            except (Damaged, BadInput, KeyError, ValueError, TypeError) as error:
                yield f"{table.name}: {error}"
            else:
                self.found[table.name][tuple(row[places[column]] for column in table.key)] = row

    def _converted(self, table: Table, values: Mapping[str, Any]) -> Row:
        row = self._layout.convert(table, values)
        for value in row:
            if isinstance(value, str):
                value.encode()  # what is no UTF-8 was read as surrogates
        return row


def _scan(database: sqlite3.Connection, table: Table) -> Iterator[dict[str, Any]]:
    """Rows by column from the first on, and behind a page that cannot be read from the last back to it."""
    last: int | None = None
    for order in ("ASC", "DESC"):
        cursor = database.execute(f"SELECT rowid AS _rowid, * FROM {table.name} NOT INDEXED ORDER BY rowid {order}")
        names = [column[0] for column in cursor.description][1:]
        try:
            for number, *values in cursor:
                if order == "DESC" and last is not None and number <= last:
                    return
                if order == "ASC":
                    last = number
                yield dict(zip(names, values, strict=True))
        except UNREADABLE:
            continue
        return


def _copy(file: Path, scratch: Path) -> None:
    for each in (scratch, *_companions(scratch)):
        each.unlink(missing_ok=True)
    shutil.copyfile(file, scratch)
    if wal_of(file).exists():
        shutil.copyfile(wal_of(file), wal_of(scratch))


def _companions(file: Path) -> tuple[Path, Path]:
    return wal_of(file), file.with_name(f"{file.name}-shm")


def _take_first_page(file: Path, layout: Layout) -> None:
    """That of a new file: its header says how many pages there are, and its schema where each table begins."""
    with contextlib.closing(layout.empty()) as new:
        page = bytearray(new.serialize()[:_PAGE_BYTES])
    page[18:20] = _WAL_MODE
    changes = page[24:28]
    struct.pack_into(">I", page, 28, file.stat().st_size // _PAGE_BYTES)
    page[92:96] = changes  # without these equal, the number of pages is not believed
    with file.open("r+b") as opened:
        opened.write(page)
