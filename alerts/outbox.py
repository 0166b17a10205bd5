"""The durable outbox between the decision and the receivers: one SQLite file (WAL, every commit on disk).

One transaction holds what was decided, what is to be delivered and how far the bus was read, so a crash at any point
repeats a delivery under its old key or does nothing. Blocking: every call belongs off the event loop, in one thread.
"""

import os
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import orjson
from pydantic import TypeAdapter

from alerts.notification import Action, Notification, decode_notification, encode_notification
from alerts.table import Tracked
from bus import offsets_table
from bus.base import Offsets
from common.sqlite import Durability, LockedDatabase

SCHEMA_VERSION = 2  # since 2, "notified" in what is tracked was "told"; 1 is still read
HEADS_MAX = 64
_SCHEMA = """
CREATE TABLE IF NOT EXISTS incidents (id TEXT PRIMARY KEY, tracked BLOB);
CREATE TABLE IF NOT EXISTS deliveries (id INTEGER PRIMARY KEY AUTOINCREMENT, receiver TEXT, incident TEXT,
    created_ns INTEGER, notification BLOB);
CREATE INDEX IF NOT EXISTS deliveries_of ON deliveries (receiver, incident, id);
CREATE TABLE IF NOT EXISTS delivered (receiver TEXT, incident TEXT, open INTEGER, notification BLOB,
    PRIMARY KEY (receiver, incident));
"""
_HEADS = """
SELECT id, created_ns, notification FROM deliveries
WHERE id IN (SELECT min(id) FROM deliveries WHERE receiver = ? GROUP BY incident)
    AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?
"""
_OPEN = """
SELECT notification FROM delivered WHERE receiver = ? AND open = 1
    AND NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.receiver = delivered.receiver
        AND deliveries.incident = delivered.incident) ORDER BY incident
"""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Delivery:
    """A notification on its way to one receiver. created_ns: since when it waits."""

    id: int
    receiver: str
    created_ns: int
    notification: Notification


