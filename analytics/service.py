"""The analytics stage: samples, topology and changes from the bus; findings and incidents to it."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import structlog

from analytics import metrics
from analytics.config import AnalyticsConfig
from analytics.engine import Output
from analytics.stage_topics import StageTopics
from analytics.warm_up import warm_up
from analytics.worker import StepResult, Worker
from bus.base import Bus, Consumer, Gap, Message, Record
from bus.deadletter import dead_letter
from bus.publishing import publish_with_retry
from bus.reporting import publish_report
from common.tasks import first_failure
from common.threads import OneThread
from telemetry.codec.records import encode_record
from telemetry.findings import Finding
from telemetry.starvation import HostLosses
from telemetry.topics import Topic
from telemetry.trends import DeviceTrends

_STOP_S_MAX = 5.0
# Between two rounds without a backlog, in intervals: a round costs the same with one record as with a hundred.
_PAUSE_INTERVALS, _PAUSE_S_MAX = 0.2, 0.2
log = structlog.get_logger("analytics")


class AnalyticsService:
    """One analytics worker. One process at a time for one ``config.state_dir``.

    clock: wall clock in nanoseconds, for the ledger only. namespace: of a replay; None for live topics.
    Outputs are published before the snapshot that has seen them, and their ids depend on the telemetry alone: after a
    crash the same ones are published again, which changes nothing.
    """

    def __init__(
        self,
        config: AnalyticsConfig,
        bus: Bus,
        clock: Callable[[], int] = time.time_ns,
        namespace: str | None = None,
    ) -> None:
        self._config, self._bus, self._clock = config, bus, clock
        self._topics = StageTopics() if namespace is None else StageTopics().in_namespace(namespace)
        self.worker = Worker(config, self._topics.topology)
        self._off_loop = OneThread("analytics")
        self._task: asyncio.Task[None] | None = None
        self._consumers: list[Consumer] = []
        self._stopping = False
        self._problem: str | None = None
        self._failed: set[str] = set()

    async def start(self) -> None:
        """Loads the snapshot and goes on in the background."""
        log.info("analytics started", state=await self._off_loop(self.worker.load, self._clock()))
        self._reported = self.worker.report(self._clock())
        self._task = asyncio.create_task(self._run())

    async def wait(self) -> None:
        """Returns when the work ends by itself; its error is raised."""
        assert self._task is not None, "start the service first"
        await first_failure([self._task])

    async def stop(self) -> None:
        """Finishes the round in progress, writes a snapshot; idempotent, bounded in time."""
        self._stopping = True
        task, self._task = self._task, None
        if task is None:
            return
        await asyncio.wait({task}, timeout=_STOP_S_MAX)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await task
        for consumer in self._consumers:
            await consumer.stop()
        self._consumers.clear()
        self._off_loop.stop()

    def problem(self) -> str | None:
        """None, or what is wrong, in words."""
        if self._task is not None and self._task.done():
            return "analytics has ended"
        return self._problem

    async def _run(self) -> None:
        log.info("compiling", note="half a minute at the first start, a second later on")
        await self._off_loop(warm_up)
        cluster_records = self._consume(self._topics.topology, self._topics.changes)
        samples = self._consume(self._topics.samples)
        pause_s = min(_PAUSE_INTERVALS * self._config.engine.interval_s, _PAUSE_S_MAX)
        saved_s = reported_s = time.monotonic()
        while not self._stopping:
            await self._process_cluster_records(cluster_records)
            if not await self._process_samples(samples):
                await asyncio.sleep(pause_s)
            now_s = time.monotonic()
            if now_s - saved_s >= self._config.snapshot_every_s:
                saved_s = now_s
                await self._save()
            if now_s - reported_s >= self._config.report_every_s:
                reported_s = now_s
                await self._report()
        await self._save()
        await self._report()

    def _consume(self, *read: Topic) -> Consumer:
        """From where the snapshot has seen them."""
        names = {topic.name for topic in read}
        start = {partition: offset for partition, offset in self.worker.mark.offsets.items() if partition[0] in names}
        consumer = self._bus.consume(read, start)
        self._consumers.append(consumer)
        return consumer

    async def _process_cluster_records(self, consumer: Consumer) -> None:
        """All topology and changes that are there, before the samples that they explain."""
        wait_s = 0.0
        while not self._stopping:
            records = await self._poll(consumer, wait_s)
            if records:
                await self._publish_results(await self._off_loop(self.worker.process_cluster_records, records))
            elif not await consumer.behind():
                return
            wait_s = 0.2  # the bus may be away: no busy waiting

    async def _process_samples(self, samples: Consumer) -> bool:
        """Whether more is waiting already."""
        records = await self._poll(samples, wait_s=0.2)
        behind = await samples.behind()
        await self._publish_results(await self._off_loop(self.worker.process_samples, records, behind))
        return bool(behind)

    async def _poll(self, consumer: Consumer, wait_s: float) -> list[Record]:
        try:
            return await consumer.poll(records_max=self._config.records_max, wait_s=wait_s)
        except Gap as gap:
            self.worker.gaps += 1
            metrics.GAPS.inc()
            self._problem = f"gap: {gap}"
            log.warning("gap on the bus", topic=gap.topic, partition=gap.partition, first=gap.first, last=gap.last)
            return []

    async def _publish_results(self, result: StepResult) -> None:
        """Publishes everything of one step; tries until the bus takes it or the service stops."""
        for record, error in result.corrupt:
            metrics.RECORDS_CORRUPT.labels(record.topic, error.reason).inc()
            log.warning(
                "corrupt record", topic=record.topic, offset=record.offset, reason=error.reason, error=str(error)
            )
            await self._send(partial(dead_letter, self._bus, record, error, topic=self._topics.deadletter))
        for detector, failure in result.failures:
            if detector not in self._failed:  # it may fail in every tick
                self._failed.add(detector)
                log.error("detector failed", detector=detector, exc_info=failure)
            metrics.DETECTOR_FAILURES.labels(detector).inc()
        findings = [output for output in result.outputs if isinstance(output, Finding)]
        incidents = [output for output in result.outputs if not isinstance(output, Finding)]
        await self._publish(self._topics.findings, findings)
        await self._publish(self._topics.incidents, incidents)
        await self._publish(self._topics.starvation, result.losses)
        await self._publish(self._topics.trends, result.trends)

    async def _publish(self, topic: Topic, outputs: Sequence[Output | HostLosses | DeviceTrends]) -> None:
        if not outputs:
            return
        messages = [Message(output.id.encode(), encode_record(output)) for output in outputs]
        await self._send(partial(self._bus.publish, topic, messages))
        metrics.RECORDS_PUBLISHED.labels(topic.name).inc(len(messages))

    async def _send(self, publish: Callable[[], Awaitable[None]]) -> None:
        await publish_with_retry(publish, failed=self._publish_failed)
        self._problem = None

    def _publish_failed(self, error: Exception) -> None:
        self._problem = f"bus: {error}"
        metrics.PUBLISH_RETRIES.inc()

    async def _save(self) -> None:
        try:
            await self._off_loop(self.worker.save)
            metrics.SNAPSHOTS.labels("written").inc()
        except OSError as error:
            metrics.SNAPSHOTS.labels("failed").inc()
            self._problem = f"snapshot: {error.strerror}"
            log.error("snapshot failed", error=str(error))

    async def _report(self) -> None:
        report = self.worker.report(self._clock())
        metrics.update(report, self._reported)
        self._reported = report
        await publish_report(self._bus.publish, report, self._topics.ledger)
