"""Publishing while a broker learns of new rights and passwords, of which there is no event."""

import asyncio

from bus.base import Bus, Message
from common.errors import Unauthorized, Unavailable
from telemetry.topics import Topic
from tests.waiting import DEADLINE_S

_MESSAGE = Message(b"leaf1", b"")


async def refusal(bus: Bus, topic: Topic) -> str:
    """Publishes until that is refused; why it is."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            try:
                await bus.publish(topic, [_MESSAGE])
            except Unauthorized as error:
                return str(error)
            except Unavailable:
                continue  # it was on its way when the broker ended


async def published(bus: Bus, topic: Topic) -> None:
    """Returns when a message was taken."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            try:
                return await bus.publish(topic, [_MESSAGE])
            except Unavailable:
                await asyncio.sleep(0.1)
