"""Records for the spool, and what comes out of it again."""

from collections import Counter
from pathlib import Path

import numpy as np

from bus.base import Message
from common.units import NS_PER_S
from ingest.config import SpoolConfig
from ingest.ledger import Counts, DropReason
from ingest.outgoing import Outgoing
from ingest.spool.store import Store
from telemetry import topics

HOUR_NS = 3600 * NS_PER_S
SAMPLES = 10


def record(number: int, size: int = 200) -> Outgoing:
    """A batch of ten samples whose bytes do not shrink; its key is its number."""
    value = np.random.default_rng(number).bytes(size)
    return Outgoing(topics.SAMPLES, Message(str(number).encode(), value, {"table": b"digest"}), SAMPLES)


def config(folder: Path, **more: float) -> SpoolConfig:
    return SpoolConfig.model_validate({"folder": folder, "free_bytes_min": 0, **more})


def opened(folder: Path, **more: float) -> Store:
    store = Store(folder, config(folder, **more))
    store.open()
    return store


def counts(samples_in: int = 0) -> Counts:
    return Counts(1, samples_in, 0, {})


def read_all(store: Store, now_ns: int = 0) -> list[int]:
    """The numbers of all records, published as they are read."""
    numbers: list[int] = []
    while store.unread:
        found, end = store.read(3, 1 << 20, now_ns)
        numbers += [int(one.message.key) for one in found]
        store.published(end, counts())
    return numbers


def lost(store: Store) -> dict[DropReason, int]:
    """Samples by reason."""
    found: Counter[DropReason] = Counter()
    for reason, amount in store.pop_losses().items():
        found[reason] += amount.samples
    return dict(found)
