"""What the servers read: a copy of all readings after one step, replaced as a whole."""

import asyncio
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from simulator.counters.readings import Readings

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Readings that no longer change. number: 1, 2, … one for every step of the simulation."""

    number: int
    readings: Readings

    @property
    def now_ns(self) -> int:
        return self.readings.now_ns


Current = Callable[[], Snapshot]
"""The newest snapshot."""


def copied(readings: Readings) -> Readings:
    """A copy that shares no array with the model; jobs are copied one level deep."""
    groups = {name: _copied_arrays(getattr(readings, name)) for name in _GROUPS}
    jobs = [dataclasses.replace(job) for job in readings.jobs]
    return dataclasses.replace(readings, **groups, frozen=readings.frozen.copy(), jobs=jobs)


_GROUPS = ("ports", "nics", "gpus", "hosts", "storage", "devices")


def _copied_arrays(group: R) -> R:
    fields = dataclasses.fields(group)  # type: ignore[arg-type]  # each group is a dataclass of arrays
    return type(group)(**{one.name: np.array(getattr(group, one.name)) for one in fields})


class Latest:
    """The newest snapshot, and a way to wait for the one after it. Lives in the event loop's thread."""

    def __init__(self, readings: Readings) -> None:
        self._snapshot = Snapshot(1, readings)
        self._waiters: set[asyncio.Future[None]] = set()

    def __call__(self) -> Snapshot:
        return self._snapshot

    def publish(self, readings: Readings) -> None:
        """Makes ``readings``, which must not change any more, the newest."""
        self._snapshot = Snapshot(self._snapshot.number + 1, readings)
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def changed(self, number: int) -> None:
        """Returns once a snapshot other than ``number`` is the newest."""
        if self._snapshot.number != number:
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)

    def of_exporter(self, endpoint: int | None) -> Current:
        """The snapshot that one exporter serves: the newest, or the one at which it froze."""
        if endpoint is None:
            return self
        kept: Snapshot | None = None

        def current() -> Snapshot:
            nonlocal kept
            if not self._snapshot.readings.frozen[endpoint]:
                kept = None
                return self._snapshot
            kept = kept or self._snapshot
            return kept

        return current
