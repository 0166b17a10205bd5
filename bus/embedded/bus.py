"""The embedded bus: a durable log in one SQLite file, shared by the processes of one machine."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from bus.base import Consumer, Message, Offsets, Record, TopicPartition
from bus.config import EmbeddedConfig
from bus.embedded.log_reader import FetchResult, LogReader
from bus.embedded.threads import Pending, ReaderThread, WriterThread
from bus.limits import bytes_of
from bus.metrics import CONSUMED, GAPS, PUBLISH_FAILURES, PUBLISHED, PUBLISHED_BYTES
from common.errors import ConfigError, Unavailable
from common.retry import retry
from telemetry.topics import Topic

T = TypeVar("T")
_STOP_S, _RETRY_S = 4.0, 0.1
_READ_BYTES = 4 * 1024 * 1024


class EmbeddedBus:
    """``Bus`` over one file. WAL and synchronous=FULL: what publish has returned survives kill -9 and power loss."""

    def __init__(self, config: EmbeddedConfig) -> None:
        self._config = config
        self._writer = WriterThread(config, self._settle_soon, self._nudge)
        self._reader = ReaderThread(config, self._writer.opened, self._changed_soon)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queued_bytes = 0
        self._room = asyncio.Event()
        self._totals: dict[str, int] = {}
        self._changed = asyncio.Event()
        self._waiting = 0
        self._stopped = False

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._writer.thread.start()
        self._reader.thread.start()

    async def stop(self) -> None:
        self._stopped = True
        if self._loop is None:
            return
        self._writer.finish()
        self._reader.finish()
        deadline = time.monotonic() + _STOP_S
        # A thread's end is no event of the loop, and joining it would block the loop.
        while (  # noqa: ASYNC110
            self._writer.thread.is_alive() or self._reader.thread.is_alive()
        ) and time.monotonic() < deadline:
            await asyncio.sleep(0.005)

    def problem(self) -> str | None:
        if self._loop is None or self._stopped:
            return "not running"
        return self._writer.trouble

    async def publish(self, topic: Topic, messages: Sequence[Message]) -> None:
        size = bytes_of(messages)
        if not messages:
            return
        if self._stopped:
            raise Unavailable("the bus has been stopped")
        try:
            await self._publish(Pending(topic, messages, size, asyncio.get_running_loop().create_future()))
        except (Unavailable, ConfigError) as error:
            PUBLISH_FAILURES.labels(topic.name, type(error).__name__.lower()).inc()
            raise
        PUBLISHED.labels(topic.name).inc(len(messages))
        PUBLISHED_BYTES.labels(topic.name).inc(size)

    async def _publish(self, pending: Pending) -> None:
        try:
            async with asyncio.timeout(self._config.publish_deadline_s):
                while self._queued_bytes and self._queued_bytes + pending.size > self._config.queue_bytes_max:
                    self._room.clear()
                    await self._room.wait()
                self._queued_bytes += pending.size
                self._writer.submit(pending)
                await pending.done
        except TimeoutError as error:
            why = self.problem() or "the disk is slow"
            raise Unavailable(f"not durable after {self._config.publish_deadline_s:g} s: {why}") from error
        finally:
            pending.given_up = True

    async def offsets_since(self, topics: Sequence[Topic], since_ns: int) -> Offsets:
        names = [topic.name for topic in topics]
        failures: deque[Exception] = deque([Unavailable("the disk is slow")], maxlen=1)
        try:
            async with asyncio.timeout(self._config.publish_deadline_s):
                found = await retry(
                    lambda: self.read(lambda log: log.offsets_since(names, since_ns)),
                    on=Unavailable,
                    first_s=_RETRY_S,
                    most_s=_RETRY_S,
                    failed=failures.append,
                )
        except TimeoutError as error:
            raise Unavailable(f"no offsets after {self._config.publish_deadline_s:g} s: {failures[0]}") from error
        empty = {(topic.name, partition): 0 for topic in topics for partition in range(topic.partitions)}
        return {**empty, **found}

    def consume(self, topics: Sequence[Topic], start: Offsets) -> Consumer:
        return _EmbeddedConsumer(self, topics, start)

    def _settle_soon(self, group: Sequence[Pending], error: Exception | None) -> None:
        self._from_thread(self._settle, group, error)

    def _settle(self, group: Sequence[Pending], error: Exception | None) -> None:
        for pending in group:
            self._queued_bytes -= pending.size
            if pending.done.done():
                continue
            if error is None:
                pending.done.set_result(None)
            else:
                pending.done.set_exception(type(error)(*error.args))
        self._room.set()

    def _nudge(self) -> None:
        if self._reader.watched:
            self._reader.nudge()

    def _changed_soon(self, totals: dict[str, int]) -> None:
        self._from_thread(self._change, totals)

    def _change(self, totals: dict[str, int]) -> None:
        self._totals = totals
        self._changed.set()
        self._changed = asyncio.Event()

    def _from_thread(self, act: Callable[..., None], *arguments: object) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(act, *arguments)
        except RuntimeError:  # the loop has been closed: nobody waits any more
            return

    def read(self, job: Callable[[LogReader], T]) -> "asyncio.Future[T]":
        """Runs it in the reader thread."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def settle(result: T, error: Exception | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self._reader.submit(job, lambda result, error: self._from_thread(settle, result, error))
        return future

    async def wait_beyond(self, totals: dict[str, int], wait_s: float) -> None:
        """Returns when a topic has more than ``totals`` say, or after ``wait_s``."""
        deadline = time.monotonic() + wait_s
        self._waiting += 1
        if not self._reader.watched:
            self._reader.watched = True
            self._reader.nudge()
        try:
            while all(self._totals.get(topic, 0) <= total for topic, total in totals.items()):
                async with asyncio.timeout(deadline - time.monotonic()):
                    await self._changed.wait()
        except TimeoutError:
            return
        finally:
            self._waiting -= 1
            self._reader.watched = self._waiting > 0


