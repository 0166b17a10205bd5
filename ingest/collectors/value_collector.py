"""A collector of numbers that have a name and labels: files of the kernel, output of a command."""

import asyncio
import time
from abc import abstractmethod
from collections.abc import Set
from dataclasses import dataclass, field

import numpy as np
import structlog
from numpy.typing import NDArray

from common.errors import BadInput
from ingest.admission.line import Priority
from ingest.admission.reasons import OutOfDescriptors
from ingest.collectors.base import CollectorContext
from ingest.collectors.command import NoAnswer
from ingest.collectors.exposition.decode.mapping import Mapper
from ingest.collectors.series_layout import SeriesLayout, Taken, finish, lay_out, take
from telemetry.catalogue import origins_of, source
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable

log = structlog.get_logger("ingest")

SeriesName = tuple[str, tuple[tuple[str, str], ...]]
"""The source's name, and its labels."""


@dataclass(slots=True)
class Values:
    """What a source states at one moment, in its order; equally long. A number is NaN where it states none."""

    names: list[SeriesName] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)

    def add(self, name: str, number: float, **labels: str) -> None:
        self.names.append((name, tuple(labels.items())))
        self.numbers.append(number)


class ValueCollector:
    """Collects one target, by the catalogue's names for one system. Which number is part of which series is worked out
    once for as long as the names are the same.

    system: of the catalogue. ``device`` is the host that is collected from.
    """

    def __init__(self, name: str, device: str, interval_s: float, system: str, context: CollectorContext) -> None:
        self._name, self._device, self._interval_s = name, device, interval_s
        self._ledger, self._workers, self._epoch_ns = context.ledger, context.workers, context.clock()
        self._mapper = Mapper(source(system), {"device": device}, origins_of(system))
        self._sentinels = np.array(source(system).sentinels, dtype=np.float64).reshape(-1, 2)
        self._finish = finish()
        self._names: list[SeriesName] = []
        self._layout = lay_out((), name, device)
        self._table = SeriesTable(name, device, ())
        self._seq = 0
        self._down: DownReason | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def interval_s(self) -> float:
        return self._interval_s

    @property
    def priority(self) -> Priority:
        return Priority.NORMAL

    @property
    def unmapped(self) -> Set[str]:
        return self._mapper.unmapped

    async def collect(self, now_ns: int) -> SampleBatch:
        began_s = time.monotonic()
        self._seq += 1
        try:
            values = await self._values()
            loop = asyncio.get_running_loop()
            layout, taken = await loop.run_in_executor(self._workers, self._take, values)
        except OutOfDescriptors:
            raise
        except Exception as error:
            return self._failed(_reason_of(error), error, now_ns, time.monotonic() - began_s)
        self._ledger.received(taken.values.size + sum(taken.dropped.values()))
        self._ledger.unmapped(layout.unmapped)
        for reason, count in taken.dropped.items():
            self._ledger.dropped(reason, count)
        duration_s = time.monotonic() - began_s
        if not taken.values.size:
            nothing = BadInput("no known series", "no_samples")
            return self._failed(DownReason.NO_SAMPLES, nothing, now_ns, duration_s)
        self._set_down(None, "")
        self._table = layout.table
        times_ns: NDArray[np.int64] = np.full(taken.values.size, now_ns, np.int64)
        collection = Collection(self._epoch_ns, self._seq - 1, now_ns, duration_s, unmapped=layout.unmapped)
        return SampleBatch(layout.table, collection, times_ns, taken.series, taken.values)

    async def stop(self) -> None:
        """Nothing is open between collections."""

    @abstractmethod
    async def _values(self) -> Values:
        """What the source states now, within the collector's own deadline. NoAnswer, TimeoutError, BadInput."""

    def _take(self, values: Values) -> tuple[SeriesLayout, Taken]:
        if values.names != self._names:
            found = (self._mapper.map(name, dict(labels)) for name, labels in values.names)
            self._layout = lay_out(found, self._name, self._device)
            self._names = values.names
        numbers = np.array(values.numbers, dtype=np.float64)
        return self._layout, take(self._layout, numbers, self._sentinels, self._finish)

    def _failed(self, reason: DownReason, error: Exception, now_ns: int, duration_s: float) -> SampleBatch:
        if reason is DownReason.INTERNAL and self._down is not reason:
            log.error("collector failed", target=self.name, exc_info=error)
        self._set_down(reason, str(error))
        collection = Collection(self._epoch_ns, self._seq - 1, now_ns, duration_s, reason)
        none = np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.float64)
        return SampleBatch(self._table, collection, *none)

    def _set_down(self, down: DownReason | None, message: str) -> None:
        """Logs changes, not every collection."""
        if down is self._down:
            return
        self._down = down
        bound = log.bind(target=self.name, device=self._device)
        if down is None:
            bound.info("target is up")
        else:
            bound.info("target is down", reason=str(down), error=message[:200])


def _reason_of(error: Exception) -> DownReason:
    if isinstance(error, NoAnswer):
        return error.reason
    if isinstance(error, BadInput):
        return DownReason(error.reason) if error.reason in set(DownReason) else DownReason.BAD_FORMAT
    return DownReason.TIMEOUT if isinstance(error, TimeoutError) else DownReason.INTERNAL
