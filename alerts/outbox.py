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

from alerts.clock import Moment
from alerts.decision.table import Tracked
from alerts.metrics import UndeliveredReason
from alerts.notification import Action, Notification, decode_notification, encode_notification
from bus import offsets_table
from bus.base import Offsets
from common.sqlite import Durability, LockedDatabase
from telemetry.incidents import IncidentKind, Severity

SCHEMA_VERSION = 3  # before 2, "notified" in what is tracked was "told"; before 3, there was no stage time
HEADS_MAX = 64
_CRITICAL_PART = 10  # one in so many places of a queue is for critical notifications alone
_SCHEMA = """
CREATE TABLE IF NOT EXISTS incidents (id TEXT PRIMARY KEY, tracked BLOB);
CREATE TABLE IF NOT EXISTS deliveries (id INTEGER PRIMARY KEY AUTOINCREMENT, receiver TEXT, incident TEXT,
    created_ns INTEGER, notification BLOB, severity_rank INTEGER, resolves INTEGER);
CREATE TABLE IF NOT EXISTS delivered (receiver TEXT, incident TEXT, open INTEGER, notification BLOB,
    PRIMARY KEY (receiver, incident));
CREATE TABLE IF NOT EXISTS moment (id INTEGER PRIMARY KEY CHECK (id = 0), stage_ns INTEGER, wall_ns INTEGER);
"""
_SAVE_MOMENT = "INSERT OR REPLACE INTO moment VALUES (0, ?, ?)"
_INDICES = """
DROP INDEX IF EXISTS deliveries_of;
CREATE INDEX IF NOT EXISTS deliveries_by_incident ON deliveries (receiver, incident, id, severity_rank);
CREATE INDEX IF NOT EXISTS deliveries_by_severity ON deliveries (receiver, resolves, severity_rank, id);
"""
_HEADS = """
SELECT id, created_ns, notification
FROM (SELECT min(id) AS head, max(severity_rank) AS worst FROM deliveries WHERE receiver = ? GROUP BY incident)
    JOIN deliveries ON id = head
WHERE head NOT IN (SELECT value FROM json_each(?)) ORDER BY worst DESC, head LIMIT ?
"""
_LEAST_IMPORTANT = """
SELECT id, notification FROM deliveries WHERE receiver = ? AND resolves = 0 AND severity_rank < ?
ORDER BY severity_rank, id DESC LIMIT 1
"""
_OPEN = """
SELECT notification FROM delivered WHERE receiver = ? AND open = 1
    AND NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.receiver = delivered.receiver
        AND deliveries.incident = delivered.incident) ORDER BY incident
"""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Delivery:
    """A notification on its way to one receiver. created_ns: stage time since when it waits."""

    id: int
    receiver: str
    created_ns: int
    notification: Notification


@dataclass(frozen=True, slots=True)
class Dropped:
    """A notification that reaches nobody, for lack of room. receiver: whose queue was full."""

    receiver: str
    notification: Notification
    reason: UndeliveredReason


