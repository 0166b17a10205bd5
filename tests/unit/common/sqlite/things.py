"""A table for the tests, and damage to files."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common.sqlite.tables import Row, Table

THINGS = Table("things", {"name": "TEXT", "value": "BLOB"}, key=("name",))


def convert(table: Table, row: Mapping[str, Any]) -> Row:
    """From the first version, which had no values."""
    return row["name"], b"new"


def flip(file: Path, bit: int) -> None:
    """One bit of a file, counted from its beginning."""
    content = bytearray(file.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    file.write_bytes(content)


def overwrite(file: Path, statement: str) -> None:
    """As a program does that knows nothing of checksums."""
    database = sqlite3.connect(file)
    with database:
        database.execute(statement)
    database.close()
