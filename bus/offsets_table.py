"""How far the bus was read, as a table beside what was made of it: both change in one transaction."""

import sqlite3

from bus.base import Offsets
from common.sqlite.tables import Table

OFFSETS = Table(
    "offsets",
    {"topic": "TEXT", "partition": "INTEGER", "next": "INTEGER"},
    key=("topic", "partition"),
)


def read_offsets(connection: sqlite3.Connection) -> Offsets:
    """The next record to read of each partition."""
    return {(topic, partition): following for topic, partition, following in OFFSETS.find(connection)}


def write_offsets(connection: sqlite3.Connection, offsets: Offsets) -> None:
    """Within the caller's transaction."""
    OFFSETS.put(connection, [(*partition, following) for partition, following in offsets.items()])
