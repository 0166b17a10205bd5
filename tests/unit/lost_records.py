"""Records that the embedded bus can read no more."""

import sqlite3
from pathlib import Path

from telemetry.topics import Topic


def lose(bus_file: Path, topic: Topic, row: int, partition: int = 0) -> None:
    """One row of the log is damaged: what was published with one call."""
    with sqlite3.connect(bus_file) as database:
        where = (topic.name, partition)
        (log,) = database.execute("SELECT id FROM logs WHERE topic = ? AND partition = ?", where).fetchone()
        first, records = database.execute(f"SELECT first, records FROM log_{log} ORDER BY first").fetchall()[row]
        damaged = records[:-1] + bytes([records[-1] ^ 1])
        database.execute(f"UPDATE log_{log} SET records = ? WHERE first = ?", (damaged, first))
    database.close()
