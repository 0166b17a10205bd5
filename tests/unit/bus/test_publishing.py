"""Publishing to a bus that is away for a while."""

from collections.abc import Sequence
from functools import partial

import pytest

from bus.base import Message
from bus.publishing import publish_with_retry
from common.errors import BadInput, Unavailable
from telemetry import topics
from telemetry.topics import Topic

MESSAGES = [Message(b"leaf1", b"1")]


class Flaky:
    """A bus that raises what its script says, and accepts everything after that."""

    def __init__(self, *script: Exception) -> None:
        self.script, self.accepted, self.failures = list(script), list[Message](), list[Exception]()

    async def publish(self, topic: Topic, messages: Sequence[Message]) -> None:
        if self.script:
            raise self.script.pop(0)
        self.accepted += messages


async def published(bus: Flaky) -> None:
    await publish_with_retry(partial(bus.publish, topics.FINDINGS, MESSAGES), failed=bus.failures.append, most_s=0.001)


async def test_a_bus_that_is_away_gets_it_once_it_is_back():
    away = [Unavailable("no broker"), Unavailable("still none")]
    bus = Flaky(*away)
    await published(bus)
    assert (bus.accepted, bus.failures) == (MESSAGES, away)


async def test_what_the_bus_refuses_for_good_is_raised():
    bus = Flaky(Unavailable("away"), BadInput("too large", "too_large"))
    with pytest.raises(BadInput):
        await published(bus)
    assert bus.accepted == []
