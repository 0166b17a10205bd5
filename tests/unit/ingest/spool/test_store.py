"""The spool's files: order, limits, restarts, and all that may happen to them in between."""

import errno
import random
import shutil
from pathlib import Path

import pytest

from bus.base import Message
from common.units import NS_PER_S
from ingest.ledger import Counts, DropReason
from ingest.outgoing import Outgoing
from ingest.spool.record import HEAD_BYTES, Amount, encode_one
from ingest.spool.segment import path_of
from ingest.spool.store import Store
from telemetry import topics
from tests.unit.ingest.spool.spooling import HOUR_NS, SAMPLES, config, counts, lost, opened, read_all, record

MEBI = 1 << 20


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.segment"))


def hourly(folder: Path, hours: int, each: int = 3) -> Store:
    """A store with so many segments, of an hour each, and the counts that say so."""
    store = opened(folder, age_max_s=8 * 3600.0 - 8)
    for hour in range(hours):
        store.append([record(hour * each + n) for n in range(each)], hour * HOUR_NS)
    store.save(counts(hours * each * SAMPLES))
    return store


def test_records_come_back_as_they_were_and_in_order(tmp_path: Path) -> None:
    store = opened(tmp_path)
    fact = Outgoing(topics.TOPOLOGY, Message(b"device/leaf1", b"{}"))
    change = Outgoing(topics.CHANGES, Message(b"job/1", None, {"a": b"b"}))
    store.append([fact, change, record(1)], 5)
    store.append([record(2, size=0)], 6)
    assert (store.unread.samples, store.unread.batches, store.unread.events) == (20, 2, 2)
    found, _ = store.read(10, MEBI, 7)
    assert found == [fact, change, record(1), record(2, size=0)]
    assert not store.unread
    assert lost(store) == {}


def test_nothing_is_left_on_the_disk_once_all_is_published(tmp_path: Path) -> None:
    store = opened(tmp_path)
    for number in range(7):
        store.append([record(number)], number)
    assert read_all(store) == list(range(7))
    assert (segments(tmp_path), store.used_bytes, store.oldest_ns) == ([], 0, None)
    store.append([record(7)], 8)
    assert read_all(store) == [7]


