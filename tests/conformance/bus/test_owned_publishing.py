"""Records of a stage that shares its topics: who published them, and who may not any more."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from bus.base import Bus, Message
from bus.owner.fence import EPOCH, ROLE, OwnerFence
from bus.owner.ownership import Ownership
from bus.owner.publishing import OwnedPublishing, without_owner
from bus.owner.role import Role
from common.errors import Superseded
from telemetry.topics import Topic
from tests.conformance.bus.reading import read_until


@pytest.fixture
async def publishing(bus: Bus) -> AsyncIterator[list[OwnedPublishing]]:
    """Two processes of one role, and one of another."""
    owners = Topic(f"t.owners.{uuid4().hex}", compacted=True)
    roles = (Role("ingest", "0a"), Role("ingest", "0a"), Role("ingest", "0b"))
    made = [OwnedPublishing(bus, Ownership(bus, role, topic=owners)) for role in roles]
    yield made
    for each in made:
        await each.stop()


async def test_the_first_call_replaces_the_one_before_and_others_go_on(
    bus: Bus, publishing: list[OwnedPublishing]
) -> None:
    topic = Topic(f"t.samples.{uuid4().hex}")
    first, second, other = publishing
    await first.publish(topic, [Message(b"a", b"1", {"digest": b"7"})])
    await other.publish(topic, [Message(b"b", b"2")])
    await second.publish(topic, [Message(b"a", b"3")])
    with pytest.raises(Superseded, match=r"ingest: replaced by process \d+ on .*; run one ingest-0a on one bus"):
        await first.publish(topic, [Message(b"a", b"stale")])
    await other.publish(topic, [Message(b"b", b"4")])
    records = await read_until(bus.consume([topic], {}), lambda records: len(records) >= 4)
    assert [record.value for record in records] == [b"1", b"2", b"3", b"4"]
    assert [record.headers[ROLE] for record in records] == [b"ingest-0a", b"ingest-0b"] * 2
    assert records[0].headers["digest"] == b"7"
    assert int(records[0].headers[EPOCH]) < int(records[2].headers[EPOCH])
    fence = OwnerFence()
    assert all(fence.admits(record) for record in records)
    late = Message(b"a", b"late", dict(records[0].headers))
    await bus.publish(topic, [late, without_owner(late)])
    records = await read_until(bus.consume([topic], {}), lambda records: len(records) >= 6)
    assert [fence.admits(record) for record in records[4:]] == [False, True]
    assert records[5].headers == {"digest": b"7"}
