"""The embedded engine: killed writers, full disks, several processes, damaged rows, locks."""

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from bus.base import Message
from bus.config import BusConfig, EmbeddedConfig
from common.errors import Unavailable
from telemetry.topics import Topic
from tests.conformance.bus.reading import fresh_topic, gap_of, numbered, numbers, read, read_until, running
from tests.waiting import DEADLINE_S, until

_ROOT = Path(__file__).resolve().parents[3]


def at(path: Path, **settings: float) -> BusConfig:
    return BusConfig(embedded=EmbeddedConfig.model_validate({"path": path, **settings}))


def writer(path: Path, topic: Topic, key: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "tests.conformance.bus.writer", str(path), topic.name, key]
    return subprocess.Popen(command, stdout=subprocess.PIPE, cwd=_ROOT)


def acknowledged_by(process: "subprocess.Popen[bytes]", lines: int) -> list[int]:
    """The numbers that it has acknowledged, after reading so many lines and killing it."""
    assert process.stdout is not None
    printed = [process.stdout.readline() for _ in range(lines)]
    process.kill()
    printed += process.stdout.read().split()  # what it had printed before the kill counts as well
    process.stdout.close()
    process.wait()
    return list(range(int(printed[-1]) + 1))


@pytest.mark.parametrize("lines", [1, 7, 60])
async def test_a_killed_writer_loses_nothing_that_was_acknowledged(tmp_path: Path, lines: int) -> None:
    path, topic = tmp_path / "bus.sqlite", Topic("test.killed.v1")
    acknowledged = await asyncio.to_thread(acknowledged_by, writer(path, topic, "a"), lines)
    async with running(at(path)) as bus:
        await bus.publish(topic, [Message(b"end", b"-1")])
        records = await read_until(bus.consume([topic], {}), lambda records: -1 in numbers(records))
    assert numbers(records)[: len(acknowledged)] == acknowledged
    assert [record.offset for record in records] == list(range(len(records)))


async def test_several_processes_write_and_read_one_file(tmp_path: Path) -> None:
    path, topic = tmp_path / "bus.sqlite", Topic("test.shared.v1")
    async with running(at(path)) as bus:
        reader = bus.consume([topic], {})
        processes = [writer(path, topic, key) for key in ("a", "b")]
        try:
            await bus.publish(topic, [Message(b"c", b"0")])
            wanted = {b"a": 200, b"b": 200, b"c": 1}
            records = await read_until(
                reader,
                lambda records: all(sum(r.key == key for r in records) >= n for key, n in wanted.items()),
            )
        finally:
            for process in processes:
                process.kill()
                process.communicate()
    assert [record.offset for record in records] == list(range(len(records)))
    for key in wanted:
        values = numbers([record for record in records if record.key == key])
        assert values == list(range(len(values)))


