"""The embedded log's SQL for writing: plain blocking code over one SQLite connection, run by the bus's writer thread.

One table a partition, ``log_<id>(first, last, appended_ns, key, records)``: a row carries the records with offsets
``first``..``last``, packed. Rows are added at the end and deleted at the beginning, where SQLite's tree is cheapest.
A compacted topic has one record a row and an index of its keys.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bus.base import Message
from bus.embedded.packing import pack
from bus.partitions import partition_of
from common.errors import ConfigError
from telemetry.topics import Topic

FORMAT = 0  # SQLite's user_version
ROW_BYTES = 256 * 1024
"""A row is closed when it reaches this; readers take whole rows into memory."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS topics (
    name TEXT PRIMARY KEY, compacted INTEGER NOT NULL, partitions INTEGER NOT NULL, retention_s INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS logs (
    id INTEGER PRIMARY KEY, topic TEXT NOT NULL, partition INTEGER NOT NULL,
    start INTEGER NOT NULL DEFAULT 0,   -- offset of the first record that retention has left
    next INTEGER NOT NULL DEFAULT 0,    -- offset of the next record to come
    newest_ns INTEGER NOT NULL DEFAULT 0,
    UNIQUE (topic, partition)
);
-- when retention and compaction ran last; its name is that of the first version's files
CREATE TABLE IF NOT EXISTS upkeep (only INTEGER PRIMARY KEY CHECK (only = 1), at_ns INTEGER NOT NULL);
INSERT OR IGNORE INTO upkeep VALUES (1, 0);
"""


class LogWriter:
    """The writing side of one file. Every method raises sqlite3.Error when the file cannot be written."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path, isolation_level=None, timeout=5)
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise
        self._logs: dict[Topic, list[int]] = {}

    def _prepare(self) -> None:
        (number,) = self._db.execute("PRAGMA user_version").fetchone()
        if number > FORMAT:  # as a file of another kind: it is left alone, and the problem of the bus
            raise sqlite3.DatabaseError(
                f"written in format {number}, this version reads {FORMAT}: start the newer version, or move it away"
            )
        self._db.execute("PRAGMA page_size = 8192")  # three records of 2 KiB a page, and small commits stay small
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA wal_autocheckpoint = 1000")
        self._db.execute("PRAGMA journal_size_limit = 67108864")
        with self._transaction():
            for statement in _SCHEMA.split(";\n"):
                self._db.execute(statement)

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # a full disk has rolled it back already
                self._db.execute("ROLLBACK")
            raise

    def append(self, publishes: Sequence[tuple[Topic, Sequence[Message]]], now_ns: int) -> None:
        """Durable on return, all or none. ConfigError when a topic is there with another number of partitions."""
        by_log: dict[tuple[Topic, int], list[Message]] = {}
        for topic, messages in publishes:
            for message in messages:
                by_log.setdefault((topic, partition_of(message.key, topic.partitions)), []).append(message)
        packed = {log: _rows(messages, log[0].compacted) for log, messages in by_log.items()}
        for topic, _ in by_log:
            self.define(topic)
        with self._transaction():
            for (topic, partition), rows in packed.items():
                self._append_rows(self._logs[topic][partition], rows, now_ns)

    def _append_rows(self, log: int, rows: list[tuple[int, bytes | None, bytes]], now_ns: int) -> None:
        first, newest_ns = self._db.execute("SELECT next, newest_ns FROM logs WHERE id = ?", (log,)).fetchone()
        appended_ns = max(now_ns, newest_ns)  # a clock that was set back does not put rows out of order
        values = []
        for n, key, records in rows:
            values.append((first, first + n - 1, appended_ns, key, records))
            first += n
        self._db.executemany(f"INSERT INTO log_{log} VALUES (?, ?, ?, ?, ?)", values)
        self._db.execute("UPDATE logs SET next = ?, newest_ns = ? WHERE id = ?", (first, appended_ns, log))

    def define(self, topic: Topic) -> None:
        """Makes the topic's partitions when they are missing."""
        if topic in self._logs:
            return
        with self._transaction():
            known = self._db.execute(
                "SELECT partitions, compacted FROM topics WHERE name = ?", (topic.name,)
            ).fetchone()
            if known not in (None, (topic.partitions, topic.compacted)):
                raise ConfigError(
                    f"topic {topic.name}: {known[0]} partitions, compacted {bool(known[1])} on the bus,"
                    f" expected {topic.partitions}, {topic.compacted}: use a new topic name or a new bus file"
                )
            self._db.execute(
                "INSERT OR REPLACE INTO topics VALUES (?, ?, ?, ?)",
                (topic.name, topic.compacted, topic.partitions, topic.retention_s),
            )
            logs = [self._define_log(topic, partition) for partition in range(topic.partitions)]
        self._logs[topic] = logs

    def _define_log(self, topic: Topic, partition: int) -> int:
        self._db.execute("INSERT OR IGNORE INTO logs (topic, partition) VALUES (?, ?)", (topic.name, partition))
        where = (topic.name, partition)
        (log,) = self._db.execute("SELECT id FROM logs WHERE topic = ? AND partition = ?", where).fetchone()
        self._db.execute(
            f"CREATE TABLE IF NOT EXISTS log_{log} (first INTEGER PRIMARY KEY, last INTEGER NOT NULL,"
            " appended_ns INTEGER NOT NULL, key BLOB, records BLOB NOT NULL)"
        )
        if topic.compacted:
            self._db.execute(f"CREATE INDEX IF NOT EXISTS log_{log}_key ON log_{log} (key)")
        return int(log)

    @property
    def connection(self) -> sqlite3.Connection:
        return self._db


def _rows(messages: list[Message], compacted: bool) -> list[tuple[int, bytes | None, bytes]]:
    """(number of records, key, packed records) of each row."""
    if compacted:
        return [(1, message.key, pack((message,))) for message in messages]
    rows: list[tuple[int, bytes | None, bytes]] = []
    begin = size = 0
    for i, message in enumerate(messages):
        size += len(message.value or b"")
        if size >= ROW_BYTES:
            rows.append((i + 1 - begin, None, pack(messages[begin : i + 1])))
            begin, size = i + 1, 0
    if begin < len(messages):
        rows.append((len(messages) - begin, None, pack(messages[begin:])))
    return rows
