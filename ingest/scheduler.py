"""When each target is collected: spread over its interval, never twice at once, and never waiting for a dead one."""

import asyncio
import hashlib
import logging
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from prometheus_client import Counter

from ingest.collectors.base import Clock, Emit, PollCollector
from ingest.config import SchedulerConfig
from ingest.metrics import COLLECTIONS, OVERRUNS
from telemetry.samples import SampleBatch

_log = logging.getLogger(__name__)
_STOP_S = 2.0
SLOT_S = 0.05
"""Targets start in groups this far apart, so that one wake-up, one look at the sockets and one commit on the bus serve
a whole group. An interval below it is as long as it."""


def phase(name: str) -> float:
    """Where in its interval a target is collected, 0 <= phase < 1: the same in every process and after a restart."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=7).digest(), "big") / 2**56


@cache
def _outcome(name: str) -> Counter:
    """The counter of one outcome; there are as many as reasons to be down."""
    return COLLECTIONS.labels(outcome=name)


@dataclass(slots=True)
class _Entry:
    """due: loop time of the next collection. slot: the first that does not begin before; there it starts."""

    collector: PollCollector
    due: float
    slot: int = 0
    task: asyncio.Task[None] | None = None
    trusted: bool = False


class Scheduler:
    """Polls collectors and hands on what they bring.

    A target that answered last time starts when it is due. All others share ``doubtful_max`` places, so that any
    number of dead ones neither delays the living nor runs out of sockets.
    """

    def __init__(self, config: SchedulerConfig, emit: Emit, clock: Clock) -> None:
        self._config, self._emit, self._clock = config, emit, clock
        self._entries: dict[str, _Entry] = {}
        self._slots: dict[int, dict[str, _Entry]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._doubtful = asyncio.Semaphore(config.doubtful_max)

    @property
    def names(self) -> set[str]:
        return set(self._entries)

    @property
    def targets_up(self) -> int:
        """Targets whose last collection brought something."""
        return sum(entry.trusted for entry in self._entries.values())

    def add(self, collector: PollCollector) -> None:
        """Collects it from its next place in the interval on. The name must be new."""
        assert collector.name not in self._entries
        now = asyncio.get_running_loop().time()
        interval = collector.interval_s
        due = now + (phase(collector.name) * interval - now) % interval
        entry = _Entry(collector, due)
        self._entries[collector.name] = entry
        self._arm(entry)

    def remove(self, names: Iterable[str]) -> None:
        """Ends these targets; a collection that runs is cancelled."""
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
                OVERRUNS.inc()
            interval = entry.collector.interval_s
            entry.due += interval * max(1, -(-(now - entry.due) // interval))
            self._arm(entry)

    async def _collect(self, entry: _Entry) -> None:
        try:
            if entry.trusted:
                await self._collect_now(entry)
            else:
                async with self._doubtful:
                    await self._collect_now(entry)
        except Exception:
            # Our own bug in one collector must not end the others.
            entry.trusted = False
            _outcome("failed").inc()
            _log.exception("collector of %s failed", entry.collector.name)
        finally:
            entry.task = None

    async def _collect_now(self, entry: _Entry) -> None:
        emission = await entry.collector.collect(self._clock())
        down = emission.collection.down if isinstance(emission, SampleBatch) else None
        entry.trusted = down is None
        _outcome(down or "up").inc()
        self._emit(emission)
