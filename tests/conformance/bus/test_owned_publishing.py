"""Records of a stage that shares its topics: who published them, and who may not any more."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from bus.base import Bus, Message
from bus.owner.fence import EPOCH, ROLE, OwnerFence
from bus.owner.ownership import Ownership
from bus.owner.publishing import OwnedPublishing, without_owner
from bus.owner.role import Role
from common.errors import Superseded
from telemetry.topics import Topic
from tests.conformance.bus.reading import everything, fresh_topic
from tests.waiting import DEADLINE_S


@pytest.fixture
async def publishing(bus: Bus) -> AsyncIterator[list[OwnedPublishing]]:
    """Two processes of one role, and one of another."""
    owners = fresh_topic(compacted=True)
    roles = (Role("ingest", "0a"), Role("ingest", "0a"), Role("ingest", "0b"))
    made = [OwnedPublishing(bus, Ownership(bus, role, topic=owners)) for role in roles]
    yield made
    for each in made:
        await each.stop()


async def until_refused(publishing: OwnedPublishing, topic: Topic) -> None:
    """What comes meanwhile is stale: a process that did not stand still learns of a newer one as of any record."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            await publishing.publish(topic, [Message(b"a", b"stale")])


async def test_the_first_call_replaces_the_one_before_and_others_go_on(
    bus: Bus, publishing: list[OwnedPublishing]
) -> None:
    topic = fresh_topic()
    first, second, other = publishing
    await first.publish(topic, [Message(b"a", b"1", {"digest": b"7"})])
    await other.publish(topic, [Message(b"b", b"2")])
    await second.publish(topic, [Message(b"a", b"3")])
    with pytest.raises(Superseded, match=r"ingest: replaced by process \d+ on .*; run one ingest-0a on one bus"):
        await until_refused(first, topic)
    await other.publish(topic, [Message(b"b", b"4")])
    records = await everything(bus, topic)
    fence = OwnerFence()
    admitted = [record for record in records if fence.admits(record)]
    assert [record.value for record in admitted] == [b"1", b"2", b"3", b"4"]
    assert {record.value for record in records if record not in admitted} <= {b"stale"}
    assert [record.headers[ROLE] for record in admitted] == [b"ingest-0a", b"ingest-0b"] * 2
    assert admitted[0].headers["digest"] == b"7"
    assert int(admitted[0].headers[EPOCH]) < int(admitted[2].headers[EPOCH])


async def test_what_a_person_publishes_again_is_of_no_owner(bus: Bus, publishing: list[OwnedPublishing]) -> None:
    topic = fresh_topic()
    await publishing[0].publish(topic, [Message(b"a", b"1", {"digest": b"7"})])
    await publishing[1].publish(topic, [Message(b"a", b"2")])
    (old, _) = await everything(bus, topic)
    late = Message(b"a", b"late", dict(old.headers))
    await bus.publish(topic, [late, without_owner(late)])
    fence = OwnerFence()
    records = await everything(bus, topic)
    assert [fence.admits(record) for record in records] == [True, True, False, True]
    assert records[-1].headers == {"digest": b"7"}
