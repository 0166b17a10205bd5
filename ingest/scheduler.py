"""When each target is collected: spread over its interval, without overlap, independent of dead targets, and no more of
them than this process can do: what is due waits in a line, and who still waits when it is due again is left out once.
"""

import asyncio
import hashlib
import math
from collections import Counter as Counts
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial

import structlog
from prometheus_client import Counter

from ingest.admission.gate import Gate
from ingest.admission.line import Priority, WaitingLine
from ingest.admission.reasons import DeviceBusy, OutOfDescriptors, SkipReason
from ingest.collectors.base import Clock, Emit, PollCollector
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


@cache
def _skips(reason: SkipReason) -> Counter:
    return COLLECTIONS_SKIPPED.labels(reason=reason)


@dataclass(slots=True)
class _Entry:
    """due: loop time of the next collection. slot: the first slot that does not begin before ``due``. is_waiting: in
    line for a collection that is due.
    """

    collector: PollCollector
    due: float
    slot: int = 0
    task: asyncio.Task[None] | None = None
    healthy: bool = False
    is_waiting: bool = False


class Scheduler:
    """Polls collectors and emits their output.

    A target is healthy when its last collection succeeded. Healthy targets and all others have places of their own in
    the gate, so that any number of dead targets neither delays the healthy ones nor runs out of sockets.
    """

    def __init__(self, gate: Gate, emit: Emit, clock: Clock) -> None:
        self._gate, self._emit, self._clock = gate, emit, clock
        self._entries: dict[str, _Entry] = {}
        self._slots: dict[int, dict[str, _Entry]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._lines = {health: WaitingLine[_Entry]() for health in (True, False)}
        self._running = dict.fromkeys((True, False), 0)
        self._skipped: Counts[SkipReason] = Counts()

    @property
    def names(self) -> set[str]:
        return set(self._entries)

    @property
    def targets_up(self) -> int:
        """Targets whose last collection succeeded."""
        return sum(entry.healthy for entry in self._entries.values())

    @property
    def running(self) -> int:
        """Collections that have begun and not ended."""
        return sum(self._running.values())

    @property
    def busiest(self) -> int:
        """Collections of healthy targets or of others that run, whichever are more: what the limit is compared with."""
        return max(self._running.values())

    @property
    def waiting(self) -> int:
        """Targets that are due and wait for their turn."""
        return sum(map(len, self._lines.values()))

    @property
    def skipped(self) -> Mapping[SkipReason, int]:
        """Collections that were left out so far."""
        return self._skipped

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
            for line in self._lines.values():
                line.discard(name)
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

    def begin_waiting(self) -> None:
        """Begins the collections of those in line, as far as the gate admits them."""
        for healthy, line in self._lines.items():
            while line and (entry := line.pop(lambda priority: self._refusal(priority, healthy) is None)):  # noqa: B023
                self._running[healthy] += 1
                entry.is_waiting = False
                entry.task = asyncio.get_running_loop().create_task(self._collect(entry))
                entry.task.add_done_callback(partial(self._ended, entry, healthy))

    def _refusal(self, priority: Priority, healthy: bool) -> SkipReason | None:
        running = self._running[healthy]
        return self._gate.refusal(priority, healthy=healthy, running=running, running_all=self.running)

    def _arm(self, entry: _Entry) -> None:
        slot = entry.slot = math.ceil(entry.due / SLOT_S)
        if slot not in self._slots:
            self._slots[slot] = {}
            asyncio.get_running_loop().call_at(slot * SLOT_S, self._start, slot)
        self._slots[slot][entry.collector.name] = entry

    def _start(self, slot: int) -> None:
        now = asyncio.get_running_loop().time()
        for entry in self._slots.pop(slot).values():
            self._due(entry)
            interval = entry.collector.interval_s
            entry.due += interval * max(1, -(-(now - entry.due) // interval))
            self._arm(entry)
        self.begin_waiting()

    def _due(self, entry: _Entry) -> None:
        """Puts it in line, at the end. One that is in line keeps its place, and one collection less is made."""
        priority = entry.collector.priority
        if entry.task is not None:
            self._skip(SkipReason.RUNNING)
        elif entry.is_waiting:
            self._skip(self._refusal(priority, entry.healthy) or SkipReason.CPU)
        else:
            entry.is_waiting = True
            self._lines[entry.healthy].add(priority, entry.collector.name, entry)

    def _skip(self, reason: SkipReason) -> None:
        self._skipped[reason] += 1
        _skips(reason).inc()

    def _ended(self, entry: _Entry, was_healthy: bool, task: "asyncio.Task[None]") -> None:
        entry.task = None
        self._running[was_healthy] -= 1
        self.begin_waiting()

    async def _collect(self, entry: _Entry) -> None:
        try:
            output = await entry.collector.collect(self._clock())
        except OutOfDescriptors:
            self._skip(SkipReason.DESCRIPTORS)
            return
        except DeviceBusy:
            self._skip(SkipReason.DEVICE)
            return
        except Exception:
            # Our own bug in one collector must not end the others.
            entry.healthy = False
            _outcome("failed").inc()
            log.exception("collector failed", target=entry.collector.name)
            return
        down = output.collection.down if isinstance(output, SampleBatch) else None
        entry.healthy = down is None
        _outcome(down or "up").inc()
        self._emit(output)
