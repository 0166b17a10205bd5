"""Remote write: samples, findings, incidents, jobs and changes from the bus to a Prometheus-like receiver."""

import asyncio
import os
import socket
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import structlog

from bus.base import Bus, Consumer, Gap, Offsets, Record
from bus.deadletter import put_aside
from bus.lag import Lag
from bus.owner.fence import STALE_OWNER, OwnerFence
from bus.owner.sending import SendingRight
from bus.quarantine.quarantine import Quarantine
from bus.reporting import publish_report
from common.errors import BadInput
from common.tasks import cancel, first_failure
from common.threads import OneThread
from common.units import NS_PER_MS, NS_PER_S
from export.remote_write import metrics
from export.remote_write.client import RemoteWriteClient
from export.remote_write.config import RemoteWriteConfig
from export.remote_write.converter import Converted, RecordConverter
from export.remote_write.encoder import SampleBlock
from export.remote_write.metrics import TOO_MANY, CorruptReason, DropReason
from export.remote_write.position import Position
from export.remote_write.protocol import Version
from export.remote_write.requests import count
from export.remote_write.sender import SampleSender
from telemetry import topics
from telemetry.ledger import StageReport

STAGE = "remote_write"
RECORDS_PER_POLL = 64
REPORT_S = 5.0
REASONS_LOGGED_MAX = 5
log = structlog.get_logger(__name__)


