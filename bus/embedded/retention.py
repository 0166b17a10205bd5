"""Retention and compaction of the embedded log, in short transactions so that publishes hardly wait.

Each function does one step over one connection and says whether there is more to do.
"""

import sqlite3
from dataclasses import dataclass

from common.units import NS_PER_S, to_ns

_ROWS = 200  # rows of up to 256 KiB: a step deletes at most some 50 MiB


@dataclass(frozen=True, slots=True)
class _Log:
    id: int
    compacted: bool
    retention_s: int


def claim(db: sqlite3.Connection, now_ns: int, interval_ns: int) -> bool:
    """Whether it is this process's turn: one run an interval for all processes on the file. Always writes."""
    (last,) = db.execute("SELECT at_ns FROM upkeep").fetchone()
    due = not last <= now_ns < last + interval_ns  # also when the clock was set back
    db.execute("UPDATE upkeep SET at_ns = ?", (now_ns if due else last,))
    return due


def release(db: sqlite3.Connection) -> None:
    """Gives the turn back before the interval is over: there is more to do."""
    db.execute("UPDATE upkeep SET at_ns = 0")


def expire(db: sqlite3.Connection, now_ns: int) -> bool:
    """Deletes rows past their topic's retention."""
    more = False
    for log in _logs(db):
        if not log.compacted:
            more |= _expire_log(db, log.id, now_ns - log.retention_s * NS_PER_S)
    return more


def trim(db: sqlite3.Connection, bytes_max: int) -> bool:
    """Deletes the oldest rows of all while the file holds more than ``bytes_max``; compacted topics are spared."""
    if _bytes_held(db) <= bytes_max:
        return False
    oldest: tuple[int, int] | None = None
    for log in _logs(db):
        row = db.execute(f"SELECT appended_ns FROM log_{log.id} ORDER BY first LIMIT 1").fetchone()
        if row and not log.compacted:
            oldest = min(oldest or (row[0], log.id), (row[0], log.id))
    if oldest is None:
        return False
    rows = db.execute(f"SELECT last FROM log_{oldest[1]} ORDER BY first LIMIT 8").fetchall()
    _delete_through(db, oldest[1], rows[-1][0])
    return True


def compact(db: sqlite3.Connection, now_ns: int, *, tombstone_s: float) -> None:
    """Deletes superseded records of compacted topics past their retention, and old tombstones."""
    for log in _logs(db):
        if log.compacted:
            table = f"log_{log.id}"
            newest = f"SELECT max(first) FROM {table} GROUP BY key"
            db.execute(
                f"DELETE FROM {table} WHERE appended_ns < ? AND first NOT IN ({newest})",
                (now_ns - log.retention_s * NS_PER_S,),
            )
            # Bytes 13 to 16 of a packed record are the length of its value: -1 is a tombstone.
            db.execute(
                f"DELETE FROM {table} WHERE appended_ns < ? AND substr(records, 13, 4) = x'ffffffff'",
                (now_ns - to_ns(tombstone_s),),
            )


def _logs(db: sqlite3.Connection) -> list[_Log]:
    query = "SELECT id, compacted, retention_s FROM logs JOIN topics ON topics.name = logs.topic"
    return [_Log(log, bool(compacted), retention_s) for log, compacted, retention_s in db.execute(query)]


def _expire_log(db: sqlite3.Connection, log: int, before_ns: int) -> bool:
    rows = db.execute(f"SELECT last, appended_ns FROM log_{log} ORDER BY first LIMIT {_ROWS}").fetchall()
    expired = [last for last, appended_ns in rows if appended_ns < before_ns]
    if expired:
        _delete_through(db, log, expired[-1])
    return len(expired) == _ROWS


def _delete_through(db: sqlite3.Connection, log: int, last: int) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        db.execute(f"DELETE FROM log_{log} WHERE first <= ?", (last,))
        db.execute("UPDATE logs SET start = max(start, ?) WHERE id = ?", (last + 1, log))
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _bytes_held(db: sqlite3.Connection) -> int:
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    (free,) = db.execute("PRAGMA freelist_count").fetchone()
    (page_size,) = db.execute("PRAGMA page_size").fetchone()
    return int((pages - free) * page_size)
