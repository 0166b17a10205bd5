"""The publisher with a disk behind it: a bus that is away, a process that is killed, a disk that fails."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from common.errors import ConfigError, Superseded
from common.units import NS_PER_S
from ingest.ledger import DropReason
from ingest.spool import spool, state_file
from ingest.spool.segment import path_of
from telemetry import objects, topics
from telemetry.changes import Change, ChangeKind
from telemetry.codec.records import decode_record
from telemetry.ledger import TargetAccount
from telemetry.topology import Device, Role, TopologyFact
from tests.unit.ingest.flaky_bus import FlakyBus, batch, feed
from tests.unit.ingest.spooling_process import Process, away
from tests.waiting import DEADLINE_S, until

_ROOT = Path(__file__).resolve().parents[3]


async def test_what_the_bus_does_not_take_goes_to_the_disk_and_comes_back_in_order(tmp_path: Path) -> None:
    process = Process(tmp_path, away())
    await process.publisher.start()
    process.feed(0, 1, 2)
    await until(lambda: process.publisher.details()["spooled_bytes"] > 0)
    process.feed(3, 4)
    await until(lambda: process.publisher.details()["spooled_samples"] == 20)
    assert process.on_disk() == 50
    process.now_ns += 60 * NS_PER_S
    details = process.publisher.details()
    assert (details["spooled_samples"], details["spooled_seconds"], details["spool_unwritable"]) == (20, 60, 0)
    assert (process.balance, process.publisher.queued, process.account.held) == (0, 50, 50)
    process.bus.unavailable = False
    process.feed(5)
    await until(lambda: process.ledger.samples_out == 60)
    await until(lambda: process.publisher.details()["spooled_bytes"] == 0)
    process.feed(6)
    await until(lambda: process.ledger.samples_out == 70)
    assert process.bus.sequences() == list(range(7))
    assert (process.balance, process.publisher.queued) == (0, 0)
    await process.publisher.stop()


async def test_what_a_replaced_process_has_not_published_waits_for_its_next_start(tmp_path: Path) -> None:
    process = Process(tmp_path, FlakyBus(), messages_max=2, after_s=60)
    process.bus.is_replaced = True
    await process.publisher.start()
    process.feed(0, 1, 2, 3, 4)
    with pytest.raises(Superseded):
        await asyncio.gather(*process.publisher.tasks)
    await process.publisher.stop()
    assert (process.bus.calls, process.on_disk(), process.balance) == ([], 50, 0)
    again = Process(tmp_path, FlakyBus())
    await again.publisher.start()
    await until(lambda: again.ledger.samples_out == 50)
    assert again.bus.sequences() == list(range(5))
    assert again.balance == 0
    await again.publisher.stop()


async def test_a_bus_that_is_too_slow_fills_the_disk_and_not_memory(tmp_path: Path) -> None:
    """Each call ends in time, and more comes than goes."""
    process = Process(tmp_path, FlakyBus(call_s=0.05), messages_max=1, after_s=0.5)
    await process.publisher.start()
    process.feed(*range(40))
    await until(lambda: process.saved().written.batches > 0)
    process.feed(40)
    await until(lambda: process.ledger.samples_out == 410)
    assert process.bus.sequences() == list(range(41))
    assert (process.balance, process.publisher.queued) == (0, 0)
    await process.publisher.stop()


async def test_what_is_late_for_want_of_cpu_does_not_go_over_the_disk(tmp_path: Path) -> None:
    process = Process(tmp_path, FlakyBus(call_s=1.0), short_of_cpu=True, after_s=0.5)
    await process.publisher.start()
    process.feed(0)
    await until(lambda: process.publisher.unpublished_s() > 0.6)
    process.feed(1)
    await until(lambda: process.ledger.samples_out == 20)
    assert (process.saved().written.batches, process.publisher.unpublished_s()) == (0, 0)
    await process.publisher.stop()


async def test_a_bus_that_is_away_fills_the_disk_with_little_cpu_too(tmp_path: Path) -> None:
    process = Process(tmp_path, away(), short_of_cpu=True)
    await process.publisher.start()
    process.feed(0, 1)
    await until(lambda: process.on_disk() == 20)
    await until(lambda: process.publisher.unpublished_s() == 0)
    await process.kill()


async def test_a_bus_that_takes_everything_costs_no_file(tmp_path: Path) -> None:
    process = Process(tmp_path, FlakyBus(), after_s=60)
    await process.publisher.start()
    for seq in range(20):
        process.feed(seq)
        await until(lambda: process.publisher.queued == 0)
    assert sorted(os.listdir(tmp_path)) == ["lock", "state"]
    await process.publisher.stop()


async def test_one_process_at_a_time(tmp_path: Path) -> None:
    first, second = Process(tmp_path, FlakyBus()), Process(tmp_path, FlakyBus())
    await first.publisher.start()
    with pytest.raises(ConfigError, match=rf"ingest.publish.spool.folder {tmp_path}: process \d+ on .* uses it"):
        await second.publisher.start()
    await second.publisher.stop()
    await first.publisher.stop()
    await second.publisher.start()
    await second.publisher.stop()


async def test_the_next_process_publishes_what_a_killed_one_has_spooled(tmp_path: Path) -> None:
    first = Process(tmp_path, away())
    await first.publisher.start()
    first.feed(0, 1)
    await until(lambda: first.on_disk() == 20)
    first.feed(2, 3)
    await until(lambda: first.on_disk() == 40)
    await first.kill()
    second = Process(tmp_path, away())
    await second.publisher.start()
    assert (second.publisher.queued, second.ledger.samples_in, second.balance) == (40, 40, 0)
    second.feed(4)
    await until(lambda: second.on_disk() == 50)
    second.bus.unavailable = False
    await until(lambda: second.ledger.samples_out == 50)
    assert second.bus.sequences() == [0, 1, 2, 3, 4]
    assert (second.ledger.drops, second.balance) == ({}, 0)
    assert second.account == TargetAccount(7, 10, 10, 0), "it has not received what the first one spooled"
    await second.publisher.stop()


async def test_what_was_published_before_the_kill_is_not_published_again(tmp_path: Path) -> None:
    bus = away()
    first = Process(tmp_path, bus)
    await first.publisher.start()
    first.feed(0)
    await until(lambda: first.on_disk() == 10)
    first.bus.unavailable = False
    await until(lambda: first.saved().counts.samples_out == 10)
    await first.kill()
    second = Process(tmp_path, bus)
    await second.publisher.start()
    second.feed(1)
    await until(lambda: second.ledger.samples_out == 20)
    assert bus.sequences() == [0, 1]
    await second.publisher.stop()


async def test_what_was_in_memory_alone_when_it_was_killed_is_counted(tmp_path: Path) -> None:
    first = Process(tmp_path, away(), after_s=600)
    await first.publisher.start()
    first.feed(0, 1, 2)
    await until(lambda: first.saved().counts.held == 30)
    await first.kill()
    dropped = _metric("samples_dropped_total", reason="killed")
    received = _metric("samples_received_total")
    second = Process(tmp_path, FlakyBus())
    await second.publisher.start()
    assert (second.ledger.samples_in, second.ledger.drops, second.balance) == (30, {DropReason.KILLED: 30}, 0)
    second.ledger.update_metrics()
    assert _metric("samples_dropped_total", reason="killed") == dropped + 30
    assert _metric("samples_received_total") == received  # by this process
    await second.publisher.stop()


async def test_the_ledger_goes_on_after_a_stop(tmp_path: Path) -> None:
    first = Process(tmp_path, FlakyBus())
    await first.publisher.start()
    first.ledger.epoch_ns = 3
    first.ledger.received(4, "")
    first.ledger.dropped(DropReason.QUOTA, 4, "")
    first.feed(0)
    await until(lambda: first.ledger.samples_out == 10)
    await first.publisher.stop()
    second = Process(tmp_path, FlakyBus())
    await second.publisher.start()
    ledger = second.ledger
    assert (ledger.epoch_ns, ledger.samples_in, ledger.samples_out, ledger.drops) == (3, 14, 10, {DropReason.QUOTA: 4})
    await second.publisher.stop()


async def test_what_is_in_memory_at_a_stop_goes_to_the_disk(tmp_path: Path) -> None:
    first = Process(tmp_path, away(), after_s=600)
    await first.publisher.start()
    first.feed(0)
    await until(lambda: first.bus.refused)
    first.feed(1, 2)
    await first.publisher.stop()
    await first.publisher.stop()
    assert first.balance == 0
    second = Process(tmp_path, FlakyBus())
    await second.publisher.start()
    await until(lambda: second.ledger.samples_out == 30)
    assert second.bus.sequences() == [0, 1, 2]
    assert (second.ledger.drops, second.balance) == ({}, 0)
    await second.publisher.stop()


async def test_facts_and_changes_wait_on_the_disk_as_well(tmp_path: Path) -> None:
    first = Process(tmp_path, away())
    fact = TopologyFact(Device("leaf1", Role.LEAF), 1, "test")
    change = Change("job_start/7/0", ChangeKind.JOB_START, (objects.job("7"),), 1)
    await first.publisher.start()
    first.publisher.enqueue([change, fact])
    await until(lambda: first.saved().written.events == 2)
    await first.kill()
    second = Process(tmp_path, FlakyBus())
    await second.publisher.start()
    await until(lambda: len(second.bus.calls) == 2)
    (first_topic, facts), (second_topic, changes) = second.bus.calls
    assert (first_topic, second_topic) == (topics.TOPOLOGY, topics.CHANGES)
    assert decode_record(facts[0].value or b"", TopologyFact) == fact
    assert decode_record(changes[0].value or b"", Change) == change
    await second.publisher.stop()


async def test_a_disk_that_fails_is_a_problem_until_it_works(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.write_text("not a folder")
    process = Process(place / "spool", away())
    await process.publisher.start()
    assert "place/spool" in (process.publisher.problem() or "")
    process.feed(0, 1)
    await until(lambda: process.bus.refused)
    process.feed(2)
    assert (process.publisher.queued, process.balance) == (30, 0)
    assert process.publisher.details()["spool_unwritable"] == 1
    place.unlink()
    await until(lambda: process.publisher.problem() is None)
    await until(lambda: process.on_disk() == 30)
    process.bus.unavailable = False
    await until(lambda: process.ledger.samples_out == 30)
    assert process.bus.sequences() == [0, 1, 2]
    assert process.balance == 0
    await process.publisher.stop()


async def test_a_disk_that_does_not_answer_holds_up_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "_OPEN_S", 0.1)
    os.mkfifo(tmp_path / "state")  # reading it does not end until somebody writes to it
    process = Process(tmp_path, FlakyBus())
    await process.publisher.start()
    process.feed(0, 1)
    await until(lambda: process.ledger.samples_out == 20)
    await until(process.publisher.problem)
    assert "has not answered" in (process.publisher.problem() or "")
    async with asyncio.timeout(DEADLINE_S):
        await process.publisher.stop()
    assert (process.publisher.queued, process.balance) == (0, 0)
    os.close(os.open(tmp_path / "state", os.O_WRONLY))


async def test_without_a_disk_the_bus_is_used_and_memory_is_bounded(tmp_path: Path) -> None:
    process = Process(tmp_path, away(), free_bytes_min=1 << 60)
    await process.publisher.start()
    process.feed(0)
    await until(process.publisher.problem)
    assert "free_bytes_min" in (process.publisher.problem() or "")
    process.feed(*range(1, 5))
    process.bus.unavailable = False
    await until(lambda: process.ledger.samples_out == 50)
    assert process.bus.sequences() == list(range(5))
    assert process.balance == 0
    await process.publisher.stop()


def test_a_full_disk_is_got_over_and_nothing_is_lost(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.unit.ingest.spool.full_disk", str(tmp_path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=_ROOT, timeout=DEADLINE_S, check=True)
    fed, published, in_order = done.stdout.splitlines()[-1].split()
    assert int(fed) == int(published) > 2
    assert in_order == b"True"


async def test_what_is_damaged_is_dropped_with_a_reason(tmp_path: Path) -> None:
    first = Process(tmp_path, away())
    await first.publisher.start()
    first.feed(0, 1, 2)
    await until(lambda: first.on_disk() == 30)
    await first.kill()
    segment = path_of(tmp_path, 1)
    segment.write_bytes(segment.read_bytes()[:-1])
    second = Process(tmp_path, FlakyBus())
    await second.publisher.start()
    second.feed(3)
    await until(lambda: second.ledger.samples_out == 30)
    assert second.bus.sequences() == [0, 1, 3]
    assert (second.ledger.drops, second.balance) == ({DropReason.SPOOL_DAMAGED: 10}, 0)
    await second.publisher.stop()


async def test_what_waits_for_too_long_is_dropped_with_a_reason(tmp_path: Path) -> None:
    process = Process(tmp_path, away(), age_max_s=60)
    await process.publisher.start()
    process.feed(0)
    await until(lambda: process.on_disk() == 10)
    process.feed(1)
    await until(lambda: process.on_disk() == 20)
    process.now_ns += 61 * NS_PER_S
    await until(lambda: process.ledger.drops)
    process.bus.unavailable = False
    process.feed(2)
    await until(lambda: process.ledger.samples_out == 20)
    assert process.bus.sequences() == [0, 2]  # the first was under way
    assert (process.ledger.drops, process.balance) == ({DropReason.SPOOL_EXPIRED: 10}, 0)
    assert process.account == TargetAccount(7, 30, 20, 0, {"spool_expired": 10})
    await process.publisher.stop()


async def test_a_full_spool_drops_the_oldest_with_a_reason(tmp_path: Path) -> None:
    process = Process(tmp_path, away(), bytes_max=8 << 20)
    await process.publisher.start()
    rows = 100_000  # of 8 bytes that do not shrink
    for seq in range(16):
        feed(process.publisher, process.ledger, [batch(seq, rows)])
        expected = seq + 1
        await until(lambda: process.saved().written.batches == expected)  # noqa: B023  # it is over before the next
    assert process.publisher.details()["spool_fill"] > 0.8
    assert process.balance == 0
    process.bus.unavailable = False
    await until(lambda: process.publisher.queued == 0)
    dropped = process.ledger.drops[DropReason.SPOOL_FULL] // rows
    assert dropped > 3
    assert process.bus.sequences() == [0, *range(dropped + 1, 16)]  # the first was under way
    assert process.balance == 0
    assert process.account == TargetAccount(7, 16 * rows, (16 - dropped) * rows, 0, {"spool_full": dropped * rows})
    await process.publisher.stop()


async def test_a_spool_of_a_newer_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Process(tmp_path, FlakyBus())
    await first.publisher.start()
    monkeypatch.setattr(state_file, "FORMAT", 2)
    await first.publisher.stop()
    monkeypatch.undo()
    with pytest.raises(ConfigError, match="format 2"):
        await Process(tmp_path, FlakyBus()).publisher.start()


def _metric(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"fabricscope_ingest_{name}", labels) or 0.0