def test_a_full_disk_is_reported_and_got_over(tmp_path: Path) -> None:
    path = tmp_path / "bus.sqlite"
    command = [sys.executable, "-m", "tests.conformance.bus.full_disk", str(path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=_ROOT, timeout=DEADLINE_S, check=True)
    acknowledged = int(done.stdout)
    assert acknowledged > 2

    async def count() -> None:
        async with running(at(path)) as bus:
            reader = bus.consume([Topic("test.full.v1")], {})
            assert len(await read_until(reader, lambda records: len(records) >= acknowledged)) == acknowledged

    asyncio.run(count())


async def test_a_place_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    async with running(at(tmp_path / "file" / "bus.sqlite", publish_deadline_s=5)) as bus:
        with pytest.raises(Unavailable, match=r"bus\.sqlite"):
            await bus.publish(fresh_topic(), numbered(1))
        assert "bus.sqlite" in (bus.problem() or "")
        assert await bus.consume([fresh_topic()], {}).poll(wait_s=0.05) == []


async def test_a_file_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "bus.sqlite"
    path.write_text("these are notes, and no database at all\n" * 100)
    before = path.read_bytes()
    async with running(at(path)) as bus:
        with pytest.raises(Unavailable, match="not a database"):
            await bus.publish(fresh_topic(), numbered(1))
    assert path.read_bytes() == before


async def test_damaged_records_are_a_gap_and_the_others_are_read(tmp_path: Path) -> None:
    path, topic = tmp_path / "bus.sqlite", fresh_topic()
    async with running(at(path)) as bus:
        for first in (0, 10, 20):
            await bus.publish(topic, numbered(10, first=first))
    with sqlite3.connect(path) as db:
        (blob,) = db.execute("SELECT records FROM log_1 WHERE first = 10").fetchone()
        damaged = blob[:-1] + bytes((blob[-1] ^ 1,))
        db.execute("UPDATE log_1 SET records = ? WHERE first = 10", (damaged,))
    db.close()
    async with running(at(path)) as bus:
        reader = bus.consume([topic], {})
        assert numbers(await read(reader, 10)) == list(range(10))
        gap = await gap_of(reader)
        assert (gap.first, gap.last) == (10, 19)
        assert numbers(await read(reader, 10)) == list(range(20, 30))


def overwrite(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as db:
        db.execute(statement)
    db.close()


async def test_a_row_of_which_nothing_is_left_is_a_gap_too(tmp_path: Path) -> None:
    path, topic = tmp_path / "bus.sqlite", fresh_topic()
    async with running(at(path)) as bus:
        for first in (0, 10):
            await bus.publish(topic, numbered(10, first=first))
    overwrite(path, "UPDATE log_1 SET records = 5 WHERE first = 0")
    async with running(at(path)) as bus:
        reader = bus.consume([topic], {})
        gap = await gap_of(reader)
        assert (gap.first, gap.last) == (0, 9)
        assert numbers(await read(reader, 10)) == list(range(10, 20))
        assert bus.problem() is None


async def test_a_read_that_damage_makes_impossible_is_a_problem_and_not_the_end(tmp_path: Path) -> None:
    path, topic, other = tmp_path / "bus.sqlite", fresh_topic(), fresh_topic()
    async with running(at(path)) as bus:
        await bus.publish(topic, numbered(10))
        overwrite(path, "UPDATE log_1 SET last = 'x'")
        reader = bus.consume([topic], {})
        assert await reader.poll(wait_s=0.1) == []
        await until(lambda: "cannot be read: TypeError" in (bus.problem() or ""))
        await bus.publish(other, numbered(10))
        assert numbers(await read(bus.consume([other], {}), 10)) == list(range(10))


async def test_a_writer_that_has_ended_is_a_problem_and_the_reason_of_those_who_publish(tmp_path: Path) -> None:
    path, topic = tmp_path / "bus.sqlite", fresh_topic()
    async with running(at(path, publish_deadline_s=0.5)) as bus:
        await bus.publish(topic, numbered(10))
        overwrite(path, "UPDATE logs SET next = 'x'")
        with pytest.raises(Unavailable, match="the writer has ended: TypeError"):
            await bus.publish(topic, numbered(10))
        assert "the writer has ended: TypeError" in (bus.problem() or "")


async def test_another_process_at_the_disk_does_not_hold_up_the_loop(tmp_path: Path) -> None:
    path, topic = tmp_path / "bus.sqlite", fresh_topic()
    async with running(at(path)) as bus:
        await bus.publish(topic, numbered(1))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        publishing = asyncio.create_task(bus.publish(topic, numbered(1, first=1)))
        for _ in range(100):  # the loop turns while the writer waits for the lock
            await asyncio.sleep(0.001)
        assert not publishing.done()
        assert numbers(await read(bus.consume([topic], {}), 1)) == [0]
        other.execute("COMMIT")
        other.close()
        await publishing


async def test_a_stuck_disk_ends_a_publish_at_its_deadline_and_stop_in_time(tmp_path: Path) -> None:
    path, topic = tmp_path / "bus.sqlite", fresh_topic()
    async with running(at(path, publish_deadline_s=0.2)) as bus:
        await bus.publish(topic, numbered(1))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable):
            await bus.publish(topic, numbered(1, first=1))
    other.close()


async def test_a_full_queue_makes_publishers_wait(tmp_path: Path) -> None:
    path, topic = tmp_path / "bus.sqlite", fresh_topic()
    async with running(at(path, queue_bytes_max=10_000)) as bus:
        await bus.publish(topic, numbered(1))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        message = Message(b"k", b"7".rjust(6000, b"0"))
        tasks = [asyncio.create_task(bus.publish(topic, [message])) for _ in range(20)]
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert bus._queued_bytes <= 10_000  # type: ignore[attr-defined]  # the promise has no public face
        other.execute("COMMIT")
        other.close()
        await asyncio.gather(*tasks)
        assert len(await read(bus.consume([topic], {}), 21)) == 21


async def test_the_file_stays_within_its_bytes(tmp_path: Path) -> None:
    path, topic = tmp_path / "bus.sqlite", fresh_topic()
    async with running(at(path, log_bytes_max=3_000_000, retention_interval_s=0.05)) as bus:
        for _ in range(100):
            await bus.publish(topic, [Message(b"k", bytes(100_000))])
        await until(lambda: held(path) < 3_000_000)
        oldest = (await bus.offsets_since([topic], 0))[topic.name, 0]
        assert oldest > 0
        gap = await gap_of(bus.consume([topic], {(topic.name, 0): 0}))
        assert (gap.first, gap.last) == (0, oldest - 1)
        assert len(await read(bus.consume([topic], {}), 100 - oldest)) == 100 - oldest


async def test_compaction_takes_what_is_superseded_and_old_tombstones(tmp_path: Path) -> None:
    path, topic = tmp_path / "bus.sqlite", fresh_topic(compacted=True, retention_s=0)
    quick = at(path, retention_interval_s=0.05, tombstone_s=0)
    async with running(quick) as bus:
        for i in range(20):
            await bus.publish(topic, [Message(b"a", str(i).encode()), Message(b"b", b"1")])
        await bus.publish(topic, [Message(b"b", None)])
        await until(lambda: rows(path) == 1)
        reader = bus.consume([topic], {})
        (left,) = await read(reader, 1)
        assert (left.key, left.value, left.offset) == (b"a", b"19", 38)
        assert await reader.at_end()
        await bus.publish(topic, [Message(b"c", b"3")])
        assert [record.offset for record in await read(reader, 1)] == [41]


async def test_offsets_go_on_after_everything_has_expired(tmp_path: Path) -> None:
    path, topic = tmp_path / "bus.sqlite", fresh_topic(retention_s=0)
    async with running(at(path, retention_interval_s=0.05)) as bus:
        await bus.publish(topic, numbered(5))
        await until(lambda: rows(path) == 0)
    async with running(at(path)) as bus:
        await bus.publish(topic, numbered(1, first=5))
        assert [record.offset for record in await read(bus.consume([topic], {}), 1)] == [5]


def held(path: Path) -> int:
    db = sqlite3.connect(path)
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    db.close()
    return int((pages - free) * size)


def rows(path: Path) -> int:
    db = sqlite3.connect(path)
    (n,) = db.execute("SELECT count(*) FROM log_1").fetchone()
    db.close()
    return int(n)
