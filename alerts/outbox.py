"""The durable outbox between the decision and the receivers: one SQLite file (WAL, every commit on disk).

One transaction holds what was decided, what is to be delivered and how far the bus was read, so a crash at any point
repeats a delivery under its old key or does nothing. Every row has a checksum. A call that finds a damaged one raises
Damaged; the next ``open`` sets the file aside and goes on with what can be read. Blocking: every call belongs off the
event loop, in one thread.
"""

import os
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import orjson

from alerts.clock import Moment
from alerts.decision.table import Tracked
from alerts.metrics import UndeliveredReason
from alerts.notification import Action, Notification, decode_notification
from alerts.outbox_layout import (
    DELIVERED,
    DELIVERIES,
    INCIDENTS,
    LAYOUT,
    MOMENT,
    delivered_row,
    delivery_row,
    incident_row,
    moment_row,
    priority_of,
    tracked_of,
)
from alerts.own_kinds import OWN_KINDS
from bus import offsets_table
from bus.base import Offsets
from bus.owner import epochs_table
from bus.owner.fence import Epochs
from common.sqlite.database import LockedDatabase
from common.sqlite.examination import damage_named
from common.sqlite.opening import Damage, Durability
from telemetry.incidents import Severity

HEADS_MAX = 64
_CRITICAL_PART = 10  # one in so many places of a queue is for critical notifications alone
_HEADS = """
JOIN (SELECT min(id) AS head, max(severity_rank) AS worst FROM deliveries WHERE receiver = ? GROUP BY incident)
    ON deliveries.id = head
WHERE head NOT IN (SELECT value FROM json_each(?)) ORDER BY worst DESC, head LIMIT ?
"""
_LEAST_IMPORTANT = """
WHERE receiver = ? AND resolves = 0 AND severity_rank < ? ORDER BY severity_rank, id DESC LIMIT 1
"""
_OPEN = """
WHERE receiver = ? AND open = 1 AND NOT EXISTS (SELECT 1 FROM deliveries
    WHERE deliveries.receiver = delivered.receiver AND deliveries.incident = delivered.incident) ORDER BY incident
"""
_SHOWN = "WHERE id IN (SELECT incident FROM delivered WHERE receiver = ? AND open = 1)"
_names_damage = damage_named("outbox")
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
            LAYOUT,
            Durability.EVERY_COMMIT,
        )
        self._next_id = 1
        self._sequence_min = 1

    def open(self) -> None:
        """What is damaged is set aside; what people may have missed by it is queued again.

        ConfigError when another process holds the folder or a newer version wrote it.
        """
        try:
            self._database.open()
        except (OSError, sqlite3.OperationalError):
            if not self._reserve.exists() or self._free_bytes() > self._reserve_bytes:
                raise
            # a full disk has no room for SQLite's own files, nor for a new one in the place of a damaged one
            self._reserve.unlink()
            self._database.open()
        self._next_id = self._db.execute("SELECT coalesce(max(id), 0) + 1 FROM deliveries").fetchone()[0]
        self._sequence_min = next((row[3] for row in MOMENT.find(self._db)), 1)
        self._keep_reserve()

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

    @property
    def sequence_min(self) -> int:
        """No new notification may have a lower sequence: lower ones may have been used, and forgotten by damage."""
        return self._sequence_min

    @_names_damage
    def offsets(self) -> Offsets:
        """How far the bus was read."""
        return offsets_table.read_offsets(self._database.connection)

    @_names_damage
    def epochs(self) -> Epochs:
        """The newest owners whose records were read."""
        return epochs_table.read_epochs(self._database.connection)

    @_names_damage
    def tracked(self) -> dict[str, Tracked]:
        """What was decided so far, by the incident's id."""
        return {row[0]: tracked_of(row) for row in INCIDENTS.find(self._db)}

    @_names_damage
    def commit(
        self,
        offsets: Offsets,
        epochs: Epochs,
        changed: Mapping[str, Tracked | None],
        notifications: Sequence[tuple[str, Notification]],
        fallback: str,
        now: Moment,
    ) -> None:
        """Everything that one round decided, at once."""

        def write(database: sqlite3.Connection) -> None:
            offsets_table.write_offsets(self._database.connection, offsets)
            epochs_table.write_epochs(self._database.connection, epochs)
            for incident, each in changed.items():
                if each is None:
                    database.execute("DELETE FROM incidents WHERE id = ?", (incident,))
                    database.execute("DELETE FROM delivered WHERE incident = ? AND open = 0", (incident,))
                else:
                    INCIDENTS.put(database, [incident_row(incident, each)])
            MOMENT.put(database, [moment_row(now, self._sequence_min)])
            for receiver, notification in notifications:
                self._enqueue(database, receiver, notification, now.stage_ns, fallback)

        self._write(write)

    @_names_damage
    def save_moment(self, now: Moment) -> None:
        """So that the next process goes on from there."""
        with self._db:
            MOMENT.put(self._db, [moment_row(now, self._sequence_min)])

    @_names_damage
    def moment(self) -> Moment | None:
        """The last one saved, by a round or by itself."""
        return next((Moment(stage_ns, wall_ns) for _, stage_ns, wall_ns, _ in MOMENT.find(self._db)), None)

    def pop_dropped(self) -> list[Dropped]:
        """What was dropped for lack of room since the last call."""
        dropped, self._dropped = self._dropped, []
        return dropped

    @_names_damage
    def heads(self, receiver: str, waiting: Collection[int], count_max: int = HEADS_MAX) -> list[Delivery]:
        """The oldest delivery of each incident for a receiver, without those ``waiting`` for their next attempt.

        First those of the incident for which the worst waits.
        """
        rows = DELIVERIES.find(self._db, _HEADS, (receiver, orjson.dumps(list(waiting)).decode(), count_max))
        return [Delivery(row[0], receiver, row[3], decode_notification(row[4])) for row in rows]

    @_names_damage
    def is_open(self, receiver: str, incident: str) -> bool:
        """Whether the receiver knows that the incident fires, and not yet that it is over."""
        found = DELIVERED.find(self._db, "WHERE receiver = ? AND incident = ?", (receiver, incident))
        return any(row[2] for row in found)

    @_names_damage
    def open_alerts(self, receiver: str) -> list[Notification]:
        """The newest notification of each incident that the receiver shows and for which nothing more is queued.

        Each with the newest version of its incident, which may reach more by now than people were notified of; its
        labels stay, as they are what the receiver knows the alert by.
        """
        newest = {row[0]: tracked_of(row).incident for row in INCIDENTS.find(self._db, _SHOWN, (receiver,))}
        shown = [decode_notification(row[3]) for row in DELIVERED.find(self._db, _OPEN, (receiver,))]
        return [replace(each, incident=newest.get(each.incident.id) or each.incident) for each in shown]

    @_names_damage
    def pending(self) -> dict[str, int]:
        """Deliveries that wait, by receiver."""
        return dict(self._db.execute("SELECT receiver, count(*) FROM deliveries GROUP BY receiver").fetchall())

    @_names_damage
    def delivered(self, delivery: Delivery, fallback: str, now_ns: int) -> None:
        """The receiver has it. A resolve is queued for the fallback too, when that was notified of the incident."""
        notification = delivery.notification
        is_open = notification.action is not Action.RESOLVE
        row = delivered_row(delivery.receiver, is_open, notification)

        def write(database: sqlite3.Connection) -> None:
            database.execute("DELETE FROM deliveries WHERE id = ?", (delivery.id,))
            DELIVERED.put(database, [row])
            if not is_open and fallback not in ("", delivery.receiver) and self._was_notified(fallback, delivery):
                self._enqueue(database, fallback, notification, now_ns, "")

        self._write(write)

    @_names_damage
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
        DELIVERIES.put(database, [delivery_row(self._next_id, receiver, notification, now_ns)])
        self._next_id += 1  # after a round that is rolled back a number is left out, and none comes twice
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
        rank, resolves = priority_of(notification)
        if resolves or notification.incident.kind in OWN_KINDS:
            return True
        sql = "SELECT count(*) FROM deliveries WHERE receiver = ? AND resolves = 0"
        places = self._queue_max - database.execute(sql, (receiver,)).fetchone()[0]
        if notification.incident.severity is not Severity.CRITICAL:
            return bool(places > self._queue_max // _CRITICAL_PART)
        if places > 0:
            return True
        least = next(DELIVERIES.find(database, _LEAST_IMPORTANT, (receiver, rank)), None)
        if least is None:
            return False
        database.execute("DELETE FROM deliveries WHERE id = ?", least[:1])
        evicted = decode_notification(least[4])
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

    def _keep_reserve(self) -> None:
        """Reserves the space when the disk has twice as much left; without it paging works all the same."""
        if self._reserve_bytes == 0 or self._reserve.exists() or self._free_bytes() < 2 * self._reserve_bytes:
            return
        part = self._reserve.with_suffix(".part")
        with part.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, self._reserve_bytes)
        part.replace(self._reserve)

    def _free_bytes(self) -> int:
        free = os.statvfs(self._folder)
        return free.f_bavail * free.f_frsize
