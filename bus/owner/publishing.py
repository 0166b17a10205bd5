"""Publishing as the owner of a role, for a stage that shares its topics with other roles."""

from collections.abc import Sequence

import structlog

from bus.base import Bus, Message
from bus.owner.fence import EPOCH, ROLE
from bus.owner.ownership import Ownership
from telemetry.topics import Topic

log = structlog.get_logger(__name__)


class OwnedPublishing:
    """``publish`` as that of the bus, by the owner alone. The first call replaces an owner before this process."""

    def __init__(self, bus: Bus, ownership: Ownership) -> None:
        self._bus, self._ownership = bus, ownership

    async def publish(self, topic: Topic, messages: Sequence[Message]) -> None:
        """Asks each time whether it still may, as an attempt may come long after the one before.

        The messages carry the epoch that is the owner's now, however old they are. Superseded when another process
        has taken over; else as ``Bus.publish``.
        """
        if self._ownership.is_claimed:
            await self._ownership.confirm()
        else:
            await self._ownership.claim()
            log.info("owns what it publishes", role=self._ownership.role.name, epoch=self._ownership.epoch)
        headers = self._ownership.headers
        stamped = [Message(each.key, each.value, {**each.headers, **headers}) for each in messages]
        await self._bus.publish(topic, stamped)

    async def stop(self) -> None:
        """Idempotent, safe before the first call."""
        await self._ownership.stop()


def without_owner(message: Message) -> Message:
    """The message as one that no owner publishes: a person does, who may do so after a change of owners."""
    headers = {name: value for name, value in message.headers.items() if name not in (EPOCH, ROLE)}
    return Message(message.key, message.value, headers)