class _EmbeddedConsumer:
    def __init__(self, bus: EmbeddedBus, topics: Sequence[Topic], start: Offsets) -> None:
        self._bus, self._topics = bus, [topic.name for topic in topics]
        self._places = {(topic.name, partition) for topic in topics for partition in range(topic.partitions)}
        self._positions = dict(start)
        self._buffer: deque[Record] = deque()
        self._reading: asyncio.Future[FetchResult] | None = None
        self._totals = dict.fromkeys(topics, 0)
        self._turn = 0
        self._stopped = False

    async def poll(self, *, records_max: int = 1000, wait_s: float = 0.5) -> list[Record]:
        deadline = time.monotonic() + wait_s
        while not self._buffer and not self._stopped:
            passage = await self._read(records_max, max(0.0, deadline - time.monotonic()) + 0.5)
            if passage is not None and passage.gap is not None:
                GAPS.labels(passage.gap.topic).inc()
                raise passage.gap
            remaining = deadline - time.monotonic()
            if self._buffer or remaining <= 0:
                break
            if passage is None:
                await asyncio.sleep(min(remaining, 0.1))
            else:
                await self._bus.wait_beyond(passage.totals, remaining)
        return self._take(records_max)

    async def _read(self, records_min: int, wait_s: float) -> FetchResult | None:
        """None when the file could not be read in time; a read that is late is awaited by the next poll."""
        if self._reading is None:
            positions, turn = dict(self._positions), self._turn
            self._reading = self._bus.read(
                lambda log: log.read(self._topics, positions, records_min=records_min, bytes_max=_READ_BYTES, turn=turn)
            )
        await asyncio.wait({self._reading}, timeout=wait_s)
        if not self._reading.done():
            return None
        reading, self._reading = self._reading, None
        if reading.exception() is not None:
            return None
        passage = reading.result()
        self._buffer.extend(passage.records)
        self._positions = passage.positions
        self._turn += 1
        return passage

    def _take(self, records_max: int) -> list[Record]:
        taken = [self._buffer.popleft() for _ in range(min(records_max, len(self._buffer)))]
        for topic, n in Counter(record.topic for record in taken).items():
            CONSUMED.labels(topic).inc(n)
        return taken

    async def at_end(self) -> bool:
        return not await self.behind()

    async def behind(self) -> set[TopicPartition]:
        reading = self._bus.read(LogReader.ends)
        await asyncio.wait({reading}, timeout=1)
        if not reading.done() or reading.exception() is not None:
            return self._places
        ends = reading.result()
        unread = {place for place in self._places if self._positions.get(place, 0) < ends.get(place, 0)}
        return unread | {(record.topic, record.partition) for record in self._buffer}

    async def stop(self) -> None:
        self._stopped = True
