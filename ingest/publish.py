"""From collectors to the bus: batches of calls, and bridges times in which the bus is unavailable.

One group of messages is under way at a time; the next ones wait in the order in which they came: first those in the
spool, then one group in memory, then what is not encoded yet. Nothing touches the disk while the bus takes each group
within ``after_s``. Once it does not, the group under way goes to the spool, and all others go behind it until the
spool is empty again.
"""

import asyncio
import time
from collections.abc import Callable

import structlog

from common.threads import OneThread
from ingest.collectors.base import Clock, CollectorOutput
from ingest.config import PublishConfig
from ingest.ledger import DropReason, Ledger
from ingest.metrics import SAMPLES_QUEUED
from ingest.outgoing import encode_batches, encode_events
from ingest.output_queue import OutputQueue
from ingest.publishing import PublishingBus, publish_records
from ingest.spool.spool import Group, Spool

log = structlog.get_logger("ingest")
_FLUSH_S, _STOP_S = 3.0, 15.0
_SPOOL_INTERVAL_S = 0.05  # how long samples are in memory alone while all go to the disk
_STOP_INTERVAL_S = 0.5  # how often to look whether to stop
_SHORT_OF_CPU_FACTOR = 5  # then the bus is not late but this process, and the way over the disk costs more CPU
_FULL = 0.5  # what was taken from a sender before it was asked to wait must find room
_GROUPS_MAX = 8  # written in one turn, so that publishing goes on beside it


