"""The embedded log's SQL for reading: blocking code over one read-only connection, run by the bus's reader thread."""

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bus.base import Gap, Offsets, Record, TopicPartition
from bus.embedded.packing import Corrupt, unpack

_LogRow = tuple[int, str, int, int, int]


@dataclass(slots=True)
class FetchResult:
    """What one read found.

    positions: the next offsets after it.
    totals: by topic the sum of the offsets to come; it grows with every record.
    gap: found instead of records; reading goes on behind it.
    """

    records: list[Record] = field(default_factory=list)
    positions: Offsets = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)
    gap: Gap | None = None
    bytes: int = 0


class LogReader:
    """The reading side of one file. Every method raises sqlite3.Error when the file cannot be read."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, timeout=1)
        self._db.execute("PRAGMA query_only = 1")

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._db.close()

    def version(self) -> int:
        """Another number after every commit by another connection, of this process or not. Costs microseconds."""
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def ends(self) -> Offsets:
        """The offset of the next record to come, of every partition there is."""
        return {(topic, partition): end for topic, partition, end in self._db.execute(_ENDS)}

    def totals(self) -> dict[str, int]:
        return dict(self._db.execute("SELECT topic, sum(next) FROM logs GROUP BY topic").fetchall())

    def offsets_since(self, topics: Sequence[str], since_ns: int) -> Offsets:
        """The first offset appended at or after ``since_ns``, of every partition there is."""
        marks = ",".join("?" * len(topics))
        logs = self._db.execute(f"{_LOGS} WHERE topic IN ({marks})", tuple(topics)).fetchall()
        return {(topic, partition): self._since(log, start, since_ns) for log, topic, partition, start, _ in logs}

    def _since(self, log: int, start: int, since_ns: int) -> int:
        # From the end: rows are in the order of their times, and a recent moment is asked for.
        query = f"SELECT last FROM log_{log} WHERE appended_ns < ? ORDER BY first DESC LIMIT 1"
        row = self._db.execute(query, (since_ns,)).fetchone()
        return max(start, row[0] + 1) if row else start

    def read(self, topics: Sequence[str], at: Offsets, *, records_min: int, bytes_max: int, turn: int) -> FetchResult:
        """Rows from ``at`` on until there are ``records_min`` records or ``bytes_max`` bytes.

        turn: the partition to begin with, so that a busy one does not starve the others.
        """
        result = FetchResult(positions=dict(at), totals=dict.fromkeys(topics, 0))
        self._db.execute("BEGIN")  # one view of offsets and rows
        try:
            marks = ",".join("?" * len(topics))
            logs = self._db.execute(f"{_LOGS} WHERE topic IN ({marks}) ORDER BY id", tuple(topics)).fetchall()
            for log in logs:
                result.totals[log[1]] += log[4]
            begin = turn % len(logs) if logs else 0
            for log in logs[begin:] + logs[:begin]:
                if len(result.records) >= records_min or result.bytes >= bytes_max or result.gap:
                    break
                self._read_log(log, result, records_min, bytes_max)
        finally:
            self._db.execute("COMMIT")
        return result

    def _read_log(self, log: _LogRow, result: FetchResult, records_min: int, bytes_max: int) -> None:
        log_id, topic, partition, start, end = log
        tp = (topic, partition)
        position = result.positions.setdefault(tp, start)
        if position > end:  # the file was replaced by a newer one: what it has is new to the reader
            result.gap = Gap(topic, partition, end, position - 1)
            result.positions[tp] = start
            return
        if position < start:
            result.gap = Gap(topic, partition, position, start - 1)
            result.positions[tp] = start
            return
        if position == end:
            return
        rows = self._db.execute(
            f"SELECT first, last, appended_ns, records FROM log_{log_id} WHERE first >="
            f" coalesce((SELECT max(first) FROM log_{log_id} WHERE first <= ?), 0) ORDER BY first",
            (position,),
        )
        for first, last, appended_ns, blob in rows:
            if len(result.records) >= records_min or result.bytes >= bytes_max:
                break
            if last < position:
                continue
            if not _unpack_row(result, tp, max(first, position), first, last, appended_ns, blob):
                return
            result.bytes += len(blob)
            position = result.positions[tp] = last + 1
        else:
            result.positions[tp] = end  # also over records that compaction has deleted


def _unpack_row(
    result: FetchResult, tp: TopicPartition, begin: int, first: int, last: int, appended_ns: int, blob: bytes
) -> bool:
    """False when the row is damaged: what came before it is delivered first, the gap by the next read."""
    topic, partition = tp
    try:
        unpacked = list(unpack(blob, begin - first))
    except Corrupt:
        if not result.records:
            result.gap = Gap(topic, partition, begin, last)
            result.positions[tp] = last + 1
        return False
    for offset, (key, value, headers) in enumerate(unpacked, begin):
        result.records.append(Record(topic, partition, offset, appended_ns, key, value, headers))
    return True


_LOGS = "SELECT id, topic, partition, start, next FROM logs"
_ENDS = "SELECT topic, partition, next FROM logs"
