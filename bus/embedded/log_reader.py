"""The embedded log's SQL for reading: blocking code over one read-only connection, run by the bus's reader thread."""

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bus.base import Gap, Offsets, Record
from bus.embedded.packing import Corrupt, unpack

_LogRow = tuple[int, str, int, int, int]


@dataclass(slots=True)
class FetchResult:
    """What one read brought.

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
    """The reading side of one file. Every method raises sqlite3.Error when the disk does not do its part."""

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
        # From the end: rows are in the order of their times, and who asks wants a recent moment.
        query = f"SELECT last FROM log_{log} WHERE appended_ns < ? ORDER BY first DESC LIMIT 1"
        row = self._db.execute(query, (since_ns,)).fetchone()
        return max(start, row[0] + 1) if row else start

    def read(self, topics: Sequence[str], at: Offsets, *, records_min: int, bytes_max: int, turn: int) -> FetchResult:
        """Rows from ``at`` on until there are ``records_min`` records or ``bytes_max`` bytes.

        turn: the partition to begin with, so that a busy one does not starve the others.
        """
        passage = FetchResult(positions=dict(at), totals=dict.fromkeys(topics, 0))
        self._db.execute("BEGIN")  # one view of offsets and rows
        try:
            marks = ",".join("?" * len(topics))
            logs = self._db.execute(f"{_LOGS} WHERE topic IN ({marks}) ORDER BY id", tuple(topics)).fetchall()
            for log in logs:
                passage.totals[log[1]] += log[4]
            begin = turn % len(logs) if logs else 0
            for log in logs[begin:] + logs[:begin]:
                if len(passage.records) >= records_min or passage.bytes >= bytes_max or passage.gap:
                    break
                self._read_log(log, passage, records_min, bytes_max)
        finally:
            self._db.execute("COMMIT")
        return passage

    def _read_log(self, log: _LogRow, passage: FetchResult, records_min: int, bytes_max: int) -> None:
        log_id, topic, partition, start, end = log
        place = (topic, partition)
        position = passage.positions.setdefault(place, start)
        if position > end:  # the file was replaced by a younger one: what it has is new to the reader
            passage.gap = Gap(topic, partition, end, position - 1)
            passage.positions[place] = start
            return
        if position < start:
            passage.gap = Gap(topic, partition, position, start - 1)
            passage.positions[place] = start
            return
        if position == end:
            return
        rows = self._db.execute(
            f"SELECT first, last, appended_ns, records FROM log_{log_id} WHERE first >="
            f" coalesce((SELECT max(first) FROM log_{log_id} WHERE first <= ?), 0) ORDER BY first",
            (position,),
        )
        for first, last, appended_ns, blob in rows:
            if len(passage.records) >= records_min or passage.bytes >= bytes_max:
                break
            if last < position:
                continue
            if not _unpack_row(passage, place, max(first, position), first, last, appended_ns, blob):
                return
            passage.bytes += len(blob)
            position = passage.positions[place] = last + 1
        else:
            passage.positions[place] = end  # also over records that compaction has taken


def _unpack_row(
    passage: FetchResult, place: tuple[str, int], begin: int, first: int, last: int, appended_ns: int, blob: bytes
) -> bool:
    """False when the row is damaged: what came before it is delivered first, the gap by the next read."""
    topic, partition = place
    try:
        offset = begin
        for key, value, headers in unpack(blob, begin - first):
            passage.records.append(Record(topic, partition, offset, appended_ns, key, value, headers))
            offset += 1
    except Corrupt:
        if not passage.records:
            passage.gap = Gap(topic, partition, begin, last)
            passage.positions[place] = last + 1
        return False
    return True


_LOGS = "SELECT id, topic, partition, start, next FROM logs"
_ENDS = "SELECT topic, partition, next FROM logs"