class Outbox:
    """The outbox in ``folder``, held by one process at a time.

    reserve_bytes: disk space kept by a file that is given up when the disk is full, so that paging goes on.
    queue_max: deliveries that may wait for one receiver.
    """

    def __init__(self, folder: Path, *, reserve_bytes: int, queue_max: int) -> None:
        self._folder = folder
        self._reserve = folder / "reserve"
        self._reserve_bytes = reserve_bytes
        self._queue_max = queue_max
        self._database = LockedDatabase(
            folder / "outbox.sqlite",
            folder / "lock",
            "alerting.folder",
            schema=offsets_table.SCHEMA + _SCHEMA,
            version=SCHEMA_VERSION,
            durability=Durability.EVERY_COMMIT,
        )

    def open(self) -> None:
        """ConfigError when another process holds the folder or a newer version wrote it."""
        self._database.open()
        self._keep_reserve()

    def close(self) -> None:
        """Idempotent, safe before ``open``."""
        self._database.close()

    def offsets(self) -> Offsets:
        """How far the bus was read."""
        return offsets_table.read_offsets(self._database.connection)

    def tracked(self) -> dict[str, Tracked]:
        """What was decided so far, by the incident's id."""
        rows = self._db.execute("SELECT id, tracked FROM incidents")
        return {incident: _tracked.validate_json(value) for incident, value in rows}

    def commit(
        self,
        offsets: Offsets,
        changed: Mapping[str, Tracked | None],
        notifications: Sequence[tuple[str, Notification]],
        fallback: str,
        now_ns: int,
    ) -> list[tuple[str, Notification]]:
        """Everything that one round decided, at once. Returns what fitted into no queue, fallback included."""

        def write(database: sqlite3.Connection) -> list[tuple[str, Notification]]:
            offsets_table.write_offsets(self._database.connection, offsets)
            for incident, each in changed.items():
                if each is None:
                    database.execute("DELETE FROM incidents WHERE id = ?", (incident,))
                    database.execute("DELETE FROM delivered WHERE incident = ? AND open = 0", (incident,))
                else:
                    database.execute("INSERT OR REPLACE INTO incidents VALUES (?, ?)", (incident, orjson.dumps(each)))
            return [pair for pair in notifications if not self._enqueue(database, *pair, now_ns, fallback)]

        return self._write(write)

    def heads(self, receiver: str, waiting: Collection[int]) -> list[Delivery]:
        """The oldest delivery of each incident for a receiver, without those ``waiting`` for their next attempt."""
        rows = self._db.execute(_HEADS, (receiver, orjson.dumps(list(waiting)).decode(), HEADS_MAX)).fetchall()
        return [Delivery(key, receiver, created_ns, decode_notification(value)) for key, created_ns, value in rows]

    def is_open(self, receiver: str, incident: str) -> bool:
        """Whether the receiver knows that the incident fires, and not yet that it is over."""
        sql = "SELECT 1 FROM delivered WHERE receiver = ? AND incident = ? AND open = 1"
        return self._db.execute(sql, (receiver, incident)).fetchone() is not None

    def open_alerts(self, receiver: str) -> list[Notification]:
        """The newest notification of each incident that the receiver shows and for which nothing more is queued."""
        return [decode_notification(value) for (value,) in self._db.execute(_OPEN, (receiver,))]

    def pending(self) -> dict[str, int]:
        """Deliveries that wait, by receiver."""
        return dict(self._db.execute("SELECT receiver, count(*) FROM deliveries GROUP BY receiver").fetchall())

    def delivered(self, delivery: Delivery, fallback: str, now_ns: int) -> None:
        """The receiver has it. A resolve is queued for the fallback too, when that was notified of the incident."""
        notification = delivery.notification
        is_open = notification.action is not Action.RESOLVE
        row = (delivery.receiver, notification.incident.id, is_open, encode_notification(notification))

        def write(database: sqlite3.Connection) -> None:
            database.execute("DELETE FROM deliveries WHERE id = ?", (delivery.id,))
            database.execute("INSERT OR REPLACE INTO delivered VALUES (?, ?, ?, ?)", row)
            if not is_open and fallback not in ("", delivery.receiver) and self._was_notified(fallback, delivery):
                self._enqueue(database, fallback, notification, now_ns, "")

        self._write(write)

    def reroute(self, delivery: Delivery, fallback: str, now_ns: int) -> bool:
        """Moves it from its receiver's queue to the fallback's; False when there is none or it is full."""

        def write(database: sqlite3.Connection) -> bool:
            database.execute("DELETE FROM deliveries WHERE id = ?", (delivery.id,))
            if fallback in ("", delivery.receiver):
                return False
            return self._enqueue(database, fallback, delivery.notification, now_ns, "")

        return self._write(write)

    def _was_notified(self, receiver: str, delivery: Delivery) -> bool:
        incident = delivery.notification.incident.id
        sql = "SELECT 1 FROM deliveries WHERE receiver = ? AND incident = ? LIMIT 1"
        return self.is_open(receiver, incident) or self._db.execute(sql, (receiver, incident)).fetchone() is not None

    def _enqueue(
        self, database: sqlite3.Connection, receiver: str, notification: Notification, now_ns: int, fallback: str
    ) -> bool:
        count = database.execute("SELECT count(*) FROM deliveries WHERE receiver = ?", (receiver,)).fetchone()[0]
        if count >= self._queue_max:
            return fallback not in ("", receiver) and self._enqueue(database, fallback, notification, now_ns, "")
        row = (receiver, notification.incident.id, now_ns, encode_notification(notification))
        sql = "INSERT INTO deliveries (receiver, incident, created_ns, notification) VALUES (?, ?, ?, ?)"
        database.execute(sql, row)
        return True

    @property
    def _db(self) -> sqlite3.Connection:
        return self._database.connection

    def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            with self._db:
                return work(self._db)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_FULL or not self._reserve.exists():
                raise
        self._reserve.unlink()
        with self._db:
            return work(self._db)

    def _keep_reserve(self) -> None:
        """Reserves the space when the disk has twice as much left; without it paging works all the same."""
        free = os.statvfs(self._folder)
        if (
            self._reserve_bytes == 0
            or self._reserve.exists()
            or free.f_bavail * free.f_frsize < 2 * self._reserve_bytes
        ):
            return
        part = self._reserve.with_suffix(".part")
        with part.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, self._reserve_bytes)
        part.replace(self._reserve)


_tracked = TypeAdapter(Tracked)
