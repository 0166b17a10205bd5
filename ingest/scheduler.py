"""When each target is collected: spread over its interval, without overlap, and independent of dead targets."""

import asyncio
import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import structlog
from prometheus_client import Counter

from ingest.collectors.base import Clock, Emit, PollCollector
from ingest.config import SchedulerConfig
from ingest.metrics import COLLECTIONS, COLLECTIONS_SKIPPED
from telemetry.samples import SampleBatch

log = structlog.get_logger("ingest")
_STOP_S = 2.0
SLOT_S = 0.05
"""Targets start in groups this far apart, so that one wake-up, one poll of the sockets and one commit on the bus serve
a whole group. A shorter interval is rounded up to it."""


def offset(name: str) -> float:
    """Where in its interval a target is collected, 0 <= offset < 1: the same in every process and after a restart."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=7).digest(), "big") / 2**56


@cache
def _outcome(name: str) -> Counter:
    """The counter of one outcome; there are as many as reasons to be down."""
    return COLLECTIONS.labels(outcome=name)


@dataclass(slots=True)
class _Entry:
    """due: loop time of the next collection. slot: the first slot that does not begin before ``due``."""

    collector: PollCollector
    due: float
    slot: int = 0
    task: asyncio.Task[None] | None = None
    healthy: bool = False


class Scheduler:
    """Polls collectors and emits their output.

    A target is healthy when its last collection succeeded: it starts when it is due. All others share
    ``unhealthy_max`` places, so that any number of dead targets neither delays the healthy ones nor runs out of
    sockets.
    """

    def __init__(self, config: SchedulerConfig, emit: Emit, clock: Clock) -> None:
        self._config, self._emit, self._clock = config, emit, clock
        self._entries: dict[str, _Entry] = {}
        self._slots: dict[int, dict[str, _Entry]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._unhealthy = asyncio.Semaphore(config.unhealthy_max)

    @property
    def names(self) -> set[str]:
        return set(self._entries)

    @property
    def targets_up(self) -> int:
        """Targets whose last collection succeeded."""
        return sum(entry.healthy for entry in self._entries.values())

    def add(self, collector: PollCollector) -> None:
        """Collects it every interval, first at its offset in the current one. The name must be new."""
        assert collector.name not in self._entries
        now = asyncio.get_running_loop().time()
        interval = collector.interval_s
        due = now + (offset(collector.name) * interval - now) % interval
        entry = _Entry(collector, due)
        self._entries[collector.name] = entry
        self._arm(entry)

    def remove(self, names: Iterable[str]) -> None:
        """Removes these targets; a running collection is cancelled."""
        for name in names:
            entry = self._entries.pop(name)
            del self._slots[entry.slot][name]
            if entry.task is not None:
                entry.task.cancel()
            closing = asyncio.get_running_loop().create_task(entry.collector.stop())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def stop(self) -> None:
        running = [entry.task for entry in self._entries.values() if entry.task is not None]
        self.remove(list(self._entries))
        waiting = [*running, *self._closing]
        if waiting:
            await asyncio.wait(waiting, timeout=_STOP_S)

    def _arm(self, entry: _Entry) -> None:
        slot = entry.slot = math.ceil(entry.due / SLOT_S)
        if slot not in self._slots:
            self._slots[slot] = {}
            asyncio.get_running_loop().call_at(slot * SLOT_S, self._start, slot)
        self._slots[slot][entry.collector.name] = entry

    def _start(self, slot: int) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for entry in self._slots.pop(slot).values():
            if entry.task is None:
                entry.task = loop.create_task(self._collect(entry))
            else:
                COLLECTIONS_SKIPPED.inc()
            interval = entry.collector.interval_s
            entry.due += interval * max(1, -(-(now - entry.due) // interval))
            self._arm(entry)

    async def _collect(self, entry: _Entry) -> None:
        try:
            if entry.healthy:
                await self._collect_now(entry)
            else:
                async with self._unhealthy:
                    await self._collect_now(entry)
        except Exception:
            # Our own bug in one collector must not end the others.
            entry.healthy = False
            _outcome("failed").inc()
            log.exception("collector failed", target=entry.collector.name)
        finally:
            entry.task = None

    async def _collect_now(self, entry: _Entry) -> None:
        output = await entry.collector.collect(self._clock())
        down = output.collection.down if isinstance(output, SampleBatch) else None
        entry.healthy = down is None
        _outcome(down or "up").inc()
        self._emit(output)
