"""A collector of numbers that have a name and labels: files of the kernel, output of a command."""

import asyncio
import time
from abc import abstractmethod
from collections.abc import Iterator, Set

import structlog

from ingest.admission.line import Priority
from ingest.admission.reasons import OutOfDescriptors
from ingest.collectors.base import CollectorContext, SourceSeries
from ingest.collectors.canonical_samples import TargetSamples, Values
from ingest.collectors.command import reason_of
from telemetry.samples import DownReason, SampleBatch

log = structlog.get_logger("ingest")


class ValueCollector:
    """Collects one target, by the catalogue's names for one system.

    system: of the catalogue. ``device`` is the host that is collected from.
    """

    def __init__(self, name: str, device: str, interval_s: float, system: str, context: CollectorContext) -> None:
        self._name, self._device, self._interval_s = name, device, interval_s
        self._ledger, self._workers = context.ledger, context.workers
        self._samples = TargetSamples(name, device, system, context.clock())
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
        return self._samples.unmapped

    def source_series(self) -> Iterator[SourceSeries]:
        """Of the last collection."""
        return self._samples.source_series()

    async def collect(self, now_ns: int) -> SampleBatch:
        began_s = time.monotonic()
        try:
            values = await self._values()
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(self._workers, self._samples.read, values)
        except OutOfDescriptors:
            raise
        except Exception as error:
            reason = reason_of(error)
            if reason is DownReason.INTERNAL and self._down is not reason:
                log.error("collector failed", target=self.name, exc_info=error)
            self._set_down(reason, str(error) or "no answer in time")
            return self._samples.down(reason, now_ns, time.monotonic() - began_s)
        batch = self._samples.batch(found, now_ns, time.monotonic() - began_s, self._ledger)
        self._set_down(batch.collection.down, "no known series")
        return batch

    async def stop(self) -> None:
        """Nothing is open between collections."""

    @abstractmethod
    async def _values(self) -> Values:
        """What the source states now, within the collector's own deadline. NoAnswer, TimeoutError, BadInput."""

    def _set_down(self, down: DownReason | None, message: str) -> None:
        """Logs changes, not every collection."""
        if down is self._down:
            return
        self._down = down
        bound = log.bind(target=self.name, device=self._device)
        if down is None:
            bound.info("target is up")
        else:
            bound.warning("target is down", reason=str(down), error=message[:200])
