"""What the tests of the bus share: reading with a deadline, topics and messages of their own."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from uuid import uuid4

from bus.base import Bus, Consumer, Gap, Message, Record
from bus.config import BusConfig
from bus.open import open_bus
from telemetry.topics import Topic
from tests.waiting import DEADLINE_S

STOP_S = 9.0


def fresh_topic(*, partitions: int = 1, compacted: bool = False, retention_s: int = 3600) -> Topic:
    return Topic(f"test.{uuid4().hex[:12]}.v1", compacted, partitions, retention_s)


def numbered(n: int, *, first: int = 0, keys: int = 5) -> list[Message]:
    """Messages whose values count up; key k has the numbers k, k + keys, …"""
    return [Message(f"leaf{i % keys}".encode(), str(i).encode()) for i in range(first, first + n)]


def numbers(records: list[Record]) -> list[int]:
    return [int(record.value or b"-1") for record in records]


@asynccontextmanager
async def running(config: BusConfig) -> AsyncIterator[Bus]:
    bus = open_bus(config)
    await bus.start()
    try:
        yield bus
    finally:
        # The contract's 5 s and what a busy machine adds; waiting for a broker would take 10 s, its attempt_deadline_s.
        async with asyncio.timeout(STOP_S):
            await bus.stop()


async def read_until(
    reader: Consumer, enough: Callable[[list[Record]], bool], *, records_max: int = 1000
) -> list[Record]:
    records: list[Record] = []
    async with asyncio.timeout(DEADLINE_S):
        while not enough(records):
            records += await reader.poll(records_max=records_max, wait_s=0.2)
    return records


async def read(reader: Consumer, n: int, *, records_max: int = 1000) -> list[Record]:
    """The next n records; more than n are a failure."""
    records = await read_until(reader, lambda records: len(records) >= n, records_max=records_max)
    assert len(records) == n
    return records


async def until_at_end(reader: Consumer) -> None:
    """There is nothing more to read."""
    async with asyncio.timeout(DEADLINE_S):
        while not await reader.at_end():
            assert await reader.poll(wait_s=0.1) == []


async def gap_of(reader: Consumer) -> Gap:
    """Polls until a gap is reported, before any record."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            try:
                assert await reader.poll(wait_s=0.1) == []
            except Gap as gap:
                return gap


async def read_past_gaps(reader: Consumer, n: int) -> tuple[list[Record], list[Gap]]:
    """The next n records, and the gaps that are reported among them."""
    records, gaps = list[Record](), list[Gap]()
    async with asyncio.timeout(DEADLINE_S):
        while len(records) < n:
            try:
                records += await reader.poll(wait_s=0.2)
            except Gap as gap:
                gaps.append(gap)
    return records, gaps


async def everything(bus: Bus, topic: Topic) -> list[Record]:
    """All that is on a topic."""
    reader, records = bus.consume([topic], {}), list[Record]()
    try:
        while not await reader.at_end():
            records += await reader.poll(wait_s=0.1)
    finally:
        await reader.stop()
    return records
