"""How far the bus was exported, and the states that are shown: one small SQLite file. Blocking."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bus import offsets_table
from bus.base import Offsets
from bus.offsets_table import OFFSETS
from bus.owner import epochs_table
from bus.owner.epochs_table import EPOCHS
from bus.owner.fence import Epochs
from common.errors import BadInput
from common.sqlite.database import LockedDatabase
from common.sqlite.examination import damage_named
from common.sqlite.layout import Layout, Rows, Salvaged
from common.sqlite.opening import Damage, Durability
from common.sqlite.tables import Row, Table
from telemetry import topics
from telemetry.codec.records import decode_record
from telemetry.findings import Finding
from telemetry.incidents import Incident

# the table's name is that of the first version's files
STATES = Table("facts", {"key": "TEXT", "fact": "BLOB"}, key=("key",))
_OF_STATES = {topic.name for topic in (topics.FINDINGS, topics.INCIDENTS, topics.TOPOLOGY, topics.CHANGES)}
_names_damage = damage_named("position")


def _repair(salvaged: Salvaged, now_ns: int) -> Rows:
    """Where states are missing, what they are made of is read again; a partition without an offset from its beginning.

    So samples are repeated and none is lost. Receivers drop what they have.
    """
    if STATES.name in salvaged.whole:
        return salvaged.rows
    positions = {
        name: [row for row in salvaged.rows[name] if row[0] not in _OF_STATES] for name in (OFFSETS.name, EPOCHS.name)
    }
    return {**salvaged.rows, **positions}


def _convert(table: Table, row: Mapping[str, Any]) -> Row:
    """From version 1, which had no checksums."""
    if table is OFFSETS:
        return row["topic"], row["partition"] + 0, row["next"] + 0
    try:
        decode_record(row["fact"], Incident)
    except BadInput:
        decode_record(row["fact"], Finding)
    return row["key"], row["fact"]


# before 3, epochs had no role
LAYOUT = Layout(tables=(OFFSETS, EPOCHS, STATES), version=3, convert=_convert, repair=_repair)


class Position:
    """Held by one process at a time. A crash repeats at most what was sent since the last ``save``."""

    def __init__(self, folder: Path, name: str) -> None:
        self._database = LockedDatabase(
            folder / f"{name}.sqlite",
            folder / f"{name}.lock",
            "remote_write.folder",
            LAYOUT,
            # after a power cut some seconds are sent twice, which receivers drop; no fsync for each request
            Durability.NO_FSYNC,
        )

    def open(self) -> None:
        """ConfigError when another process holds it or a newer version wrote it."""
        self._database.open()

    def close(self) -> None:
        """Idempotent, safe before ``open``."""
        self._database.close()

    @property
    def damage(self) -> Damage | None:
        """What was damaged when it was opened."""
        return self._database.damage

    def problem(self) -> str | None:
        """That damaged files lie in the folder, until somebody has taken them away."""
        return self._database.problem()

    @_names_damage
    def load(self) -> tuple[Offsets, list[bytes]]:
        """Where to go on, and the states that were shown, as they were on the bus."""
        shown = STATES.find(self._database.connection, "ORDER BY key")
        return offsets_table.read_offsets(self._database.connection), [record for _, record in shown]

    @_names_damage
    def load_epochs(self) -> Epochs:
        """The newest owners whose records were read."""
        return epochs_table.read_epochs(self._database.connection)

    @_names_damage
    def save(self, offsets: Offsets, epochs: Epochs, states: Mapping[str, bytes | None]) -> None:
        """states: records that changed, by key; None for one that is over."""
        with self._database.connection as database:
            offsets_table.write_offsets(self._database.connection, offsets)
            epochs_table.write_epochs(self._database.connection, epochs)
            over = [(key,) for key, record in states.items() if record is None]
            database.executemany("DELETE FROM facts WHERE key = ?", over)
            STATES.put(database, [(key, record) for key, record in states.items() if record is not None])
