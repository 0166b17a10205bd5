"""Remote write: samples, findings and incidents from the bus to a Prometheus-like receiver."""

import asyncio
import contextlib
import os
import socket
import sqlite3
import time
from collections.abc import Callable, Sequence

import structlog

from bus.base import Bus, Consumer, Gap, Offsets, Record
from bus.deadletter import dead_letter
from bus.reporting import publish_report
from common.errors import BadInput, Unavailable
from common.tasks import cancel, first_failure
from common.threads import OneThread
from common.units import NS_PER_MS, NS_PER_S
from export.remote_write import metrics
from export.remote_write.client import RemoteWriteClient
from export.remote_write.config import RemoteWriteConfig
from export.remote_write.encoder import Rows
from export.remote_write.intake import Intake, Reader
from export.remote_write.metrics import DropReason, SkipReason
from export.remote_write.position import Position
from export.remote_write.requests import count
from export.remote_write.shipping import Shipping
from telemetry import topics
from telemetry.ledger import StageReport

RECORDS_PER_POLL = 64
REPORT_S = 5.0
log = structlog.get_logger("remote_write")


class RemoteWriteService:
    """Exports to one receiver, at least once and in order; a slow receiver slows the reader, the bus keeps the rest.

    clock: wall clock in nanoseconds, for findings and incidents and the ledger; samples keep their own times.
    """

    def __init__(self, config: RemoteWriteConfig, bus: Bus, clock: Callable[[], int] = time.time_ns) -> None:
        self._config = config
        self._bus = bus
        self._clock = clock
        self._client = RemoteWriteClient(config)
        self._shipping = Shipping(config, self._client)
        self._position = Position(config.folder, config.name)
        self._reader = Reader(config)
        self._disk: OneThread | None = None
        self._consumer: Consumer | None = None
        self._offsets: Offsets = {}
        self._saved: Offsets = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._problem: str | None = None
        self._facts_due_s = 0.0
        self._started_ns = 0
        self._samples = self._repeated = 0
        self._dropped = dict.fromkeys(DropReason, 0)

    async def start(self) -> None:
        """ConfigError when the folder or the certificates are not usable; a receiver may come later."""
        self._started_ns = self._clock()
        self._disk = OneThread("export-position")
        await self._disk(self._position.open)
        self._offsets, saved = await self._disk(self._position.load)
        self._reader.facts.restore(saved)
        await self._client.start()
        if self._config.tls.insecure_skip_verify:
            log.warning("certificates are not checked", receiver=self._config.name)
        self._consumer = self._bus.consume([topics.SAMPLES, topics.FINDINGS, topics.INCIDENTS], self._offsets)
        self._tasks = [asyncio.create_task(self._export(self._consumer)), asyncio.create_task(self._report_often())]

    async def wait(self) -> None:
        """For ever, or until the work ends by itself: then its error is raised."""
        await first_failure(self._tasks)

    async def stop(self) -> None:
        """What was not taken yet is still on the bus."""
        tasks, self._tasks = self._tasks, []
        await cancel(tasks)
        if self._consumer is not None:
            await self._consumer.stop()
            self._consumer = None
        await self._client.stop()
        if self._disk is not None:
            await self._disk(self._position.close)
            self._disk.stop()
            self._disk = None

    def problem(self) -> str | None:
        """None, or what is wrong, in words."""
        return self._problem or self._shipping.problem

    def report(self) -> StageReport:
        """Samples read from the bus and what became of them; findings and incidents are not counted."""
        total = self._shipping.total
        dropped = {reason.value: number for reason, number in self._dropped.items()}
        dropped[DropReason.REJECTED] = total.rejected
        return StageReport(
            stage="remote_write",
            instance=f"{self._config.name}-{socket.gethostname()}-{os.getpid()}",
            epoch_ns=self._started_ns,
            at_ns=self._clock(),
            samples_in=self._samples,
            samples_out=total.sent,
            deduplicated=self._repeated,
            held=self._held(),
            dropped=dropped,
        )

    def _held(self) -> int:
        total = self._shipping.total
        gone = total.sent + total.rejected + self._repeated + sum(self._dropped.values())
        return self._samples - gone

    async def _export(self, consumer: Consumer) -> None:
        while True:
            blocks, newest_ns = await self._gather(consumer)
            blocks += self._facts()
            if blocks:
                await self._shipping.ship(blocks)
            if newest_ns:
                metrics.LAG.set((self._clock() - newest_ns) / NS_PER_S)
            metrics.HELD.set(self._held())
            await self._save()

    async def _gather(self, consumer: Consumer) -> tuple[list[Rows], int]:
        """Reads until a request is full or ``batch_wait_s`` have passed."""
        blocks: list[Rows] = []
        newest_ns = samples = 0
        deadline_s = time.monotonic() + self._config.batch_wait_s
        while samples < self._config.max_samples_per_send and (left_s := deadline_s - time.monotonic()) > 0:
            try:
                records = await consumer.poll(records_max=RECORDS_PER_POLL, wait_s=min(left_s, 0.5))
            except Gap as gap:
                metrics.GAPS.inc()
                log.error("samples are lost: the receiver was away for longer than the bus keeps", problem=str(gap))
                continue
            if not records:
                continue
            intake = await asyncio.to_thread(self._reader.read, records)
            self._count(intake)
            for record, error in intake.bad:
                await self._dead_letter(record, error)
            self._offsets |= {(each.topic, each.partition): each.offset + 1 for each in records}
            blocks += intake.blocks
            samples += count(intake.blocks)
            newest_ns = max(newest_ns, intake.newest_ns)
        return blocks, newest_ns

    def _facts(self) -> Sequence[Rows]:
        now_s = time.monotonic()
        if not self._reader.facts.changed and now_s < self._facts_due_s:
            return ()
        self._facts_due_s = now_s + self._config.facts_interval_s
        return self._reader.facts.rows(self._clock() // NS_PER_MS)

    async def _save(self) -> None:
        assert self._disk is not None, "start the service first"
        facts = self._reader.facts
        if self._offsets == self._saved and not facts.unsaved:
            return
        try:
            await self._disk(self._position.save, self._offsets, dict(facts.unsaved))
        except sqlite3.Error as error:
            # going on is right: after a crash more is repeated, and a receiver knows repetitions
            self._problem = f"position: {error}"
            log.error("position is not saved", problem=self._problem)
        else:
            facts.unsaved.clear()
            self._saved = dict(self._offsets)
            self._problem = None

    async def _dead_letter(self, record: Record, error: BadInput) -> None:
        known = error.reason in set(SkipReason)
        metrics.SKIPPED.labels(error.reason if known else SkipReason.OTHER).inc()
        log.warning("bad record", topic=record.topic, partition=record.partition, offset=record.offset, why=str(error))
        if error.reason == SkipReason.TOO_MANY:
            return
        with contextlib.suppress(Unavailable, BadInput):
            await dead_letter(self._bus, record, error)

    def _count(self, intake: Intake) -> None:
        self._samples += intake.samples
        self._repeated += intake.repeated
        metrics.SAMPLES.inc(intake.samples)
        metrics.REPEATED.inc(intake.repeated)
        for reason, number in intake.dropped.items():
            self._dropped[reason] += number
            metrics.DROPPED.labels(reason).inc(number)

    async def _report_often(self) -> None:
        while True:
            await asyncio.sleep(REPORT_S)
            await publish_report(self._bus.publish, self.report())