class RemoteWriteService:
    """Exports to one receiver, at least once and in order; a slow receiver slows the reader, the bus keeps the rest.

    right: of the process, started and stopped by the caller. clock: wall clock in nanoseconds, for findings and
    incidents and the ledger; samples keep their own times.
    """

    def __init__(
        self, config: RemoteWriteConfig, bus: Bus, right: SendingRight, clock: Callable[[], int] = time.time_ns
    ) -> None:
        self._config = config
        self._bus = bus
        self._clock = clock
        self._client = RemoteWriteClient(config)
        self._right = right
        self._sender = SampleSender(config, self._client, right)
        self._position = Position(config.folder, config.name)
        self._converter = RecordConverter(config)
        self._quarantine = Quarantine(config.folder / f"{config.name}.crashes.json", bus)
        self._disk: OneThread | None = None
        self._consumer: Consumer | None = None
        self._offsets: Offsets = {}
        self._saved: Offsets = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._problem: str | None = None
        self._damage: str | None = None
        self._states_due_s = 0.0
        self._started_ns = 0
        self._samples = self._duplicates = 0
        self._dropped = dict.fromkeys(DropReason, 0)

    async def start(self) -> None:
        """ConfigError when the folder or the certificates are not usable; a receiver may come later."""
        self._started_ns = self._clock()
        self._disk = OneThread("export-position")
        await self._disk(self._position.open)
        if (damage := self._position.damage) is not None:
            metrics.FILES_DAMAGED.inc()
            reasons = list(damage.reasons[:REASONS_LOGGED_MAX])
            log.error("damaged file set aside", file=damage.file, reasons=reasons, see=str(damage.reason))
        self._offsets, saved = await self._disk(self._position.load)
        self._saved = dict(self._offsets)
        self._converter.states.restore(saved)
        self._converter.fence = OwnerFence(await self._disk(self._position.load_epochs))
        await self._client.start()
        if self._config.tls.insecure_skip_verify:
            log.warning("certificates are not checked", receiver=self._config.name)
        self._quarantine.start()
        # topology before samples: these have labels of the place of their device
        exported = [topics.TOPOLOGY, topics.SAMPLES, topics.FINDINGS, topics.INCIDENTS, topics.CHANGES]
        self._consumer = self._quarantine.guard(self._bus.consume(exported, self._offsets))
        work = [self._export(self._consumer), self._report_often(self._disk, self._consumer)]
        self._tasks = [asyncio.create_task(each) for each in work]

    async def wait(self) -> None:
        """For ever, or until the work ends by itself: then its error is raised."""
        await first_failure(self._tasks)

    async def stop(self) -> None:
        """What was not accepted yet is still on the bus."""
        tasks, self._tasks = self._tasks, []
        await cancel(tasks)
        if self._consumer is not None:
            await self._consumer.stop()
            self._consumer = None
        await self._client.stop()
        if self._disk is not None:
            if self._offsets != self._saved:  # accepted, and stopped before that was written
                await self._save()
            await self._disk(self._position.close)
            self._disk.stop()
            self._disk = None
        self._quarantine.stop()

    @property
    def version(self) -> Version:
        """Of remote write, that is spoken now."""
        return self._sender.version

    def problem(self) -> str | None:
        """None, or what is wrong, in words."""
        return self._problem or self._damage or self._sender.problem or self._quarantine.problem()

    def report(self) -> StageReport:
        """Samples read from the bus and what became of them; states are not counted."""
        total = self._sender.total
        dropped = {reason.value: number for reason, number in self._dropped.items()}
        dropped[DropReason.REJECTED] = total.rejected
        return StageReport(
            stage=STAGE,
            instance=f"{self._config.name}-{socket.gethostname()}-{os.getpid()}",
            epoch_ns=self._started_ns,
            at_ns=self._clock(),
            samples_in=self._samples,
            samples_out=total.accepted,
            deduplicated=self._duplicates,
            held=self._held(),
            dropped=dropped,
        )

    def _held(self) -> int:
        total = self._sender.total
        gone = total.accepted + total.rejected + self._duplicates + sum(self._dropped.values())
        return self._samples - gone

    async def _export(self, consumer: Consumer) -> None:
        while True:
            blocks, offsets, newest_ns = await self._collect(consumer)
            blocks += self._state_blocks()
            if blocks:
                await self._sender.send(blocks)
            self._offsets |= offsets
            if newest_ns:
                metrics.LAG.set((self._clock() - newest_ns) / NS_PER_S)
            metrics.QUEUED.set(self._held())
            await self._save()

    async def _collect(self, consumer: Consumer) -> tuple[list[SampleBlock], Offsets, int]:
        """Reads until a request is full or ``batch_wait_s`` have passed: blocks, where to go on, the newest time."""
        blocks: list[SampleBlock] = []
        offsets: Offsets = {}
        newest_ns = samples = 0
        deadline_s = time.monotonic() + self._config.batch_wait_s
        while samples < self._config.max_samples_per_send and (left_s := deadline_s - time.monotonic()) > 0:
            try:
                records = await consumer.poll(records_max=RECORDS_PER_POLL, wait_s=min(left_s, 0.5))
            except Gap as gap:
                metrics.GAPS.inc()
                self._converter.fence.forget((gap.topic, gap.partition))
                log.error(
                    "samples lost: the receiver was away for longer than the bus keeps them",
                    topic=gap.topic,
                    partition=gap.partition,
                    first=gap.first,
                    last=gap.last,
                )
                continue
            if not records:
                continue
            with self._quarantine.working_on(records):
                converted = await asyncio.to_thread(self._converter.convert, records)
            self._count(converted)
            for record, error in converted.unused:
                await self._put_aside(record, error)
            offsets |= {(each.topic, each.partition): each.offset + 1 for each in records}
            blocks += converted.blocks
            samples += count(converted.blocks)
            newest_ns = max(newest_ns, converted.newest_ns)
        return blocks, offsets, newest_ns

    def _state_blocks(self) -> Sequence[SampleBlock]:
        now_s = time.monotonic()
        if not self._converter.states.changed and now_s < self._states_due_s:
            return ()
        self._states_due_s = now_s + self._config.state_interval_s
        return self._converter.states.blocks(self._clock() // NS_PER_MS)

    async def _save(self) -> None:
        assert self._disk is not None, "start the service first"
        states = self._converter.states
        if self._offsets == self._saved and not states.unsaved:
            return
        try:
            epochs = dict(self._converter.fence.newest)
            await self._disk(self._position.save, self._offsets, epochs, dict(states.unsaved))
        except sqlite3.Error as error:
            # going on is right: after a crash more is repeated, and receivers drop repetitions
            self._problem = f"position: {error}"
            log.error("position cannot be saved", error=str(error))
        else:
            states.unsaved.clear()
            self._saved = dict(self._offsets)
            self._problem = None

    async def _put_aside(self, record: Record, error: BadInput) -> None:
        if error.reason in (TOO_MANY, STALE_OWNER):
            source = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
            metrics.RECORDS_DROPPED.labels(error.reason).inc()
            log.warning("record dropped", **source, reason=error.reason, error=str(error))
            return
        known = error.reason in set(CorruptReason)
        metrics.CORRUPT.labels(record.topic, error.reason if known else CorruptReason.OTHER).inc()
        await put_aside(self._bus, record, error)

    def _count(self, converted: Converted) -> None:
        self._samples += converted.samples
        self._duplicates += converted.duplicates
        metrics.RECEIVED.inc(converted.samples)
        metrics.DEDUPLICATED.inc(converted.duplicates)
        for reason, number in converted.dropped.items():
            self._dropped[reason] += number
            metrics.DROPPED.labels(reason).inc(number)

    async def _report_often(self, disk: OneThread, consumer: Consumer) -> None:
        lag = Lag(STAGE)
        while True:
            self._damage = await disk(self._position.problem)
            await asyncio.sleep(REPORT_S)
            report = replace(self.report(), details=await lag.measure(consumer))
            await publish_report(self._bus.publish, report, headers=self._right.bus_headers())
