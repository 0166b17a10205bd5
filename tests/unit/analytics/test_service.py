"""The service on a real embedded bus: what it publishes, how it restarts, what it does with records it cannot read."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from analytics.config import AnalyticsConfig
from analytics.service import AnalyticsService
from bus.base import Bus, Consumer, Message, Offsets, Record
from bus.owner.fence import EPOCH
from common.errors import ConfigError, Superseded
from telemetry import topics
from telemetry.codec.batch import encode_batch
from telemetry.codec.records import decode_record, encode_record
from telemetry.findings import Finding
from telemetry.incidents import Incident
from telemetry.ledger import StageReport
from telemetry.topics import Topic
from tests.unit.analytics.busy_cluster import CHANGES, FACTS, batches, new_engine
from tests.unit.analytics.small_cluster import CONFIG, run
from tests.unit.traffic import publish_batches
from tests.waiting import DEADLINE_S, until

BATCHES = batches()
Published = dict[str, set[bytes]]


@asynccontextmanager
async def running_service(folder: Path, bus: Bus) -> AsyncIterator[AnalyticsService]:
    config = AnalyticsConfig(engine=CONFIG, state_dir=folder / "state", report_every_s=0.1)
    service = AnalyticsService(config, bus)
    await service.start()
    try:
        yield service
    finally:
        await service.stop()


async def publish_facts(bus: Bus) -> None:
    facts = [Message(fact.entity.key.encode(), encode_record(fact)) for fact in FACTS]
    await bus.publish(topics.TOPOLOGY, facts)
    await bus.publish(topics.CHANGES, [Message(change.id.encode(), encode_record(change)) for change in CHANGES])


async def everything_on(bus: Bus, topic: Topic) -> list[bytes]:
    """Values of all records of a topic."""
    reader, values = bus.consume([topic], {}), list[bytes]()
    try:
        while not await reader.at_end():
            values += [record.value for record in await reader.poll(wait_s=0.1) if record.value is not None]
    finally:
        await reader.stop()
    return values


async def newest_report(bus: Bus) -> StageReport | None:
    values = await everything_on(bus, topics.LEDGER)
    return decode_record(values[-1], StageReport) if values else None


def all_seen(bus: Bus, samples: int) -> Callable[[], Awaitable[bool]]:
    async def seen() -> bool:
        report = await newest_report(bus)
        return report is not None and report.samples_in >= samples

    return seen


SAMPLES = sum(map(len, BATCHES))


def expected() -> tuple[list[bytes], list[bytes]]:
    engine = new_engine()
    engine.add_facts(FACTS)
    for change in CHANGES:
        engine.add_change(change)
    outputs = run(engine, BATCHES)
    findings = [encode_record(output) for output in outputs if isinstance(output, Finding)]
    return findings, [encode_record(output) for output in outputs if isinstance(output, Incident)]


async def test_findings_and_incidents_are_those_of_the_engine(bus: Bus, tmp_path: Path) -> None:
    await publish_facts(bus)
    await publish_batches(bus, *BATCHES)  # a backlog on four partitions, one after the other
    async with running_service(tmp_path, bus):
        await until(all_seen(bus, SAMPLES))
    findings, incidents = expected()
    assert await everything_on(bus, topics.FINDINGS) == findings
    assert await everything_on(bus, topics.INCIDENTS) == incidents
    report = await newest_report(bus)
    assert report is not None
    assert report.balance == 0
    assert (report.details["lag_records"], report.details["catch_up_seconds"]) == (0.0, 0.0)


async def test_a_restart_goes_on_where_the_snapshot_stood(bus: Bus, tmp_path: Path) -> None:
    half = len(BATCHES) // 2
    await publish_facts(bus)
    await publish_batches(bus, *BATCHES[:half])
    async with running_service(tmp_path, bus):
        await until(all_seen(bus, sum(map(len, BATCHES[:half]))))
    await publish_batches(bus, *BATCHES[half:])
    async with running_service(tmp_path, bus):
        await until(all_seen(bus, SAMPLES))
    findings, incidents = expected()
    assert await everything_on(bus, topics.FINDINGS) == findings
    assert await everything_on(bus, topics.INCIDENTS) == incidents


async def test_a_restart_without_snapshot_publishes_the_same_again(bus: Bus, tmp_path: Path) -> None:
    await publish_facts(bus)
    await publish_batches(bus, *BATCHES)
    for generation in range(2):
        async with running_service(tmp_path / str(generation), bus) as service:

            async def reported(service: AnalyticsService = service) -> bool:
                """After what was found is published: a stop in between would leave that to the next start."""
                report = await newest_report(bus)
                if report is None or report.epoch_ns != service.worker.mark.epoch_ns:
                    return False
                return report.samples_in >= SAMPLES

            await until(reported)
    findings, _ = expected()
    assert await everything_on(bus, topics.FINDINGS) == findings * 2


async def test_a_corrupt_record_goes_aside_and_the_rest_goes_on(bus: Bus, tmp_path: Path) -> None:
    value, headers = encode_batch(BATCHES[0])
    damaged = bytes([*value[:-1], value[-1] ^ 1])
    await bus.publish(topics.SAMPLES, [Message(b"node0", damaged, headers), Message(b"node0", b"nonsense")])
    await bus.publish(topics.TOPOLOGY, [Message(b"x", b"{}")])
    await publish_batches(bus, *BATCHES)
    async with running_service(tmp_path, bus):
        await until(all_seen(bus, SAMPLES))
    assert sorted(await everything_on(bus, topics.DEADLETTER)) == sorted([b"{}", b"nonsense", damaged])
    report = await newest_report(bus)
    assert report is not None
    assert report.details["records_corrupt"] == 3


async def test_drops_survive_a_restart_and_reach_the_ledger(bus: Bus, tmp_path: Path) -> None:
    await publish_batches(bus, *BATCHES[40:], BATCHES[0])
    for _ in range(2):
        async with running_service(tmp_path, bus):
            await until(all_seen(bus, sum(map(len, BATCHES[40:])) + len(BATCHES[0])))
    report = await newest_report(bus)
    assert report is not None
    assert report.dropped == {"late": len(BATCHES[0])}
    assert report.balance == 0


async def test_a_damaged_snapshot_starts_the_state_again(bus: Bus, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "analytics.snapshot").write_bytes(b"FSS2 and then nothing good")
    await publish_batches(bus, *BATCHES[:20])
    async with running_service(tmp_path, bus):
        await until(all_seen(bus, sum(map(len, BATCHES[:20]))))


async def test_stop_is_safe_before_start_and_twice(bus: Bus, tmp_path: Path) -> None:
    service = AnalyticsService(AnalyticsConfig(state_dir=tmp_path), bus)
    await service.stop()
    await service.start()
    await service.stop()
    await service.stop()


async def test_one_process_at_a_time_for_a_state_folder(bus: Bus, tmp_path: Path) -> None:
    first, second = (AnalyticsService(AnalyticsConfig(state_dir=tmp_path / "s"), bus) for _ in range(2))
    await first.start()
    with pytest.raises(ConfigError, match=r"analytics.state_dir .*/s: process \d+ on .* uses it"):
        await second.start()
    await second.stop()
    await first.stop()
    await second.start()
    await second.stop()


async def test_a_newer_owner_ends_the_one_before_and_says_so(bus: Bus, tmp_path: Path) -> None:
    await publish_facts(bus)
    await publish_batches(bus, *BATCHES[:20])
    async with running_service(tmp_path / "old", bus) as old:
        await until(all_seen(bus, sum(map(len, BATCHES[:20]))))
        async with running_service(tmp_path / "new", bus) as new:
            with pytest.raises(Superseded, match=r"analytics: replaced by process \d+ on "):
                async with asyncio.timeout(DEADLINE_S):
                    await old.wait()
            assert "replaced by process" in str(old.problem())
            await publish_batches(bus, *BATCHES[20:])
            await until(all_seen(bus, SAMPLES))
            assert new.problem() is None
    _, incidents = expected()
    newest = {decode_record(value, Incident).id: value for value in incidents}
    found = await everything_on(bus, topics.INCIDENTS)
    assert {decode_record(value, Incident).id: value for value in found} == newest


class StandsStillBeforePolling:
    """A bus whose reader of samples stands still once as it begins to poll, while others publish."""

    def __init__(self, bus: Bus, meanwhile: Callable[[], Awaitable[None]]) -> None:
        self._bus, self._meanwhile = bus, meanwhile
        self.armed = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._bus, name)

    def consume(self, read: Sequence[Topic], start: Offsets) -> Consumer:
        consumer = self._bus.consume(read, start)
        if topics.SAMPLES in read:
            poll = consumer.poll

            async def poll_later(*, records_max: int = 1000, wait_s: float = 0.5) -> list[Record]:
                if self.armed:
                    self.armed = False
                    await self._meanwhile()
                return await poll(records_max=records_max, wait_s=wait_s)

            consumer.poll = poll_later  # type: ignore[method-assign]
        return consumer


async def test_what_explains_samples_is_known_also_when_both_came_in_a_standstill(bus: Bus, tmp_path: Path) -> None:
    async def meanwhile() -> None:
        await publish_facts(bus)
        await publish_batches(bus, *BATCHES)

    stands_still = StandsStillBeforePolling(bus, meanwhile)
    stands_still.armed = True
    async with running_service(tmp_path, stands_still):  # type: ignore[arg-type]  # it hands on all else
        await until(all_seen(bus, SAMPLES))
    findings, incidents = expected()
    assert await everything_on(bus, topics.FINDINGS) == findings
    assert await everything_on(bus, topics.INCIDENTS) == incidents


async def test_outputs_carry_the_epoch_of_their_owner(bus: Bus, tmp_path: Path) -> None:
    await publish_facts(bus)
    await publish_batches(bus, *BATCHES)
    async with running_service(tmp_path, bus):
        await until(all_seen(bus, SAMPLES))
    reader = bus.consume([topics.FINDINGS, topics.INCIDENTS, topics.LEDGER, topics.STARVATION, topics.TRENDS], {})
    epochs: dict[str, set[bytes]] = {}
    while not await reader.at_end():
        for record in await reader.poll(wait_s=0.1):
            epochs.setdefault(record.topic, set()).add(record.headers[EPOCH])
    await reader.stop()
    assert len(epochs) == 5
    assert len(set.union(*epochs.values())) == 1
