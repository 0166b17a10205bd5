"""How far the bus was exported, and the findings and incidents that are shown: one small SQLite file. Blocking."""

from collections.abc import Mapping
from pathlib import Path

from bus import offsets_table
from bus.base import Offsets
from common.sqlite import Durability, LockedDatabase

SCHEMA_VERSION = 1
# the table's name is that of the first version's files
_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (key TEXT PRIMARY KEY, fact BLOB);
"""


class Position:
    """Held by one process at a time. A crash repeats at most what was sent since the last ``save``."""

    def __init__(self, folder: Path, name: str) -> None:
        self._database = LockedDatabase(
            folder / f"{name}.sqlite",
            folder / f"{name}.lock",
            "remote_write.folder",
            schema=offsets_table.SCHEMA + _SCHEMA,
            version=SCHEMA_VERSION,
            # after a power cut some seconds are sent twice, which receivers drop; no fsync for each request
            durability=Durability.NO_FSYNC,
        )

    def open(self) -> None:
        """ConfigError when another process holds it or a newer version wrote it."""
        self._database.open()

    def close(self) -> None:
        """Idempotent, safe before ``open``."""
        self._database.close()

    def load(self) -> tuple[Offsets, list[bytes]]:
        """Where to go on, and the findings and incidents that were shown, as they were on the bus."""
        shown = self._database.connection.execute("SELECT fact FROM facts ORDER BY key")
        return offsets_table.read_offsets(self._database.connection), [record for (record,) in shown]

    def save(self, offsets: Offsets, states: Mapping[str, bytes | None]) -> None:
        """states: records that changed, by key; None for one that is over."""
        with self._database.connection as database:
            offsets_table.write_offsets(self._database.connection, offsets)
            over = [(key,) for key, record in states.items() if record is None]
            database.executemany("DELETE FROM facts WHERE key = ?", over)
            kept = [(key, record) for key, record in states.items() if record is not None]
            database.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", kept)
