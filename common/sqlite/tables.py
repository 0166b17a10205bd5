"""Tables whose rows carry a checksum, so that a row which is not as it was written is never used."""

import sqlite3
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = tuple[Any, ...]  # None, int, float, str or bytes
CHECKSUM = "checksum"
_KIND_AND_LENGTH = struct.Struct("<cI")


class Damaged(Exception):
    """A file of ours does not say what was written."""


@dataclass(frozen=True, slots=True)
class Table:
    """columns: their SQL types by name. key: the first of them, which tell rows apart; one INTEGER is the row's number.

    A row is a tuple of its columns in that order, without the checksum, which is the last column in the file.
    """

    name: str
    columns: Mapping[str, str]
    key: tuple[str, ...]

    @property
    def definition(self) -> str:
        """The statement that makes it."""
        columns = ", ".join(f"{name} {type_}" for name, type_ in self.columns.items())
        return f"CREATE TABLE {self.name} ({columns}, {CHECKSUM} INTEGER, PRIMARY KEY ({', '.join(self.key)}))"

    @property
    def select(self) -> str:
        """All columns with the checksum, for a WHERE to follow and ``checked`` to read."""
        return f"SELECT {', '.join(f'{self.name}.{column}' for column in (*self.columns, CHECKSUM))} FROM {self.name}"

    def put(self, database: sqlite3.Connection, rows: Iterable[Row]) -> None:
        """Adds or replaces rows by their key, within the caller's transaction."""
        marks = ", ".join("?" * (len(self.columns) + 1))
        values = ((*row, self._checksum(row)) for row in rows)
        database.executemany(f"INSERT OR REPLACE INTO {self.name} VALUES ({marks})", values)

    def checked(self, found: Row) -> Row:
        """The row of what ``select`` found; Damaged when it is not what was written."""
        *row, checksum = found
        if checksum != self._checksum(row):
            raise Damaged(f"the checksum of row {', '.join(map(str, row[: len(self.key)]))} does not fit")
        return tuple(row)

    def find(self, database: sqlite3.Connection, where: str = "", values: Sequence[Any] = ()) -> Iterator[Row]:
        """Rows in the order that ``where`` asks for; Damaged at the first that is not what was written."""
        for found in database.execute(f"{self.select} {where}", values):
            yield self.checked(found)

    def _checksum(self, row: Sequence[Any]) -> int:
        """CRC-32 of the table's name and the values with their types: no single flipped bit leaves it as it was."""
        checksum = zlib.crc32(self.name.encode())
        for value in row:
            kind, content = _packed(value)
            checksum = zlib.crc32(content, zlib.crc32(_KIND_AND_LENGTH.pack(kind, len(content)), checksum))
        return checksum


def _packed(value: Any) -> tuple[bytes, bytes]:
    match value:
        case bytes():
            return b"b", value
        case str():
            return b"t", value.encode("utf-8", "surrogateescape")
        case int():
            return b"i", b"%d" % value
        case float():
            return b"f", value.hex().encode()
        case None:
            return b"n", b""
        case _:
            raise TypeError(f"a column holds no {type(value).__name__}")
