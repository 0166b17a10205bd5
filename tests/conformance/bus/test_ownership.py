"""How a process becomes the owner of a stage's outputs, and how the others notice, on every engine."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from bus.base import Bus, Message
from bus.config import BusConfig, EmbeddedConfig, KafkaConfig
from bus.owner.fence import OwnerFence
from bus.owner.ownership import Ownership
from bus.owner.role import Role
from common.errors import ConfigError, Superseded, Unavailable
from telemetry.codec.records import encode_record
from telemetry.owner import Owner
from telemetry.topics import Topic
from tests.conformance.bus.reading import everything, fresh_topic, read_until, running
from tests.servers.process import free_port

Claim = Callable[..., Awaitable[Ownership]]


@pytest.fixture
def owners() -> Topic:
    return fresh_topic(compacted=True)


@pytest.fixture
def outputs() -> list[Topic]:
    return [fresh_topic(compacted=True), fresh_topic()]


@pytest.fixture
async def claim(bus: Bus, owners: Topic, outputs: list[Topic]) -> AsyncIterator[Claim]:
    claimed = []

    async def new(now_ns: int = 1000, stage: str = "analytics", digest: str = "") -> Ownership:
        one = Ownership(bus, Role(stage, digest), outputs, topic=owners, clock=lambda: now_ns)
        claimed.append(one)
        await one.claim()
        return one

    yield new
    for one in claimed:
        await one.stop()
        await one.stop()


async def test_the_newest_owner_goes_on_and_the_one_before_ends(bus: Bus, claim: Claim) -> None:
    first = await claim()
    await first.confirm()
    second = await claim()
    await second.confirm()
    for asked in (first.confirm, first.look):
        with pytest.raises(Superseded, match=r"analytics: replaced by process \d+ on "):
            await asked()
    third = await claim()  # as a restart does, without any wait
    await third.confirm()
    with pytest.raises(Superseded):
        await second.confirm()


@pytest.mark.parametrize("times_ns", [(1000, 1000, 1000), (3000, 2000, 1), (1, 2, 3000), (2**63 - 9, 0, 5)])
async def test_epochs_grow_whatever_the_clocks_of_hosts_say(claim: Claim, times_ns: tuple[int, ...]) -> None:
    epochs = [(await claim(now_ns)).epoch for now_ns in times_ns]
    assert epochs == sorted(set(epochs))


async def test_several_that_start_at_once_leave_one(claim: Claim, bus: Bus, outputs: list[Topic]) -> None:
    owners = await asyncio.gather(*(claim(now_ns) for now_ns in (5, 5, 1000, 7)))
    assert len({each.epoch for each in owners}) == len(owners)
    asked = await asyncio.gather(*(each.confirm() for each in owners), return_exceptions=True)
    assert [answer for answer in asked if answer is None] == [None]
    (left,) = (each for each, answer in zip(owners, asked, strict=True) if answer is None)
    assert left.epoch == max(each.epoch for each in owners)
    fence = OwnerFence()
    for topic in outputs:
        await bus.publish(topic, [Message(b"i1", b"{}", left.headers)])
        *_, last = [fence.admits(record) for record in await everything(bus, topic)]
        assert last


async def test_owners_of_other_roles_do_not_matter(claim: Claim) -> None:
    first = await claim()
    await claim(stage="other")
    await claim(digest="0f")
    await first.confirm()


async def test_readers_drop_what_a_replaced_owner_publishes_and_keep_what_it_did_publish(
    bus: Bus, claim: Claim, outputs: list[Topic]
) -> None:
    first = await claim()
    for topic in outputs:
        await bus.publish(topic, [Message(b"i1", b"before", first.headers)])
    second = await claim()
    for topic in outputs:
        await bus.publish(topic, [Message(b"i2", b"stale", first.headers), Message(b"i3", b"older version")])
        await bus.publish(topic, [Message(b"i1", b"after", second.headers)])
    fence = OwnerFence()
    for topic in outputs:
        records = [record for record in await everything(bus, topic) if fence.admits(record)]
        assert [each.value for each in records if each.value] == [b"before", b"older version", b"after"]


async def test_a_claim_says_nothing_about_the_past_to_who_reads_later(
    bus: Bus, claim: Claim, outputs: list[Topic]
) -> None:
    """What was published by an owner is good, also for a reader that was away when it was replaced."""
    first = await claim()
    await bus.publish(outputs[0], [Message(b"i1", b"firing", first.headers)])
    second = await claim()
    reader = bus.consume([outputs[0]], {})
    records = await read_until(reader, lambda records: len(records) >= 3)
    fence = OwnerFence()
    assert [record.value for record in records if fence.admits(record)] == [None, b"firing", None]
    assert fence.newest == {(outputs[0].name, 0, "analytics"): second.epoch}


async def test_what_is_not_an_announcement_is_passed_over(bus: Bus, claim: Claim, owners: Topic) -> None:
    await bus.publish(owners, [Message(b"analytics", b"{}"), Message(b"analytics", None)])
    first = await claim()
    await bus.publish(owners, [Message(b"analytics", b"nonsense")])
    await first.confirm()


async def test_a_foreign_record_that_leaves_no_epoch_is_named(bus: Bus, claim: Claim, owners: Topic) -> None:
    last = Owner("analytics", 2**63 - 1, "elsewhere", 1, "f00d")
    await bus.publish(owners, [Message(b"analytics", encode_record(last))])
    with pytest.raises(ConfigError, match=owners.name):
        await claim()


async def test_a_bus_that_is_away_is_unavailable(config: BusConfig, owners: Topic, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kafka = KafkaConfig(bootstrap=(f"127.0.0.1:{free_port()}",))
    nowhere = config.model_copy(
        update={"embedded": EmbeddedConfig(path=tmp_path / "file" / "bus.sqlite"), "kafka": kafka}
    )
    async with running(nowhere) as bus:
        claiming = Ownership(bus, Role("analytics"), topic=owners, answer_s=0.3)
        for asked in (claiming.claim, claiming.confirm):
            with pytest.raises(Unavailable, match=owners.name):
                await asked()
        await claiming.stop()
