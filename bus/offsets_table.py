"""How far the bus was read, as a table beside what was made of it: both change in one transaction."""

import sqlite3

from bus.base import Offsets

SCHEMA = """
CREATE TABLE IF NOT EXISTS offsets (topic TEXT, partition INTEGER, next INTEGER, PRIMARY KEY (topic, partition));
"""


def read_offsets(connection: sqlite3.Connection) -> Offsets:
    """The next record to read of each partition."""
    rows = connection.execute("SELECT topic, partition, next FROM offsets")
    return {(topic, partition): following for topic, partition, following in rows}


def write_offsets(connection: sqlite3.Connection, offsets: Offsets) -> None:
    """Within the caller's transaction."""
    rows = [(topic, partition, following) for (topic, partition), following in offsets.items()]
    connection.executemany("INSERT OR REPLACE INTO offsets VALUES (?, ?, ?)", rows)
