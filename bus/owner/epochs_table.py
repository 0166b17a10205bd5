"""The newest epochs that a reader has seen, as a table beside its offsets: both change in one transaction."""

import sqlite3

from bus.base import TopicPartition
from common.sqlite.tables import Table

EPOCHS = Table(
    "epochs",
    {"topic": "TEXT", "partition": "INTEGER", "newest": "INTEGER"},
    key=("topic", "partition"),
)


def read_epochs(connection: sqlite3.Connection) -> dict[TopicPartition, int]:
    """The newest epoch of each partition, see ``OwnerFence``."""
    return {(topic, partition): newest for topic, partition, newest in EPOCHS.find(connection)}


def write_epochs(connection: sqlite3.Connection, newest: dict[TopicPartition, int]) -> None:
    """Replaces them all, within the caller's transaction."""
    connection.execute("DELETE FROM epochs")
    EPOCHS.put(connection, [(*partition, epoch) for partition, epoch in newest.items()])
