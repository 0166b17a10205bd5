"""The ingest stage: runs collectors, scheduler and publisher, and reports what they did."""

import asyncio
import contextlib
import resource
import sys
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import structlog

from bus.base import Bus
from bus.owner.ownership import Ownership
from bus.owner.publishing import OwnedPublishing
from bus.owner.role import role_of
from bus.reporting import publish_report
from common.errors import Superseded
from common.tasks import first_failure
from ingest.admission.admission import Admission
from ingest.admission.cpu_shortage import CpuShortage
from ingest.admission.gate import Gate
from ingest.admission.memory import MemoryUse
from ingest.admission.page_bytes import PageBytes
from ingest.collectors.base import (
    Clock,
    CollectorContext,
    CollectorOutput,
    Collectors,
    DiscoveryJob,
    StreamCollector,
)
from ingest.config import CollectorSections, IngestConfig
from ingest.ledger import STAGE, Ledger
from ingest.metrics import TARGETS
from ingest.publish import Publisher
from ingest.registry import build_collectors
from ingest.scheduler import Scheduler
from ingest.series_budget import SeriesBudget
from telemetry.ledger import SERIES_REFUSED, StageReport
from telemetry.samples import SampleBatch
from telemetry.topology import TargetList, TopologyFact

log = structlog.get_logger("ingest")
_RESTART_S = 5.0
_STOP_S = 2.0
_WORKERS = 2
_SWITCH_S = 0.0005
"""The event loop takes the interpreter back for each message of a socket. At Python's 5 ms it would do 200 of them a
second while a thread decodes, and fewer with half a core."""


class IngestService:
    """Collects everything of its configuration until it is stopped, or a newer process of the same ``instance`` and the
    same sources publishes on the bus: see ``wait``.

    bus: started and stopped by the caller. clock: event time of what carries none, nanoseconds.
    """

    def __init__(self, config: IngestConfig, bus: Bus, clock: Clock = time.time_ns) -> None:
        self._config, self._clock = config, clock
        self._owned = OwnedPublishing(bus, Ownership(bus, role_of(STAGE, sources_of(config))))
        self._ledger = Ledger(clock())
        self._cpu = CpuShortage()
        is_short = self._cpu.is_short
        self._publisher = Publisher(config.publish, self._owned, self._ledger, clock, is_short_of_cpu=is_short)
        self._pace = config.scheduler.device_pace()
        self._budget = SeriesBudget(config.new_series_per_hour, self._ledger)
        self._scheduler: Scheduler | None = None
        self._admission: Admission | None = None
        self._workers: ThreadPoolExecutor | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._listing: tuple[str, ...] = ()  # jobs whose targets are published

    async def start(self) -> None:
        """ConfigError when a file that the configuration names is missing or wrong."""
        sys.setswitchinterval(_SWITCH_S)
        self._workers = ThreadPoolExecutor(_WORKERS, "decode")
        pages = PageBytes()
        context = CollectorContext(self._ledger, self._clock, self._workers, pages, self._publisher.is_full, self._pace)
        sections = build_collectors(self._config, context)
        _raise_file_limit()
        gate = Gate(self._config.scheduler, pages)
        self._scheduler = Scheduler(gate, self._emit, self._clock)
        memory = MemoryUse(self._config.memory_bytes_max)
        waits_s = self._publisher.unpublished_s
        self._admission = Admission(gate, self._scheduler, self._workers, memory, self._cpu, waits_s)
        await self._publisher.start()
        listing = [collectors.fixed.keys() | {job.name for job in collectors.discovering} for collectors in sections]
        self._listing = tuple(sorted(set().union(*listing)))
        for collectors in sections:
            self._run(collectors, self._scheduler)
        self._spawn(self._admission.run())
        self._spawn(self._report_always())

    async def wait(self) -> None:
        """For ever, or until the work fails: then its error is raised, Superseded when a newer process publishes."""
        await first_failure([*self._tasks, *self._publisher.tasks])

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_STOP_S)
            self._tasks.clear()
        if self._scheduler is not None:
            await self._scheduler.stop()
            self._scheduler = None
            await self._publisher.stop()
            with contextlib.suppress(Superseded):
                await self._publish_report()
        await self._owned.stop()
        if self._workers is not None:
            self._workers.shutdown(wait=False, cancel_futures=True)
            self._workers = None

    def problem(self) -> str | None:
        """None, or why what the bus does not take is in memory alone, in words."""
        return self._publisher.problem()

    def report(self) -> StageReport:
        """What was counted so far."""
        scheduler = self._scheduler
        details = {
            "targets": float(len(scheduler.names) if scheduler else 0),
            "targets_up": float(scheduler.targets_up if scheduler else 0),
            "targets_over_series_budget": float(self._budget.targets_over),
            **(self._admission.details() if self._admission else {}),
            "requests_waiting": float(self._pace.waiting),
            **{SERIES_REFUSED + name: float(count) for name, count in self._budget.refused().items()},
            **self._publisher.details(),
        }
        return self._ledger.report(self._config.instance, self._clock(), self._publisher.queued, details)

    def _emit(self, output: CollectorOutput) -> None:
        self._publisher.enqueue(self._budget.admit(output) if isinstance(output, SampleBatch) else output)

    def _run(self, collectors: Collectors, scheduler: Scheduler) -> None:
        for poller in collectors.polled:
            scheduler.add(poller)
        for job in collectors.discovering:
            self._spawn(self._follow(job, scheduler))
        for name, targets in collectors.fixed.items():
            self._publish_targets(name, targets)
        for streamer in collectors.streaming:
            self._spawn(self._stream(streamer))

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(work))

    async def _follow(self, job: DiscoveryJob, scheduler: Scheduler) -> None:
        """Keeps the scheduler's targets of one job equal to those that discovery finds."""
        published = None
        while True:
            changes = await job.refresh()
            scheduler.remove(changes.removed)
            added = {collector.name for collector in changes.added}
            for name in changes.removed:
                self._budget.forget(name)
                if name not in added:  # else it goes on with other labels
                    self._ledger.forget(name)
            if changes.targets is not None and changes.targets != published:
                published = changes.targets  # after the last collection of what is removed
                self._publish_targets(job.name, published)
            for collector in changes.added:
                scheduler.add(collector)
            TARGETS.set(len(scheduler.names))
            if job.refresh_s is None:
                return
            await asyncio.sleep(job.refresh_s)

    def _publish_targets(self, job: str, targets: tuple[tuple[str, str], ...]) -> None:
        entity = TargetList(self._config.instance, job, self._listing, targets)
        self._emit([TopologyFact(entity, self._clock(), f"{STAGE}/{self._config.instance}")])

    async def _stream(self, collector: StreamCollector) -> None:
        """A stream ends only by our own bug: it is started again after a wait."""
        while True:
            try:
                await collector.run(self._emit)
            except Exception:
                log.exception("stream failed and will restart", target=collector.name)
            await asyncio.sleep(_RESTART_S)

    async def _report_always(self) -> None:
        while True:
            await asyncio.sleep(self._config.report_interval_s)
            await self._publish_report()

    async def _publish_report(self) -> None:
        self._ledger.update_metrics()
        await publish_report(self._owned.publish, self.report())


def sources_of(config: IngestConfig) -> dict[str, Any]:
    """What this process collects, as configured, and its name: two that are named apart do not concern each other,
    since lists of targets of the same path may differ between machines.
    """
    return config.model_dump(mode="json", include={"instance", *CollectorSections.model_fields})


def _raise_file_limit() -> None:
    """Each target keeps a connection open: raise the limit to what the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
