"""The embedded bus: a durable log in one SQLite file, shared by the processes of one machine."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from bus.base import Consumer, Message, Offsets, Record, TopicPartition
from bus.config import EmbeddedConfig
from bus.embedded.log_reader import FetchResult, LogReader
from bus.embedded.threads import PendingPublish, ReaderThread, WriterThread
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
        self._writer = WriterThread(config, self._publishes_completed, self._poll_for_waiting)
        self._reader = ReaderThread(config, self._writer.opened, self._commits_found)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queued_bytes = 0
        self._room = asyncio.Event()
        self._totals: dict[str, int] = {}
        self._grown = asyncio.Event()
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
        return self._writer.problem or self._reader.problem

    def clock_ahead_ns(self) -> int | None:
        return 0  # the same machine's

    async def publish(self, topic: Topic, messages: Sequence[Message]) -> None:
        size = bytes_of(messages)
        if not messages:
            return
        if self._stopped:
            raise Unavailable("the bus has been stopped")
        try:
            await self._publish(PendingPublish(topic, messages, size, asyncio.get_running_loop().create_future()))
        except (Unavailable, ConfigError) as error:
            PUBLISH_FAILURES.labels(topic.name, type(error).__name__.lower()).inc()
            raise
        PUBLISHED.labels(topic.name).inc(len(messages))
        PUBLISHED_BYTES.labels(topic.name).inc(size)

    async def _publish(self, publish: PendingPublish) -> None:
        try:
            async with asyncio.timeout(self._config.publish_deadline_s):
                while self._queued_bytes and self._queued_bytes + publish.size > self._config.queue_bytes_max:
                    self._room.clear()
                    await self._room.wait()
                self._queued_bytes += publish.size
                self._writer.submit(publish)
                await publish.done
        except TimeoutError as error:
            reason = self.problem() or "the disk is slow"
            raise Unavailable(f"not durable after {self._config.publish_deadline_s:g} s: {reason}") from error
        finally:
            publish.abandoned = True

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

    def _publishes_completed(self, group: Sequence[PendingPublish], error: Exception | None) -> None:
        self._call_in_loop(self._complete, group, error)

    def _complete(self, group: Sequence[PendingPublish], error: Exception | None) -> None:
        for publish in group:
            self._queued_bytes -= publish.size
            if publish.done.done():
                continue
            if error is None:
                publish.done.set_result(None)
            else:
                publish.done.set_exception(type(error)(*error.args))
        self._room.set()

    def _poll_for_waiting(self) -> None:
        if self._reader.watched:
            self._reader.poll_now()

    def _commits_found(self, totals: dict[str, int]) -> None:
        self._call_in_loop(self._set_totals, totals)

    def _set_totals(self, totals: dict[str, int]) -> None:
        self._totals = totals
        self._grown.set()
        self._grown = asyncio.Event()

    def _call_in_loop(self, act: Callable[..., None], *arguments: object) -> None:
        """From a thread."""
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(act, *arguments)
        except RuntimeError:  # the loop has been closed: nobody waits any more
            return

    def read(self, job: Callable[[LogReader], T]) -> "asyncio.Future[T]":
        """Runs it in the reader thread."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def complete(result: T, error: Exception | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self._reader.submit(job, lambda result, error: self._call_in_loop(complete, result, error))
        return future

    async def wait_beyond(self, totals: dict[str, int], wait_s: float) -> None:
        """Returns when a topic has grown beyond ``totals``, or after ``wait_s``."""
        deadline = time.monotonic() + wait_s
        self._waiting += 1
        if not self._reader.watched:
            self._reader.watched = True
            self._reader.poll_now()
        try:
            while all(self._totals.get(topic, 0) <= total for topic, total in totals.items()):
                async with asyncio.timeout(deadline - time.monotonic()):
                    await self._grown.wait()
        except TimeoutError:
            return
        finally:
            self._waiting -= 1
            self._reader.watched = self._waiting > 0


class _EmbeddedConsumer:
    def __init__(self, bus: EmbeddedBus, topics: Sequence[Topic], start: Offsets) -> None:
        self._bus, self._topics = bus, [topic.name for topic in topics]
        self._partitions = {(topic.name, partition) for topic in topics for partition in range(topic.partitions)}
        self._positions = dict(start)
        self._buffer: deque[Record] = deque()
        self._reading: asyncio.Future[FetchResult] | None = None
        self._turn = 0
        self._stopped = False

    async def poll(self, *, records_max: int = 1000, wait_s: float = 0.5) -> list[Record]:
        deadline = time.monotonic() + wait_s
        while not self._buffer and not self._stopped:
            result = await self._read(records_max, max(0.0, deadline - time.monotonic()) + 0.5)
            if result is not None and result.gap is not None:
                GAPS.labels(result.gap.topic).inc()
                raise result.gap
            remaining = deadline - time.monotonic()
            if self._buffer or remaining <= 0:
                break
            if result is None:
                await asyncio.sleep(min(remaining, 0.1))
            else:
                await self._bus.wait_beyond(result.totals, remaining)
        return self._pop(records_max)

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
        result = reading.result()
        self._buffer.extend(result.records)
        self._positions = result.positions
        self._turn += 1
        return result

    def _pop(self, records_max: int) -> list[Record]:
        records = [self._buffer.popleft() for _ in range(min(records_max, len(self._buffer)))]
        for topic, n in Counter(record.topic for record in records).items():
            CONSUMED.labels(topic).inc(n)
        return records

    async def at_end(self) -> bool:
        return not await self.behind()

    async def behind(self) -> set[TopicPartition]:
        ends = await self._ends()
        if ends is None:
            return self._partitions
        unread = {each for each in self._partitions if self._positions.get(each, 0) < ends.get(each, 0)}
        return unread | {(record.topic, record.partition) for record in self._buffer}

    async def lag(self) -> int:
        ends = await self._ends() or {}
        unread = (ends.get(each, 0) - self._positions.get(each, 0) for each in self._partitions)
        return len(self._buffer) + sum(max(0, records) for records in unread)

    async def _ends(self) -> Offsets | None:
        """None where the file cannot be read in time."""
        reading = self._bus.read(LogReader.ends)
        await asyncio.wait({reading}, timeout=1)
        return None if not reading.done() or reading.exception() is not None else reading.result()

    async def stop(self) -> None:
        self._stopped = True
