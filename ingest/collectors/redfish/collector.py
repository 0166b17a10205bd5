"""The collector of one management controller."""

import asyncio
from collections.abc import Collection, Iterable, Iterator

import structlog

from common.units import to_ns
from ingest.admission.line import Priority
from ingest.collectors.base import CollectorContext, CollectorOutput, SourceSeries
from ingest.collectors.canonical_samples import SourceSample, TargetSamples, Values
from ingest.collectors.redfish import metrics
from ingest.collectors.redfish.config import Config, Target
from ingest.collectors.redfish.controller import Controller, NotRead, Scope
from ingest.collectors.redfish.logs import metrics as log_metrics
from ingest.collectors.redfish.logs.reading import LogReader
from ingest.collectors.redfish.parse import Document
from ingest.collectors.redfish.walk import read_all
from telemetry.samples import DownReason

_SYSTEM = "redfish"
_PROBLEMS_MAX = 100  # of one controller that are logged

log = structlog.get_logger("ingest")


class RedfishCollector:
    """Walks the resources of one controller each interval, and its logs more rarely.

    What lists others is remembered for ``layout_s``.
    """

    def __init__(self, config: Config, target: Target, context: CollectorContext) -> None:
        self._config, self._target, self._context = config, target, context
        self._controller = Controller(config, target.address, context.clock)
        self._samples = TargetSamples(self.name, target.device, _SYSTEM, context.clock())
        self._logs = LogReader(config.logs, context.clock, self._logged) if config.logs is not None else None
        self._layout: dict[str, Document] = {}
        self._laid_out_ns = 0
        self._down: DownReason | None = None
        self._problems: set[str] = set()

    @property
    def name(self) -> str:
        return f"{self._config.job_name}/{self._target.address}"

    @property
    def interval_s(self) -> float:
        return self._config.interval_s

    @property
    def priority(self) -> Priority:
        return Priority.NORMAL

    @property
    def unmapped(self) -> Collection[str]:
        """Names that the controller sent and that nothing maps."""
        return self._samples.unmapped

    def source_series(self) -> Iterator[SourceSeries]:
        """Of the last collection."""
        return self._samples.source_series()

    async def collect(self, now_ns: int) -> CollectorOutput:
        """One batch, or one with the reason why there is none."""
        clock = asyncio.get_running_loop().time
        began_s = clock()
        if now_ns - self._laid_out_ns >= to_ns(self._config.layout_s):
            self._layout, self._laid_out_ns = {}, now_ns
        self._controller.begin()
        try:
            async with asyncio.timeout(self._config.timeout_s):
                found = await read_all(self)
            if len(found) > self._config.limits.samples_max:
                raise NotRead(DownReason.TOO_MANY_SERIES, f"more than {self._config.limits.samples_max} samples")
        except TimeoutError:
            return await self._failed(DownReason.TIMEOUT, "no whole answer in time", now_ns, clock() - began_s)
        except NotRead as error:
            return await self._failed(error.reason, str(error), now_ns, clock() - began_s)
        found += await self._log_samples(now_ns, began_s + self._config.timeout_s)
        return self._read(found, now_ns, clock() - began_s)

    async def stop(self) -> None:
        try:
            async with asyncio.timeout(self._config.timeout_s):
                await self._controller.stop()
        except TimeoutError:
            log.warning("controller did not end the session", target=self.name)

    async def layout(self, path: str) -> Document:
        """A resource that says what there is."""
        if path not in self._layout:
            self._layout[path] = await self._controller.get(path)
        return self._layout[path]

    async def reading(self, path: str) -> Document:
        """A resource as it is now."""
        return await self._controller.get(path)

    def failed(self, error: NotRead) -> None:
        """Counted, and logged once."""
        metrics.RESOURCES_FAILED.labels(self._config.job_name, error.reason.value).inc()
        if (problem := str(error)) not in self._problems and len(self._problems) < _PROBLEMS_MAX:
            self._problems.add(problem)
            log.warning("resource is not read", target=self.name, error=problem[:200])

    async def _log_samples(self, now_ns: int, ends_s: float) -> list[SourceSample]:
        """Of a reading of the logs, where one is due: between two of them there are none, so that what is new is known
        to have been logged since the last one. ends_s: of the collection, by the loop's clock."""
        if self._logs is None or not self._logs.is_due(now_ns):
            return []
        try:
            async with asyncio.timeout_at(ends_s):
                cut = await self._logs.read(self, now_ns)
            log_metrics.READINGS_CUT.labels(self._config.job_name).inc(cut)
        except TimeoutError:
            self.failed(NotRead(DownReason.TIMEOUT, "logs: not read in time", Scope.RESOURCE))
        except NotRead as error:
            self.failed(error)
        return self._logs.samples(now_ns)

    def _logged(self, outcome: log_metrics.Outcome, n: int) -> None:
        """Counts what became of entries of logs; those that are events are received with their samples."""
        log_metrics.ENTRIES.labels(self._config.job_name, outcome).inc(n)
        if (reason := log_metrics.DROPPED.get(outcome)) is not None:
            self._context.ledger.received(n, self.name)
            self._context.ledger.dropped(reason, n, self.name)

    def _read(self, found: list[SourceSample], now_ns: int, duration_s: float) -> CollectorOutput:
        batch = self._samples.batch(self._samples.read(Values.of(found)), now_ns, duration_s, self._context.ledger)
        self._report(batch.collection.down, "no known reading")
        return batch

    async def _failed(self, reason: DownReason, message: str, now_ns: int, duration_s: float) -> CollectorOutput:
        """The next collection begins from the root, over a new connection: certificates may have been replaced."""
        self._layout = {}
        await self.stop()
        self._report(reason, message)
        return self._samples.down(reason, now_ns, duration_s)

    def _report(self, down: DownReason | None, message: str) -> None:
        """Logged when it changes."""
        if down is not None and down != self._down:
            log.warning("target is down", target=self.name, device=self._target.device, reason=down, error=message)
        self._down = down


def redfish_collectors(configs: Iterable[Config], context: CollectorContext) -> list[RedfishCollector]:
    """One a target."""
    return [RedfishCollector(config, target, context) for config in configs for target in config.targets]