class Outbox:
    """The outbox in ``folder``, held by one process at a time. Times are stage time.

    reserve_bytes: disk space kept by a file that is given up when the disk is full, so that paging goes on.
    queue_max: deliveries that may wait for one receiver, a tenth of them only critical ones. An end always has room:
    each follows a page, which was counted, and a receiver that never gets it shows the page for ever. So has the one
    notification that others were dropped.
    """

    def __init__(self, folder: Path, *, reserve_bytes: int, queue_max: int) -> None:
        self._folder = folder
        self._reserve = folder / "reserve"
        self._reserve_bytes = reserve_bytes
        self._queue_max = queue_max
        self._dropped: list[Dropped] = []
        self._dropping: list[Dropped] = []
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
        self._add_severity()
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
        now: Moment,
    ) -> None:
        """Everything that one round decided, at once."""

        def write(database: sqlite3.Connection) -> None:
            offsets_table.write_offsets(self._database.connection, offsets)
            for incident, each in changed.items():
                if each is None:
                    database.execute("DELETE FROM incidents WHERE id = ?", (incident,))
                    database.execute("DELETE FROM delivered WHERE incident = ? AND open = 0", (incident,))
                else:
                    database.execute("INSERT OR REPLACE INTO incidents VALUES (?, ?)", (incident, orjson.dumps(each)))
            database.execute(_SAVE_MOMENT, (now.stage_ns, now.wall_ns))
            for receiver, notification in notifications:
                self._enqueue(database, receiver, notification, now.stage_ns, fallback)

        self._write(write)

    def save_moment(self, now: Moment) -> None:
        """So that the next process goes on from there."""
        with self._db:
            self._db.execute(_SAVE_MOMENT, (now.stage_ns, now.wall_ns))

    def moment(self) -> Moment | None:
        """The last one saved, by a round or by itself."""
        row = self._db.execute("SELECT stage_ns, wall_ns FROM moment").fetchone()
        return Moment(*row) if row else None

    def pop_dropped(self) -> list[Dropped]:
        """What was dropped for lack of room since the last call."""
        dropped, self._dropped = self._dropped, []
        return dropped

    def heads(self, receiver: str, waiting: Collection[int], count_max: int = HEADS_MAX) -> list[Delivery]:
        """The oldest delivery of each incident for a receiver, without those ``waiting`` for their next attempt.

        First those of the incident for which the worst waits.
        """
        rows = self._db.execute(_HEADS, (receiver, orjson.dumps(list(waiting)).decode(), count_max)).fetchall()
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
        """Moves it from its receiver's queue to the fallback's; False when there is none, or no room in it."""

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
        """For the receiver, else for the fallback; else it is dropped, and the answer is False."""
        if not self._has_room(database, receiver, notification, now_ns, fallback):
            return self._overflow(database, receiver, notification, now_ns, fallback, UndeliveredReason.QUEUE_FULL)
        value, rank, resolves = encode_notification(notification), *_priority(notification)
        row = (receiver, notification.incident.id, now_ns, value, rank, resolves)
        sql = "INSERT INTO deliveries (receiver, incident, created_ns, notification, severity_rank, resolves)"
        database.execute(sql + " VALUES (?, ?, ?, ?, ?, ?)", row)
        return True

    def _overflow(
        self,
        database: sqlite3.Connection,
        receiver: str,
        notification: Notification,
        now_ns: int,
        fallback: str,
        reason: UndeliveredReason,
    ) -> bool:
        if fallback not in ("", receiver):
            return self._enqueue(database, fallback, notification, now_ns, "")
        self._dropping.append(Dropped(receiver, notification, reason))
        return False

    def _has_room(
        self, database: sqlite3.Connection, receiver: str, notification: Notification, now_ns: int, fallback: str
    ) -> bool:
        """A critical one takes the place of the least important one that waits."""
        rank, resolves = _priority(notification)
        if resolves or notification.incident.kind is IncidentKind.ALERTS_OVERLOADED:
            return True
        sql = "SELECT count(*) FROM deliveries WHERE receiver = ? AND resolves = 0"
        places = self._queue_max - database.execute(sql, (receiver,)).fetchone()[0]
        if notification.incident.severity is not Severity.CRITICAL:
            return bool(places > self._queue_max // _CRITICAL_PART)
        if places > 0:
            return True
        least = database.execute(_LEAST_IMPORTANT, (receiver, rank)).fetchone()
        if least is None:
            return False
        database.execute("DELETE FROM deliveries WHERE id = ?", least[:1])
        evicted = decode_notification(least[1])
        self._overflow(database, receiver, evicted, now_ns, fallback, UndeliveredReason.EVICTED)
        return True

    @property
    def _db(self) -> sqlite3.Connection:
        return self._database.connection

    def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return self._write_once(work)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_FULL or not self._reserve.exists():
                raise
        self._reserve.unlink()
        return self._write_once(work)

    def _write_once(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._dropping = []
        with self._db:
            result = work(self._db)
        self._dropped.extend(self._dropping)
        return result

    def _add_severity(self) -> None:
        """To the deliveries of a file of schema 1 or 2."""
        if "severity_rank" not in {row[1] for row in self._db.execute("PRAGMA table_info(deliveries)")}:
            with self._db:
                self._db.execute("ALTER TABLE deliveries ADD COLUMN severity_rank INTEGER")
                self._db.execute("ALTER TABLE deliveries ADD COLUMN resolves INTEGER")
                for key, value in self._db.execute("SELECT id, notification FROM deliveries").fetchall():
                    row = (*_priority(decode_notification(value)), key)
                    self._db.execute("UPDATE deliveries SET severity_rank = ?, resolves = ? WHERE id = ?", row)
        self._db.executescript(_INDICES)

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


def _priority(notification: Notification) -> tuple[int, bool]:
    """Rank of the severity, and whether it is an end: by these a delivery leaves a full queue, and is sent."""
    return notification.incident.severity.rank, notification.action is Action.RESOLVE


_tracked = TypeAdapter(Tracked)
