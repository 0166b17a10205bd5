"""A bus that can be unavailable, and batches that are numbered."""

import asyncio
from collections.abc import Sequence

import numpy as np

from bus.base import Message
from common.errors import Superseded, Unavailable
from ingest.ledger import Ledger
from ingest.publish import Publisher
from telemetry import topics
from telemetry.codec.batch import BatchDecoder
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable


class FlakyBus:
    """A bus in memory that can be unavailable, or slow: a call takes ``call_s``; or owned by a newer process."""

    def __init__(self, call_s: float = 0.0) -> None:
        self.unavailable = self.is_replaced = False
        self._call_s = call_s
        self.refused = 0
        self.calls: list[tuple[topics.Topic, list[Message]]] = []

    async def publish(self, topic: topics.Topic, messages: Sequence[Message]) -> None:
        await asyncio.sleep(self._call_s)
        if self.is_replaced:
            raise Superseded("test")
        if self.unavailable:
            self.refused += 1
            raise Unavailable("test")
        self.calls.append((topic, list(messages)))

    def sequences(self) -> list[int]:
        decoder = BatchDecoder()
        return [
            decoder.decode(message.value or b"", dict(message.headers)).collection.seq
            for topic, messages in self.calls
            if topic is topics.SAMPLES
            for message in messages
        ]


def batch(seq: int, rows: int = 10, device: str = "node1") -> SampleBatch:
    table = SeriesTable("job/a:1", device, tuple(f'm{{i="{row}"}}' for row in range(rows)))
    return SampleBatch(
        table,
        Collection(1, seq, 0, 0.0),
        np.zeros(rows, dtype=np.int64),
        np.arange(rows, dtype=np.uint32),
        np.random.default_rng(seq).random(rows),
    )


def feed(publisher: Publisher, ledger: Ledger, batches: Sequence[SampleBatch]) -> None:
    for each in batches:
        ledger.received(len(each), each.table.target)
        publisher.enqueue(each)
