"""The analytics stage: samples, topology and changes from the bus; findings and incidents to it."""

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

import structlog

from analytics import metrics
from analytics.config import AnalyticsConfig
from analytics.engine import Output
from analytics.warm_up import warm_up
from analytics.worker import StepResult, Worker, start_of, topics_of
from bus.base import Bus, Consumer, Gap, Message, Record
from bus.deadletter import dead_letter
from bus.reporting import publish_report
from common.errors import Unavailable
from common.tasks import first_failure
from telemetry.codec.records import encode_record
from telemetry.findings import Finding
from telemetry.starvation import HostLosses
from telemetry.topics import Topic
from telemetry.trends import DeviceTrends

P = ParamSpec("P")
T = TypeVar("T")
_STOP_S_MAX = 5.0
_RETRY_S_MAX = 10.0
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
        (
            self._samples,
            self._topology,
            self._changes,
            self._findings,
            self._incidents,
            self._starvation,
            self._trends,
            self._ledger,
            self._deadletters,
        ) = topics_of(namespace)
        self.worker = Worker(config, self._topology)
        self._thread: ThreadPoolExecutor | None = None
        self._task: asyncio.Task[None] | None = None
        self._consumers: list[Consumer] = []
        self._stopping = False
        self._problem: str | None = None
        self._failed: set[str] = set()

    async def start(self) -> None:
        """Loads the snapshot and goes on in the background."""
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="analytics")
        log.info("starting", state=await self._off_loop(self.worker.load, self._clock()))
        self._task = asyncio.create_task(self._run())

    async def wait(self) -> None:
        """For ever, or until the work ends by itself: then its error is raised."""
        assert self._task is not None, "start the service first"
        await first_failure([self._task])

    async def stop(self) -> None:
        """Finishes the round in progress, writes a snapshot; idempotent, bounded in time."""
        self._stopping = True
        task, self._task = self._task, None
        if task is not None:
            await asyncio.wait({task}, timeout=_STOP_S_MAX)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task
        for consumer in self._consumers:
            await consumer.stop()
        self._consumers.clear()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(wait=True, cancel_futures=True)

    def problem(self) -> str | None:
        """None, or what is wrong, in words."""
        if self._task is not None and self._task.done():
            return "analytics has ended"
        return self._problem

    async def _run(self) -> None:
        log.info("compiling", note="half a minute at the first start, a second later on")
        await self._off_loop(warm_up)
        offsets = self.worker.mark.offsets
        fact_topics, sample_topics = (self._topology, self._changes), (self._samples,)
        facts = self._bus.consume(fact_topics, start_of(offsets, fact_topics))
        samples = self._bus.consume(sample_topics, start_of(offsets, sample_topics))
        self._consumers = [facts, samples]
        pause_s = min(_PAUSE_INTERVALS * self._config.engine.interval_s, _PAUSE_S_MAX)
        saved_s = reported_s = time.monotonic()
        while not self._stopping:
            await self._process_facts(facts)
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

    async def _process_facts(self, facts: Consumer) -> None:
        """All facts that are there, before the samples that they explain."""
        wait_s = 0.0
        while not self._stopping:
            records = await self._poll(facts, wait_s)
            if records:
                await self._publish_results(await self._off_loop(self.worker.process_facts, records))
            elif not await facts.behind():
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
            log.warning("gap", topic=gap.topic, partition=gap.partition, first=gap.first, last=gap.last)
            return []

    async def _publish_results(self, result: StepResult) -> None:
        """Publishes everything of one step; tries until the bus takes it or the service stops."""
        for record, error in result.corrupt:
            metrics.CORRUPT.labels(record.topic, error.reason).inc()
            log.warning("corrupt record", topic=record.topic, offset=record.offset, reason=error.reason)
            await self._insist(partial(dead_letter, self._bus, record, error, topic=self._deadletters))
        for detector, failure in result.failures:
            if detector not in self._failed:  # it may fail in every tick
                self._failed.add(detector)
                log.error("detector failed", detector=detector, exc_info=failure)
            metrics.FAILURES.labels(detector).inc()
        findings = [output for output in result.outputs if isinstance(output, Finding)]
        incidents = [output for output in result.outputs if not isinstance(output, Finding)]
        await self._publish(self._findings, findings)
        await self._publish(self._incidents, incidents)
        await self._publish(self._starvation, result.losses)
        await self._publish(self._trends, result.trends)

    async def _publish(self, topic: Topic, outputs: Sequence[Output | HostLosses | DeviceTrends]) -> None:
        if not outputs:
            return
        messages = [Message(output.id.encode(), encode_record(output)) for output in outputs]
        await self._insist(partial(self._bus.publish, topic, messages))
        metrics.OUTPUTS.labels(topic.name).inc(len(messages))

    async def _insist(self, publish: Callable[[], Awaitable[None]]) -> None:
        wait_s = 0.1
        while True:
            try:
                await publish()
                self._problem = None
                return
            except Unavailable as error:
                self._problem = f"bus: {error}"
                metrics.RETRIES.inc()
                await asyncio.sleep(wait_s * random.uniform(0.5, 1.0))
                wait_s = min(2 * wait_s, _RETRY_S_MAX)

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
        metrics.show(report)
        await publish_report(self._bus.publish, report, self._ledger)

    async def _off_loop(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(function, *args, **kwargs))
