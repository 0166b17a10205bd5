"""The analytics stage: samples, topology and changes from the bus; findings and incidents to it."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import structlog

from analytics import metrics
from analytics.config import LIGHT_TICKS, AnalyticsConfig
from analytics.engine import Output
from analytics.stage_topics import StageTopics
from analytics.warm_up import warm_up
from analytics.window.watermark import AHEAD_NS_MAX
from analytics.worker import STAGE, StepResult, Worker
from bus.base import Bus, Consumer, Gap, Message, Record
from bus.deadletter import dead_letter
from bus.lag import Lag
from bus.owner.fence import STALE_OWNER
from bus.owner.ownership import Ownership
from bus.owner.role import Role
from bus.publishing import publish_with_retry
from bus.quarantine.quarantine import Quarantine
from bus.reporting import publish_report
from common.folder_lock import FolderLock
from common.tasks import first_failure
from common.threads import OneThread
from common.units import NS_PER_S
from telemetry.codec.records import encode_record
from telemetry.events import Event, EventState
from telemetry.findings import Finding
from telemetry.starvation import HostLosses
from telemetry.topics import Topic
from telemetry.trends import DeviceTrends

_STOP_S_MAX = 5.0
# Three intervals: as long as an incident may come late, and a snapshot may wait for it.
_UNCORRELATED_TICKS_MAX = 6 * LIGHT_TICKS
_WARN_EVERY_S = 60.0
# Between two rounds without a backlog, in intervals: a round costs the same with one record as with a hundred.
_PAUSE_INTERVALS, _PAUSE_S_MAX = 0.2, 0.2
log = structlog.get_logger("analytics")


class AnalyticsService:
    """One analytics worker: the only one with this ``config.state_dir``, and the owner of its outputs on the bus.

    clock: wall clock in nanoseconds, for the ledger and the owner's epoch only. bus_tells_time: whether event time is
    the bus's time; not that of a simulated cluster that runs faster. namespace: of a replay; None for live topics.
    Outputs are published before the snapshot that has seen them, and their ids depend on the telemetry alone: after a
    crash the same ones are published again, which changes nothing. A newer owner ends this one: see ``wait``.
    """

    def __init__(
        self,
        config: AnalyticsConfig,
        bus: Bus,
        clock: Callable[[], int] = time.time_ns,
        namespace: str | None = None,
        *,
        bus_tells_time: bool = True,
    ) -> None:
        self._config, self._bus, self._clock = config, bus, clock
        self._bus_tells_time = bus_tells_time
        self._topics = StageTopics() if namespace is None else StageTopics().in_namespace(namespace)
        self.worker = Worker(config, self._topics.topology)
        self._ownership = Ownership(bus, Role(STAGE), self._topics.owned, topic=self._topics.owners, clock=clock)
        self._lock = FolderLock(config.state_dir / "lock", "analytics.state_dir")
        self._quarantine = Quarantine(config.state_dir / "crashes.json", bus, self._topics.deadletter)
        self._lag = Lag(STAGE)
        self._off_loop = OneThread("analytics")
        self._task: asyncio.Task[None] | None = None
        self._consumers: list[Consumer] = []
        self._stopping = False
        self._problem: str | None = None
        self._failed: set[str] = set()
        self._warn_s = 0.0

    async def start(self) -> None:
        """Loads the snapshot and goes on in the background. ConfigError when another process uses ``state_dir``."""
        await self._off_loop(self._lock.acquire)
        try:
            loaded = await self._off_loop(self.worker.load, self._clock())
        except BaseException:
            self._lock.release()
            raise
        log.info("analytics started", state=loaded)
        self._quarantine.start()
        self.worker.engine.attempt = self._quarantine.attempt
        self._reported = self.worker.report(self._clock())
        self._task = asyncio.create_task(self._run())

    async def wait(self) -> None:
        """Returns when the work ends by itself; its error is raised, Superseded when a newer process took over."""
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
        await self._ownership.stop()
        self._off_loop.stop()
        self._lock.release()
        self._quarantine.stop()

    def problem(self) -> str | None:
        """None, or what is wrong, in words."""
        if self._task is not None and self._task.done():
            error = None if self._task.cancelled() else self._task.exception()
            return "analytics has ended" if error is None else f"analytics has ended: {error}"
        return self._problem or self._clock_problem() or self._quarantine.problem()

    def _clock_problem(self) -> str | None:
        """A bus that is behind this machine would let every collection look as if it were ahead: it is not asked."""
        behind_ns = -(self._bus.clock_ahead_ns() or 0)
        if not self._bus_tells_time or behind_ns <= AHEAD_NS_MAX:
            return None
        return f"clocks: the bus is {behind_ns // NS_PER_S:,} s behind this machine"

    async def _run(self) -> None:
        log.info("compiling", note="half a minute at the first start, a second later on")
        await self._off_loop(warm_up)
        await self._send(self._ownership.claim)  # which compares the clocks, before the bus's judges anything
        log.info("analytics owns its outputs", epoch=self._ownership.epoch)
        cluster_records = self._consume(self._topics.topology, self._topics.changes)
        samples = self._consume(self._topics.samples)
        pause_s = min(_PAUSE_INTERVALS * self._config.engine.interval_s, _PAUSE_S_MAX)
        saved_s = reported_s = time.monotonic()
        while not self._stopping:
            await self._ownership.look()
            if not await self._process_samples(samples, cluster_records):
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
        consumer = self._quarantine.guard(self._bus.consume(read, start))
        self._consumers.append(consumer)
        return consumer

    async def _process_samples(self, samples: Consumer, cluster_records: Consumer) -> bool:
        """Whether more is waiting already."""
        records = await self._poll(samples, wait_s=0.2)
        behind = await samples.behind()
        # After the samples were read: however long the process stood still in between, what explains them is known.
        if not await self._process_cluster_records(cluster_records):
            return False
        bus_tells_time = self._bus_tells_time and self._clock_problem() is None
        with self._quarantine.working_on(records):
            step = partial(self.worker.process_samples, records, behind, bus_tells_time=bus_tells_time)
            result = await self._off_loop(step)
        await self._publish_results(result)
        await self._correlate(self.worker.engine.ticks_uncorrelated - 1)
        return bool(behind) or self.worker.engine.ticks_uncorrelated > 0

    async def _correlate(self, ticks_left: int) -> None:
        """Scores never wait for the correlation of more than one tick, unless the oldest is too far behind."""
        while self.worker.engine.ticks_uncorrelated > max(0, min(ticks_left, _UNCORRELATED_TICKS_MAX)):
            await self._publish(self._topics.incidents, await self._off_loop(self.worker.engine.correlate))

    async def _process_cluster_records(self, consumer: Consumer) -> bool:
        """All topology and changes that are there; False when the service stops before that."""
        wait_s = 0.0
        while not self._stopping:
            records = await self._poll(consumer, wait_s)
            if records:
                with self._quarantine.working_on(records):
                    result = await self._off_loop(self.worker.process_cluster_records, records)
                await self._publish_results(result)
            elif not await consumer.behind():
                return True
            wait_s = 0.2  # the bus may be away: no busy waiting
        return False

    async def _poll(self, consumer: Consumer, wait_s: float) -> list[Record]:
        try:
            return await consumer.poll(records_max=self._config.records_max, wait_s=wait_s)
        except Gap as gap:
            self.worker.gaps += 1
            metrics.GAPS.inc()
            self.worker.fence.forget((gap.topic, gap.partition))
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
        for record in result.stale:
            metrics.RECORDS_DROPPED.labels(STALE_OWNER).inc()
            log.warning("record of a replaced owner", topic=record.topic, offset=record.offset)
        for detector, failure in result.failures:
            if detector not in self._failed:  # it may fail in every tick
                self._failed.add(detector)
                log.error("detector failed", detector=detector, exc_info=failure)
            metrics.DETECTOR_FAILURES.labels(detector).inc()
        self._warn_of_clocks(result.ahead)
        findings = [output for output in result.outputs if isinstance(output, Finding)]
        incidents = [output for output in result.outputs if not isinstance(output, Finding)]
        await self._publish(self._topics.findings, findings)
        await self._publish(self._topics.incidents, incidents)
        await self._publish(self._topics.starvation, result.losses)
        await self._publish(self._topics.trends, result.trends)
        await self._publish(self._topics.events, result.events)
        for event in result.events:
            if event.state is EventState.ENDED:
                metrics.EVENTS.labels(event.kind).inc()
        for reason, number in result.events_dropped.items():
            metrics.EVENTS_DROPPED.labels(reason).inc(number)

    def _warn_of_clocks(self, ahead: Mapping[str, int]) -> None:
        """At most once a minute: a host with a wrong clock collects many targets."""
        if not ahead or time.monotonic() < self._warn_s:
            return
        self._warn_s = time.monotonic() + _WARN_EVERY_S
        target, ahead_ns = max(ahead.items(), key=lambda item: (item[1], item[0]))
        log.warning(
            "the clock of an ingest host is ahead: samples dropped",
            targets=len(ahead),
            target=target,
            ahead_seconds=ahead_ns // NS_PER_S,
        )

    async def _publish(self, topic: Topic, outputs: Sequence[Output | HostLosses | DeviceTrends | Event]) -> None:
        if not outputs:
            return
        headers = self._ownership.headers
        messages = [Message(output.id.encode(), encode_record(output), headers) for output in outputs]
        await self._send(partial(self._publish_owned, topic, messages))
        metrics.RECORDS_PUBLISHED.labels(topic.name).inc(len(messages))

    async def _publish_owned(self, topic: Topic, messages: Sequence[Message]) -> None:
        """Asks each time whether it still may: an attempt may come long after the one before."""
        await self._ownership.confirm()
        await self._bus.publish(topic, messages)

    async def _send(self, publish: Callable[[], Awaitable[None]]) -> None:
        await publish_with_retry(publish, failed=self._publish_failed)
        self._problem = None

    def _publish_failed(self, error: Exception) -> None:
        self._problem = f"bus: {error}"
        metrics.PUBLISH_RETRIES.inc()

    async def _save(self) -> None:
        await self._correlate(0)
        try:
            await self._off_loop(self.worker.save)
            metrics.SNAPSHOTS.labels("written").inc()
        except OSError as error:
            metrics.SNAPSHOTS.labels("failed").inc()
            self._problem = f"snapshot: {error.strerror}"
            log.error("snapshot failed", error=str(error))

    async def _report(self) -> None:
        report = self.worker.report(self._clock())
        report = replace(report, details={**report.details, **await self._lag.measure(*self._consumers)})
        metrics.update(report, self._reported)
        self._reported = report
        await self._ownership.look()
        await publish_report(self._bus.publish, report, self._topics.ledger, self._ownership.headers)
