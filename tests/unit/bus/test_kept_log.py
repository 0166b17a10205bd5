"""Files of the embedded bus that other versions have written."""

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from bus.base import Record
from bus.embedded.log_writer import FORMAT, LogWriter
from telemetry import topics
from telemetry.topics import Topic
from tests.unit.bus.embedded_log import Log, numbered

KEPT = Path(__file__).parents[2] / "data" / "stored" / "0.1.0" / "bus.sqlite"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    shutil.copyfile(KEPT, tmp_path / "bus.sqlite")
    opened = Log(tmp_path)
    yield opened
    opened.close()


def records(log: Log, topic: Topic) -> list[Record]:
    result = log.reader.read([topic.name], {}, records_min=100, bytes_max=1 << 20, turn=0)
    assert result.gap is None
    return result.records


def test_the_log_of_0_1_0_is_read(log: Log) -> None:
    samples = {record.key: (record.value, record.headers) for record in records(log, topics.SAMPLES)}
    assert samples == {f"node{n}".encode(): (f"batch {n}".encode(), {"table": b"digest"}) for n in range(8)}
    facts = [(record.key, record.value) for record in records(log, topics.TOPOLOGY)]
    assert [value for key, value in facts if key == b"device/leaf1"] == [b"{}", None]
    assert [value for key, value in facts if key == b"device/leaf2"] == [b"{}"]


def test_it_is_written_further(log: Log) -> None:
    before = log.reader.ends()
    log.append(topics.SAMPLES, numbered(0, 3))
    after = log.reader.ends()
    assert sum(after.values()) == sum(before.values()) + 3
    assert all(after[place] >= end for place, end in before.items())


def test_a_newer_version_s_log_is_refused_with_both_numbers_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "bus.sqlite"
    shutil.copyfile(KEPT, path)
    with sqlite3.connect(path) as newer:
        newer.execute(f"PRAGMA user_version = {FORMAT + 1}")
    newer.close()
    before = path.read_bytes()
    with pytest.raises(
        sqlite3.DatabaseError, match=rf"format {FORMAT + 1}, this version reads {FORMAT}: start the newer"
    ):
        LogWriter(path)
    assert path.read_bytes() == before
