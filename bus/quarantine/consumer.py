"""A consumer that leaves out quarantined records, and gives suspects one at a time."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from bus.base import Consumer, Record, TopicPartition
from bus.quarantine.notes import Notes, place_of
from common.errors import Unavailable


class GuardedConsumer:
    """``Consumer`` around another one. notes: those of now. put_aside: what happens to a quarantined record, once."""

    def __init__(
        self, consumer: Consumer, notes: Callable[[], Notes], put_aside: Callable[[Record], Awaitable[None]]
    ) -> None:
        self._consumer, self._notes, self._put_aside = consumer, notes, put_aside
        self._held: deque[Record] = deque()

    async def poll(self, *, records_max: int = 1000, wait_s: float = 0.5) -> list[Record]:
        """Takes as long as a publish where a quarantined record is put aside."""
        if not self._held:
            records = await self._consumer.poll(records_max=records_max, wait_s=wait_s)
            notes = self._notes()
            if not (notes.suspects or notes.quarantined):
                return records
            self._held.extend(records)
        try:
            await self._drop_quarantined()
        except Unavailable:  # it is put aside before what comes behind it is read
            await asyncio.sleep(wait_s)
            return []
        return self._pop(records_max)

    async def _drop_quarantined(self) -> None:
        while self._held and self._notes().quarantine(self._held[0]):
            if place_of(self._held[0]) not in self._notes().put_aside:
                await self._put_aside(self._held[0])
            self._held.popleft()

    def _pop(self, records_max: int) -> list[Record]:
        notes, records = self._notes(), list[Record]()
        while self._held and len(records) < records_max:
            suspect = notes.suspect(self._held[0])
            if records and (suspect or notes.quarantine(self._held[0])):
                break
            records.append(self._held.popleft())
            if suspect:
                break
        return records

    async def at_end(self) -> bool:
        return not self._held and await self._consumer.at_end()

    async def behind(self) -> set[TopicPartition]:
        held = {(record.topic, record.partition) for record in self._held}
        return held | await self._consumer.behind()

    async def lag(self) -> int:
        return len(self._held) + await self._consumer.lag()

    async def stop(self) -> None:
        await self._consumer.stop()
