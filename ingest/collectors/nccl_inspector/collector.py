"""The collector of one folder with records of NCCL Inspector."""

import asyncio
import time
from collections.abc import Iterable, Iterator, Set

import numpy as np
import structlog

from ingest.admission.line import Priority
from ingest.admission.reasons import OutOfDescriptors
from ingest.collectors.base import CollectorContext, SourceSeries
from ingest.collectors.command import reason_of
from ingest.collectors.nccl_inspector import metrics
from ingest.collectors.nccl_inspector.config import Config
from ingest.collectors.nccl_inspector.reading import Look, Reading
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable

log = structlog.get_logger("ingest")


class NcclInspectorCollector:
    """Each look gives one sample for each operation of each rank and window of ``interval_s`` that is over."""

    def __init__(self, config: Config, context: CollectorContext) -> None:
        self._config, self._ledger = config, context.ledger
        self._reading = Reading(config)
        self._looking: asyncio.Future[Look] | None = None
        self._epoch_ns, self._seq = context.clock(), 0
        self._no_table = SeriesTable(config.job_name, config.device, ())
        self._problem = ""

    @property
    def name(self) -> str:
        return self._config.job_name

    @property
    def interval_s(self) -> float:
        return self._config.interval_s

    @property
    def priority(self) -> Priority:
        return Priority.NORMAL

    @property
    def unmapped(self) -> Set[str]:
        return self._reading.unmapped

    def source_series(self) -> Iterator[SourceSeries]:
        """Of all operations that are known."""
        return self._reading.source_series()

    async def collect(self, now_ns: int) -> SampleBatch:
        began_s = time.monotonic()
        try:
            found = await self._look(now_ns)
        except OutOfDescriptors:
            raise
        except Exception as error:
            reason = reason_of(error)
            self._report(str(error) or "no answer in time", error if reason is DownReason.INTERNAL else None)
            none = np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.float64)
            return SampleBatch(self._no_table, self._collection(now_ns, began_s, reason), *none)
        self._report("")
        return self._batch(found, now_ns, began_s)

    async def stop(self) -> None:
        """Nothing is open between collections."""

    async def _look(self, now_ns: int) -> Look:
        """In a thread: a folder on a network may hang. What a look finds that comes back late is the next one's."""
        if self._looking is None:
            self._looking = asyncio.ensure_future(asyncio.to_thread(self._reading.look, now_ns))
            self._looking.add_done_callback(_forget_error)
        looking = self._looking
        async with asyncio.timeout(self._config.timeout_s):
            await asyncio.wait([looking])
        self._looking = None
        return looking.result()

    def _batch(self, found: Look, now_ns: int, began_s: float) -> SampleBatch:
        job, samples = self.name, found.samples
        self._ledger.received(samples.values.size + found.dropped.total(), job)
        for reason, count in found.dropped.items():
            self._ledger.dropped(reason, count, job)
        self._ledger.unmapped(found.unmapped)
        metrics.RECORDS_READ.labels(job).inc(found.records)
        for refusal, count in found.refused.items():
            metrics.RECORDS_REFUSED.labels(job, refusal).inc(count)
        metrics.BYTES_LOST.labels(job).inc(found.lost.bytes_lost)
        metrics.BYTES_OF_HISTORY.labels(job).inc(found.lost.bytes_of_history)
        collection = self._collection(now_ns, began_s, None, found.unmapped, found.left_out)
        return SampleBatch(samples.table, collection, samples.times_ns, samples.rows, samples.values)

    def _collection(
        self, now_ns: int, began_s: float, down: DownReason | None, unmapped: int = 0, left_out: int = 0
    ) -> Collection:
        seq, self._seq = self._seq, self._seq + 1
        return Collection(
            self._epoch_ns, seq, now_ns, time.monotonic() - began_s, down, unmapped=unmapped, left_out=left_out
        )

    def _report(self, problem: str, error: Exception | None = None) -> None:
        """Logs changes, not every collection."""
        if problem == self._problem:
            return
        self._problem = problem
        bound = log.bind(target=self.name, device=self._config.device)
        if problem:
            bound.warning("target is down", error=problem[:200], exc_info=error)
        else:
            bound.info("target is up")


def nccl_inspector_collectors(configs: Iterable[Config], context: CollectorContext) -> list[NcclInspectorCollector]:
    """One a folder."""
    return [NcclInspectorCollector(config, context) for config in configs]


def _forget_error(looking: "asyncio.Future[Look]") -> None:
    """Of a look that comes back when nobody collects any more."""
    if not looking.cancelled():
        looking.exception()
