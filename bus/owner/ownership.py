"""The writing side: a process becomes the owner of the outputs of a role, and notices when another one does.

The bus decides, not the clocks of hosts: whoever announced itself last on the owners topic is the owner.
"""

import asyncio
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from bus.base import Bus, Consumer, Gap, Message, Record
from bus.owner.fence import EPOCH, ROLE
from bus.owner.role import Role
from common.errors import BadInput, ConfigError, Superseded, Unavailable
from telemetry.codec.records import decode_record, encode_record
from telemetry.owner import EPOCH_MAX, Owner
from telemetry.topics import OWNERS, Topic

ANSWER_S = 10.0
_WAIT_S = 0.2
_MARK_KEY = b"owner"  # no id of a finding or incident, no device
log = structlog.get_logger(__name__)


class Ownership:
    """One process's right to publish or send the outputs of one role on one bus. Tasks of the process may share it.

    outputs: topics of which it is the only writer, of one partition, because readers rely on the order within it.
    clock: wall clock in nanoseconds. Epochs begin there, so that they grow also when the bus is replaced by an empty
    one; a clock that is wrong costs nothing else. answer_s: how long to wait for the bus.
    """

    def __init__(
        self,
        bus: Bus,
        role: Role,
        outputs: Sequence[Topic] = (),
        *,
        topic: Topic = OWNERS,
        clock: Callable[[], int] = time.time_ns,
        answer_s: float = ANSWER_S,
    ) -> None:
        assert all(output.partitions == 1 for output in outputs), "a mark is in one partition"
        self.role = role
        self._bus, self._outputs, self._topic, self._clock = bus, outputs, topic, clock
        self._answer_s = answer_s
        self._turn = asyncio.Lock()  # one reader of the topic
        self._token = secrets.token_hex(8)
        self._seen = _Announcements()
        self._consumer: Consumer | None = None

    @property
    def epoch(self) -> int:
        """Of this process; 0 before ``claim``."""
        return self._seen.own.epoch if self._seen.own is not None else 0

    @property
    def is_claimed(self) -> bool:
        """Whether ``claim`` has returned, or nearly. A newer owner changes nothing about that."""
        return self._seen.own_is_newest

    @property
    def headers(self) -> Mapping[str, bytes]:
        """What every output on the bus carries."""
        return {EPOCH: b"%d" % self.epoch, ROLE: self.role.name.encode()}

    async def claim(self) -> None:
        """Returns when this process is the newest owner and every output is marked with its epoch.

        Waits for nobody: an owner before it is replaced. Unavailable when the bus does not answer or takes no record;
        then it may be called again. ConfigError when no epoch is left, which only a foreign record can cause.
        """
        async with self._turn:
            await self._claim()

    async def look(self) -> None:
        """Superseded when a newer owner is known. Reads what is there and waits for nothing."""
        async with self._turn:
            await self._look()

    async def confirm(self) -> None:
        """Returns when this process is known to be the owner still.

        Superseded when it is not, Unavailable when the bus does not say.
        """
        async with self._turn:
            consumer = self._open()
            await self._look()
            if await consumer.behind():
                await self._read_until(lambda: _is_read(consumer))
                await self._look()

    async def stop(self) -> None:
        """Idempotent, safe before ``claim``."""
        if self._consumer is not None:
            await self._consumer.stop()
            self._consumer = None

    async def _claim(self) -> None:
        consumer = self._open()
        await self._read_until(consumer.at_end)
        while not self._seen.own_is_newest:
            await self._announce()
            # The end without it: the topic was replaced meanwhile.
            await self._read_until(lambda: self._own_is_read_or_lost(consumer))
        # A record without a value: older readers pass over it. Behind it nothing of an older owner counts.
        for output in self._outputs:
            await self._bus.publish(output, [Message(_MARK_KEY, None, self.headers)])

    async def _look(self) -> None:
        await self._read(self._open(), 0.0)
        if (successor := self._seen.successor) is not None:
            raise Superseded(
                f"{self.role.stage}: replaced by process {successor.pid} on {successor.host}, which does its work now;"
                f" run one {self.role.name} on one bus"
            )

    def _open(self) -> Consumer:
        if self._consumer is None:
            self._consumer = self._bus.consume([self._topic], {})
        return self._consumer

    async def _read_until(self, done: Callable[[], Awaitable[bool]]) -> None:
        """Unavailable when that takes too long."""
        deadline_s = time.monotonic() + self._answer_s
        while not await done():
            if time.monotonic() > deadline_s:
                raise Unavailable(f"topic {self._topic.name}: {self._bus.problem() or 'cannot be read'}")
            await self._read(self._open(), _WAIT_S)

    async def _own_is_read_or_lost(self, consumer: Consumer) -> bool:
        return self._seen.own_is_there or await consumer.at_end()

    async def _announce(self) -> None:
        epoch = max(self._seen.next_epoch, min(self._clock(), EPOCH_MAX))
        if epoch > EPOCH_MAX:
            raise ConfigError(
                f"topic {self._topic.name}: an epoch of {epoch - 1} leaves no larger one; remove its record"
            )
        role = self.role
        owner = Owner(role.stage, epoch, socket.gethostname(), os.getpid(), self._token, role.digest)
        self._seen.expect(owner)
        await self._bus.publish(self._topic, [Message(role.name.encode(), encode_record(owner))])

    async def _read(self, consumer: Consumer, wait_s: float) -> None:
        try:
            records = await consumer.poll(wait_s=wait_s)
        except Gap as gap:  # the topic was replaced: who announces itself on the new one is newer
            log.warning("gap on the bus", topic=gap.topic, partition=gap.partition, first=gap.first, last=gap.last)
            return
        for record in records:
            owner = _owner_in(record)
            if owner is not None and Role(owner.stage, owner.digest) == self.role:
                self._seen.add(owner)


@dataclass
class _Announcements:
    """Those of one role so far, in the order of the bus.

    newest: largest epoch before ``own``, 0 without one. successor: the last of another process behind ``own``.
    """

    own: Owner | None = None
    own_is_there: bool = False
    newest: int = 0
    successor: Owner | None = None

    @property
    def next_epoch(self) -> int:
        """Larger than all that are known."""
        known = [each.epoch for each in (self.own, self.successor) if each is not None]
        return max([self.newest, *known]) + 1

    @property
    def own_is_newest(self) -> bool:
        """False when another process announced itself in between with an epoch as large."""
        return self.own is not None and self.own_is_there and self.own.epoch > self.newest

    def expect(self, own: Owner) -> None:
        """``own`` is about to be published."""
        self.newest = self.next_epoch - 1
        self.own, self.own_is_there, self.successor = own, False, None

    def add(self, owner: Owner) -> None:
        if owner == self.own:
            self.own_is_there = True
        elif self.own is not None and owner.token == self.own.token:
            return  # an earlier attempt of this process
        elif self.own_is_there:
            self.successor = owner
        else:
            self.newest = max(self.newest, owner.epoch)


async def _is_read(consumer: Consumer) -> bool:
    return not await consumer.behind()


def _owner_in(record: Record) -> Owner | None:
    if record.value is None:
        return None
    try:
        return decode_record(record.value, Owner)
    except BadInput as error:
        log.warning("corrupt record", topic=record.topic, offset=record.offset, reason=error.reason, error=str(error))
        return None
