"""From the collectors to the bus, also when the bus is away."""

import asyncio

import pytest
from structlog.testing import capture_logs

from ingest.config import PublishConfig
from ingest.ledger import DropReason, Ledger
from ingest.publish import Publisher
from telemetry import objects, topics
from telemetry.changes import Change, ChangeKind
from telemetry.codec.records import decode_record
from telemetry.topology import Device, Job, Role, TopologyFact
from tests.unit.ingest.flaky_bus import FlakyBus, batch, feed
from tests.waiting import DEADLINE_S, until


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(0)


async def test_batches_are_published_in_few_calls_and_in_order(ledger: Ledger) -> None:
    bus = FlakyBus()
    publisher = Publisher(PublishConfig(), bus, ledger)
    await publisher.start()
    feed(publisher, ledger, [batch(seq) for seq in range(50)])
    await until(lambda: ledger.samples_out == 500)
    assert bus.sequences() == list(range(50))
    assert len(bus.calls) == 1
    assert {message.key for message in bus.calls[0][1]} == {b"node1"}
    await publisher.stop()


async def test_batches_queued_while_the_bus_is_unavailable_are_published_later(ledger: Ledger) -> None:
    bus = FlakyBus()
    bus.unavailable = True
    publisher = Publisher(PublishConfig(), bus, ledger)
    await publisher.start()
    feed(publisher, ledger, [batch(seq) for seq in range(5)])
    await until(lambda: bus.refused > 0)
    feed(publisher, ledger, [batch(seq) for seq in range(5, 8)])
    assert ledger.report("i", 0, publisher.queued, {}).balance == 0
    assert (ledger.unaccounted, ledger.account("job/a:1").held) == (0, publisher.queued)
    bus.unavailable = False
    await until(lambda: ledger.samples_out == 80)
    assert bus.sequences() == list(range(8))
    assert publisher.queued == 0
    await publisher.stop()


async def test_a_failed_call_is_logged_with_its_error(ledger: Ledger) -> None:
    bus = FlakyBus()
    bus.unavailable = True
    publisher = Publisher(PublishConfig(), bus, ledger)
    with capture_logs() as logged:
        await publisher.start()
        feed(publisher, ledger, [batch(0), batch(1)])
        await until(lambda: logged)
    bus.unavailable = False
    await publisher.stop()
    assert (logged[0]["event"], logged[0]["messages"], logged[0]["error"]) == (
        "publishing failed and is repeated",
        2,
        "test",
    )


async def test_a_full_queue_drops_the_oldest_and_counts_it(ledger: Ledger) -> None:
    bus = FlakyBus()
    publisher = Publisher(PublishConfig(queue_samples_max=30), bus, ledger)
    feed(publisher, ledger, [batch(seq) for seq in range(10)])
    assert ledger.drops == {DropReason.QUEUE_FULL: 70}
    assert ledger.report("i", 0, publisher.queued, {}).balance == 0
    assert (ledger.unaccounted, ledger.account("job/a:1").held) == (0, publisher.queued)
    await publisher.start()
    await until(lambda: ledger.samples_out == 30)
    assert bus.sequences() == [7, 8, 9]
    await publisher.stop()


async def test_a_batch_above_the_bus_limit_is_dropped_and_counted(ledger: Ledger) -> None:
    bus = FlakyBus()
    publisher = Publisher(PublishConfig(), bus, ledger)
    await publisher.start()
    feed(publisher, ledger, [batch(0, rows=700_000), batch(1)])
    await until(lambda: ledger.samples_out == 10)
    assert ledger.drops == {DropReason.TOO_LARGE: 700_000}
    assert ledger.report("i", 0, publisher.queued, {}).balance == 0
    assert (ledger.unaccounted, ledger.account("job/a:1").held) == (0, publisher.queued)
    await publisher.stop()


async def test_of_the_queued_facts_with_one_key_the_newest_is_published(ledger: Ledger) -> None:
    bus = FlakyBus()
    publisher = Publisher(PublishConfig(), bus, ledger)
    facts = [TopologyFact(Device(name, Role.LEAF), at, "test") for at, name in enumerate(["leaf1", "leaf2", "leaf1"])]
    publisher.enqueue(facts[:2])
    publisher.enqueue(facts[2:])
    await publisher.start()
    await until(lambda: bool(bus.calls))
    ((topic, messages),) = bus.calls
    assert topic is topics.TOPOLOGY
    assert [message.key for message in messages] == [b"device/leaf2", b"device/leaf1"]
    assert [decode_record(message.value or b"", TopologyFact) for message in messages] == facts[1:]
    await publisher.stop()


async def test_changes_follow_the_facts_about_their_objects(ledger: Ledger) -> None:
    bus = FlakyBus()
    publisher = Publisher(PublishConfig(), bus, ledger)
    job = TopologyFact(Job("7", ("node1",)), 1, "slurm")
    begun = Change("job_start/7/0", ChangeKind.JOB_START, (objects.job("7"),), 1)
    publisher.enqueue([begun, job])
    await publisher.start()
    await until(lambda: len(bus.calls) == 2)
    (first, facts), (second, changes) = bus.calls
    assert (first, second) == (topics.TOPOLOGY, topics.CHANGES)
    assert decode_record(facts[0].value or b"", TopologyFact) == job
    assert (changes[0].key, decode_record(changes[0].value or b"", Change)) == (b"job_start/7/0", begun)
    await publisher.stop()


async def test_stop_flushes_what_is_queued(ledger: Ledger) -> None:
    bus = FlakyBus()
    publisher = Publisher(PublishConfig(linger_s=0.2), bus, ledger)
    await publisher.start()
    feed(publisher, ledger, [batch(0)])
    await publisher.stop()
    await publisher.stop()
    assert bus.sequences() == [0]


async def test_stop_ends_in_time_when_the_bus_stays_unavailable(ledger: Ledger) -> None:
    bus = FlakyBus()
    bus.unavailable = True
    publisher = Publisher(PublishConfig(), bus, ledger)
    await publisher.start()
    feed(publisher, ledger, [batch(0)])
    async with asyncio.timeout(DEADLINE_S):
        await publisher.stop()
    assert publisher.queued == 10
