"""The newest epochs that a reader has seen, as a table beside its offsets: both change in one transaction."""

import sqlite3

from bus.owner.fence import Epochs, RoleInPartition
from common.sqlite.tables import Table

# "epochs" was that of files which knew no roles
EPOCHS = Table(
    "epochs_by_role",
    {"topic": "TEXT", "partition": "INTEGER", "role": "TEXT", "newest": "INTEGER"},
    key=("topic", "partition", "role"),
)


def read_epochs(connection: sqlite3.Connection) -> Epochs:
    """As ``OwnerFence`` keeps them."""
    return {RoleInPartition(*place): newest for *place, newest in EPOCHS.find(connection)}


def write_epochs(connection: sqlite3.Connection, newest: Epochs) -> None:
    """Replaces them all, within the caller's transaction."""
    connection.execute(f"DELETE FROM {EPOCHS.name}")
    EPOCHS.put(connection, [(*place, epoch) for place, epoch in newest.items()])
