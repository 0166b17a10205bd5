"""The records of an embedded bus, with ``sqlite3`` and ``struct`` alone."""

import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from tests.acceptance.crash.evidence.records import RawRecord


def read_embedded_log(path: Path) -> list[RawRecord]:
    """All records, in the order of each partition. AssertionError when offsets are not one after the other."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)) as database:
        logs = database.execute("SELECT id, topic, partition FROM logs").fetchall()
        compacted = dict(database.execute("SELECT name, compacted FROM topics").fetchall())
        found = []
        for log, topic, partition in logs:
            expected = None
            for first, last, blob in database.execute(f"SELECT first, last, records FROM log_{log} ORDER BY first"):
                assert compacted[topic] or expected in (None, first), f"{topic}: offset {first} after {expected}"
                found += [RawRecord(topic, partition, *record) for record in _unpacked(blob)]
                expected = last + 1
    return found


def _unpacked(blob: bytes) -> Iterator[tuple[bytes, bytes | None, dict[str, bytes]]]:
    (count,) = struct.unpack_from("<I", blob, 4)
    lengths = struct.unpack_from(f"<{3 * count}i", blob, 8)
    at = 8 + 12 * count
    for n in range(count):
        pieces: list[bytes | None] = []
        for length in lengths[3 * n : 3 * n + 3]:
            pieces.append(blob[at : at + length] if length >= 0 else None)
            at += max(0, length)
        key, value, headers = pieces
        yield key or b"", value, _headers(headers or b"")


def _headers(data: bytes) -> dict[str, bytes]:
    headers, at = {}, 0
    while at < len(data):
        name_bytes, value_bytes = struct.unpack_from("<HI", data, at)
        name_at = at + 6
        at = name_at + name_bytes + value_bytes
        headers[data[name_at : name_at + name_bytes].decode()] = data[name_at + name_bytes : at]
    return headers