def test_records_appended_while_others_are_read_come_behind_them(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.append([record(number) for number in range(4)], 0)
    first, end = store.read(2, MEBI, 0)
    store.append([record(4)], 1)
    store.published(end, counts())
    assert [int(one.message.key) for one in first] == [0, 1]
    assert read_all(store) == [2, 3, 4]


def test_what_is_being_published_already_is_not_read_but_is_there_after_a_kill(tmp_path: Path) -> None:
    store = opened(tmp_path)
    end = store.append([record(0)], 0, taken=True)
    store.append([record(1)], 0)
    store.save(counts(20))
    after_kill = opened(shutil.copytree(tmp_path, tmp_path / "killed"))
    assert read_all(store) == [1]
    assert end < store.append([record(2)], 0)
    assert read_all(after_kill) == [0, 1]


@pytest.mark.parametrize("published", [0, 1, 5])
def test_the_next_process_goes_on_behind_what_was_published(tmp_path: Path, published: int) -> None:
    store = opened(tmp_path)
    for number in range(6):
        store.append([record(number)], 0)
    if published:
        _, end = store.read(published, MEBI, 0)
        store.published(end, Counts(7, 60, published * SAMPLES, {DropReason.QUOTA: 3}))
    following = Store(tmp_path, config(tmp_path))
    saved = following.open()
    if published:
        assert saved == Counts(7, 60, published * SAMPLES, {DropReason.QUOTA: 3})
    following.append([record(6)], 0)
    assert read_all(following) == list(range(published, 7))
    assert lost(following) == {}


def test_without_its_state_all_is_published_again(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.append([record(number) for number in range(4)], 0)
    _, end = store.read(2, MEBI, 0)
    store.published(end, counts())
    (tmp_path / "state").unlink()
    following = Store(tmp_path, config(tmp_path))
    assert following.open() is None
    assert read_all(following) == [0, 1, 2, 3]


def test_beyond_its_bytes_the_oldest_are_dropped_and_counted(tmp_path: Path) -> None:
    store = opened(tmp_path, bytes_max=8 * MEBI)
    for number in range(40):
        store.append([record(number, size=MEBI // 2)], 0)
        assert store.used_bytes <= 8 * MEBI
        assert sum(path.stat().st_size for path in segments(tmp_path)) == store.used_bytes
    dropped = lost(store)
    kept = read_all(store)
    assert kept == list(range(40 - len(kept), 40))
    assert len(kept) >= 12
    assert dropped == {DropReason.SPOOL_FULL: (40 - len(kept)) * SAMPLES}


def test_what_is_being_published_is_not_dropped_as_well(tmp_path: Path) -> None:
    store = opened(tmp_path, bytes_max=8 * MEBI)
    for number in range(8):
        store.append([record(number, size=MEBI)], 0)
    under_way, end = store.read(2, 8 * MEBI, 0)
    for number in range(8, 30):
        store.append([record(number, size=MEBI)], 0)
    store.published(end, counts())
    kept = read_all(store)
    assert len(under_way) * SAMPLES + sum(lost(store).values()) + len(kept) * SAMPLES == 300


def test_what_is_too_old_is_dropped_and_counted(tmp_path: Path) -> None:
    store = opened(tmp_path, age_max_s=4 * 3600.0)
    for hour in range(8):
        store.append([record(hour)], hour * HOUR_NS)
    store.expire(8 * HOUR_NS)
    assert lost(store) == {DropReason.SPOOL_EXPIRED: 4 * SAMPLES}
    assert len(segments(tmp_path)) == 4
    assert read_all(store, now_ns=10 * HOUR_NS) == [6, 7]
    assert lost(store) == {DropReason.SPOOL_EXPIRED: 2 * SAMPLES}


def test_the_last_one_may_be_too_old_as_well(tmp_path: Path) -> None:
    store = opened(tmp_path, age_max_s=10.0)
    store.append([record(0)], 0)
    store.expire(11 * NS_PER_S)
    assert (segments(tmp_path), lost(store)) == ([], {DropReason.SPOOL_EXPIRED: SAMPLES})
    store.append([record(1)], 12 * NS_PER_S)
    assert read_all(store, now_ns=12 * NS_PER_S) == [1]
    assert lost(store) == {}


def test_a_disk_with_too_little_left_takes_nothing(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.append([record(0)], 0)
    full = opened(shutil.copytree(tmp_path, tmp_path / "full"), free_bytes_min=1 << 60)
    with pytest.raises(OSError, match="free_bytes_min") as caught:
        full.append([record(1)], 0)
    assert caught.value.errno == errno.ENOSPC
    assert read_all(full) == [0]


@pytest.mark.parametrize("cut", [1, HEAD_BYTES - 1, HEAD_BYTES, 200, 300])
def test_a_torn_end_is_counted_and_what_is_before_it_is_used(tmp_path: Path, cut: int) -> None:
    store = hourly(tmp_path, 2)
    last = segments(tmp_path)[-1]
    last.write_bytes(last.read_bytes()[:-cut])
    following = opened(tmp_path)
    following.append([record(99)], 0)
    torn = 2 if cut == 300 else 1
    assert read_all(following) == [*range(6 - torn), 99]
    assert lost(following) == {DropReason.SPOOL_DAMAGED: torn * SAMPLES}
    assert store.unread.samples == 60


def test_a_torn_end_that_was_never_counted_costs_nothing(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.append([record(0)], 0)
    store.save(counts(SAMPLES))
    store.append([record(1)], 0)
    (segment,) = segments(tmp_path)
    segment.write_bytes(segment.read_bytes()[:-5])
    following = opened(tmp_path)
    assert read_all(following) == [0]
    assert lost(following) == {}


def test_what_was_appended_after_the_last_save_is_there(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.append([record(0)], 0)
    store.save(counts(SAMPLES))
    store.append([record(1)], 0)
    following = opened(tmp_path)
    assert following.unread.samples == 20
    assert read_all(following) == [0, 1]


def test_a_flipped_bit_in_a_message_costs_that_message(tmp_path: Path) -> None:
    hourly(tmp_path, 2)
    flip(segments(tmp_path)[0], 8 * (HEAD_BYTES + 50))
    following = opened(tmp_path)
    assert read_all(following) == [1, 2, 3, 4, 5]
    assert lost(following) == {DropReason.SPOOL_DAMAGED: SAMPLES}


@pytest.mark.parametrize(
    ("segment", "left"), [(0, [3, 4, 5, 6, 7, 8]), (1, [0, 1, 2, 6, 7, 8]), (2, [0, 1, 2, 3, 4, 5])]
)
def test_a_damaged_first_head_costs_its_segment(tmp_path: Path, segment: int, left: list[int]) -> None:
    hourly(tmp_path, 3)
    flip(segments(tmp_path)[segment], 40)
    following = opened(tmp_path)
    assert read_all(following) == left
    assert lost(following) == {DropReason.SPOOL_DAMAGED: 3 * SAMPLES}


@pytest.mark.parametrize(
    "before",
    [Amount(2**64 - 1), Amount(0, 2**63), Amount(0, 0, 2**64 - 1), Amount()],
    ids=["samples", "batches", "events", "backwards"],
)
def test_a_head_that_counts_what_no_spool_counts_costs_what_is_behind_it(tmp_path: Path, before: Amount) -> None:
    hourly(tmp_path, 1)
    (path,) = segments(tmp_path)
    data, length = bytearray(path.read_bytes()), len(encode_one(record(0), Amount(), 0))
    data[length : 2 * length] = encode_one(record(1), before, 0)
    path.write_bytes(data)
    following = opened(tmp_path)
    assert read_all(following) == [0]
    assert lost(following) == {DropReason.SPOOL_DAMAGED: 2 * SAMPLES}


def test_missing_files_are_counted(tmp_path: Path) -> None:
    hourly(tmp_path, 3)
    for path in segments(tmp_path):
        path.unlink()
    following = opened(tmp_path)
    assert read_all(following) == []
    assert lost(following) == {DropReason.SPOOL_DAMAGED: 9 * SAMPLES}
    following.append([record(9)], 0)
    assert read_all(following) == [9]


def test_bits_that_flip_anywhere_are_counted_and_never_come_out(tmp_path: Path) -> None:
    """Each sample that the state knows is read as it was, or counted once."""
    original = tmp_path / "original"
    hourly(original, 4)
    dice = random.Random(1)
    for attempt in range(300):
        folder = tmp_path / str(attempt)
        shutil.copytree(original, folder)
        damaged = dice.choice([*segments(folder), *segments(folder), folder / "state"])
        for _ in range(dice.choice((1, 1, 2, 20))):
            flip(damaged, dice.randrange(8 * damaged.stat().st_size))
        following = opened(folder)
        found: list[Outgoing] = []
        while following.unread:
            records, end = following.read(3, MEBI, 0)
            found += records
            following.published(end, counts())
        numbers = [int(one.message.key) for one in found]
        assert numbers == sorted(set(numbers))
        assert found == [record(number) for number in numbers]
        assert len(found) * SAMPLES + sum(lost(following).values()) == 120
        shutil.rmtree(folder)


def test_an_append_that_fails_leaves_nothing_and_the_next_one_works(tmp_path: Path) -> None:
    store = opened(tmp_path, bytes_max=8 * MEBI)
    store.append([record(0)], 0)
    blocked = path_of(tmp_path, 2)
    blocked.mkdir()  # where the next segment is to be
    with pytest.raises(FileExistsError):
        store.append([record(1), record(2, size=2 * MEBI)], 0)
    blocked.rmdir()
    assert store.unread.samples == SAMPLES
    store.append([record(1), record(2, size=2 * MEBI)], 0)
    assert read_all(store) == [0, 1, 2]
    assert lost(store) == {}


def test_what_a_failed_append_left_on_the_disk_is_not_published_twice(tmp_path: Path) -> None:
    """A disk that took half of it, and then not even that it be taken back."""
    store = opened(tmp_path)
    store.append([record(0)], 0)
    torn = segments(tmp_path)[0]
    store.append([record(1)], 0)
    left_over = torn.read_bytes()
    torn.write_bytes(left_over[: len(left_over) // 2])
    killed = opened(tmp_path)
    killed.append([record(1), record(2)], 0)
    killed.save(counts(30))
    torn.write_bytes(left_over)
    following = opened(tmp_path)
    assert read_all(following) == [0, 1, 2]
    assert lost(following) == {}


def flip(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
