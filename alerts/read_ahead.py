"""Finds the critical incidents of a backlog before their turn comes.

A backlog is decided on in the order of the bus, some ten thousand incidents a second. To look for the word of a
critical one is ten times as fast, so a second reader of the topic does that, and hands over what it finds. The stage
comes by the same records again in their order, and knows them by then: the position on the bus does not move for this.
"""

import asyncio
from itertools import islice

import orjson

from bus.base import Bus, Consumer, Gap, Offsets, Record
from bus.owner.fence import Epochs, OwnerFence
from bus.quarantine.notes import KEPT_MAX
from bus.quarantine.quarantine import Quarantine
from telemetry.incidents import Severity
from telemetry.topics import Topic

AT_ONCE_MAX = KEPT_MAX
"""Of a round: the quarantine keeps a note of each."""
# As our codec writes it. Another incident that has it in a text comes early too, which harms nobody.
_CRITICAL = b'"severity":' + orjson.dumps(Severity.CRITICAL)
_RECORDS_PER_POLL = 5000
# What may be found and not be taken yet: each of them a page, of which the budget allows some twenty
_FOUND_MAX = 1000
# Records read before what was found is handed over: some two seconds. Without an end to come first, no page is sent for
# what is over further on.
_HANDED_OVER_AFTER = 100_000
_SUSPECTS_S = 1.0


class ReadAhead:
    """Reads the topic from ``start`` to its end while ``run`` runs. epochs: the newest owners up to there.

    Nothing is read ahead while there are suspects of a crash, which are worked on one at a time and in order.
    """

    def __init__(self, bus: Bus, topic: Topic, start: Offsets, epochs: Epochs, quarantine: Quarantine) -> None:
        self._bus, self._topic, self._start, self._quarantine = bus, topic, start, quarantine
        self._fence = OwnerFence(epochs)
        self._found: dict[bytes, Record] = {}
        self._unfinished = 0
        self._room = asyncio.Event()

    def take(self, read: Offsets) -> list[Record]:
        """The newest versions of critical incidents from ``read`` on, at most ``AT_ONCE_MAX``; each is given once."""
        if self._unfinished:
            return []
        known = [key for key, each in self._found.items() if each.offset < read.get((each.topic, each.partition), 0)]
        for key in known:
            del self._found[key]
        taken = list(islice(self._found, AT_ONCE_MAX))
        self._room.set()
        return [self._found.pop(key) for key in taken]

    async def run(self) -> None:
        """Until it is cancelled."""
        reader = self._quarantine.guard(self._bus.consume([self._topic], self._start))
        try:
            while True:
                if self._quarantine.has_suspects():
                    await asyncio.sleep(_SUSPECTS_S)
                else:
                    await self._read(reader)
        finally:
            await reader.stop()

    async def _read(self, reader: Consumer) -> None:
        try:
            records = await reader.poll(records_max=_RECORDS_PER_POLL)
        except Gap as gap:
            self._fence.forget((gap.topic, gap.partition))
            return
        for record in records:
            if self._fence.admits(record):
                self._look_at(record)
        self._unfinished += len(records)
        at_end = len(records) < _RECORDS_PER_POLL
        if at_end or self._unfinished >= _HANDED_OVER_AFTER or len(self._found) >= _FOUND_MAX:
            self._unfinished = 0
        while len(self._found) >= _FOUND_MAX:
            self._room.clear()
            await self._room.wait()

    def _look_at(self, record: Record) -> None:
        """A newer version takes the place of the one before, also when it is over by then."""
        if record.value is not None and (record.key in self._found or _CRITICAL in record.value):
            self._found.pop(record.key, None)
            self._found[record.key] = record