class Publisher:
    """Publishes samples, topology facts and changes in the order in which they came, keyed so that the bus keeps it."""

    def __init__(
        self,
        config: PublishConfig,
        bus: PublishingBus,
        ledger: Ledger,
        clock: Clock = time.time_ns,
        is_short_of_cpu: Callable[[], bool] = lambda: False,
    ) -> None:
        self._config, self._bus, self._ledger = config, bus, ledger
        self._is_short_of_cpu = is_short_of_cpu
        self._queue = OutputQueue(config, ledger)
        self._spool = Spool(config.spool, ledger, clock)
        self._in_memory = 0  # samples that are taken from the queue or read from the spool, and not published yet
        self._head: Group | None = None  # what is being published
        self._next: Group | None = None  # what the disk did not take
        self._publishing: asyncio.Task[None] | None = None
        self._since = self._filled_since = (
            0.0  # monotonic: of publishing the head, and since when the queue has been filled
        )
        self._encoding = OneThread("encode")  # the event loop has enough to do with fetching
        self._wake = asyncio.Event()
        self._stop_by: float | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def queued(self) -> int:
        """Samples that are neither published nor dropped yet."""
        return self._queue.samples + self._in_memory + self._spool.unread.samples

    def is_full(self) -> bool:
        """Whether less than half of the queue is left."""
        return self._queue.fullness > _FULL

    def unpublished_s(self) -> float:
        """How long the oldest of what is in memory alone has waited for the bus."""
        since_s = [self._filled_since] if self._queue else []
        if self._head is not None and self._head.end is None:
            since_s.append(self._since)
        return time.monotonic() - min(since_s) if since_s else 0.0

    def problem(self) -> str | None:
        """None, or why what the bus does not take is in memory alone, in words."""
        return self._spool.problem()

    def details(self) -> dict[str, float]:
        """For the stage's report."""
        return self._spool.details()

    def enqueue(self, output: CollectorOutput) -> None:
        """Adds it to the queue; a full queue drops its oldest batches or events."""
        if not self._queue:
            self._filled_since = time.monotonic()
        self._queue.put(output)
        self._wake.set()

    async def start(self) -> None:
        """ConfigError when a newer version has written the spool."""
        await self._spool.start()
        self._task = asyncio.get_running_loop().create_task(self._run())

    @property
    def tasks(self) -> list["asyncio.Task[None]"]:
        """The background work."""
        return [*([self._task] if self._task is not None else []), *self._spool.tasks]

    async def stop(self) -> None:
        """Publishes what is queued if the bus accepts it within a few seconds; else it goes to the disk."""
        if self._task is None:
            return
        task, self._task = self._task, None
        self._stop_by = asyncio.get_running_loop().time() + _FLUSH_S
        self._wake.set()
        _, late = await asyncio.wait([task], timeout=_STOP_S)
        task.cancel()
        if self._publishing is not None:
            self._publishing.cancel()
            await asyncio.wait([self._publishing], timeout=1.0)
        if not late:
            await self._write_all()
        self._encoding.stop()
        await self._spool.stop()
        on_disk = self._head.samples if self._head is not None and self._head.end is not None else 0
        if lost := self._queue.samples + self._in_memory - on_disk:
            log.warning("stopped before all samples were published", samples=lost)

    async def _run(self) -> None:
        while not self._may_stop():
            if self._head is None and not await self._begin():
                await self._wake.wait()
                await asyncio.sleep(self._config.linger_s)
                self._wake.clear()
                continue
            assert self._publishing is not None
            await asyncio.wait([self._publishing], timeout=self._patience_s())
            if self._publishing.done():
                await self._finish(self._publishing)
                await self._begin()
            if self._is_behind():
                await self._write()
            SAMPLES_QUEUED.set(self.queued)

    def _may_stop(self) -> bool:
        """When asked to, and all is published or on its way to the disk anyway, or the time for it is over."""
        if self._stop_by is None:
            return False
        is_left = self._head is not None or self._next is not None or bool(self._queue)
        return not is_left or bool(self._spool.unread) or asyncio.get_running_loop().time() >= self._stop_by

    async def _begin(self) -> bool:
        """Begins to publish the oldest group; False when nothing waits."""
        if self._spool.unread:
            group: Group | None = await self._spool.read(self._config.messages_max)
            self._in_memory += group.samples if group is not None else 0
        else:
            group, self._next = self._next or await self._encode_next(), None
        if group is None:
            return False
        self._head, self._since = group, time.monotonic()
        self._publishing = asyncio.get_running_loop().create_task(publish_records(self._bus, group.records))
        return True

    async def _finish(self, publishing: "asyncio.Task[None]") -> None:
        """Counts what is published; raises the error that ended it."""
        assert self._head is not None
        publishing.result()
        group, self._head, self._publishing = self._head, None, None
        self._in_memory -= group.samples
        for record in group.records:
            if record.samples:
                self._ledger.published(record.samples, record.target)
        await self._spool.published(group)

    def _is_behind(self) -> bool:
        """Whether what comes now must go to the disk."""
        return bool(self._spool.unread) or (
            self._head is not None and (self._head.end is not None or self._left_s() <= 0)
        )

    def _left_s(self) -> float:
        """Until the bus is late: with what it was given, or because more has come for so long than it takes."""
        factor = _SHORT_OF_CPU_FACTOR if self._is_short_of_cpu() else 1
        return factor * self._config.spool.after_s - self.unpublished_s()

    def _patience_s(self) -> float:
        """How long to wait for the bus before looking at what else there is to do."""
        if self._is_behind():
            return _SPOOL_INTERVAL_S
        return min(self._left_s(), _STOP_INTERVAL_S)

    async def _write(self) -> None:
        """Puts what waits on the disk, behind the group that is being published."""
        if self._head is not None and self._head.end is None and not self._spool.unread:
            written = await self._spool.append(self._head, taken=True)
            if written is None:
                return
            self._head = written
        for _ in range(_GROUPS_MAX):
            self._next = self._next or await self._encode_next()
            if self._next is None or await self._spool.append(self._next) is None:
                return
            self._in_memory -= self._next.samples
            self._next = None

    async def _write_all(self) -> None:
        """At the end: as much as the disk takes."""
        before = -1
        while before != self._queue.samples + self._in_memory:
            before = self._queue.samples + self._in_memory
            await self._write()

    async def _encode_next(self) -> Group | None:
        """What has waited longest in the queue; None when it is empty."""
        if not self._queue:
            return None
        events = self._queue.take_events(self._config.messages_max)
        batches = self._queue.take_batches(self._config.messages_max)
        self._in_memory += sum(map(len, batches))
        accounts = [self._ledger.account(batch.table.target) for batch in batches]  # here, where nothing counts beside
        encoded, too_large = await self._encoding(encode_batches, batches, accounts)
        for batch in too_large:
            self._in_memory -= len(batch)
            self._ledger.dropped(DropReason.TOO_LARGE, len(batch), batch.table.target, queued=True)
        return Group([*encode_events(events), *encoded])
