"""The alerts stage: incidents from the bus, decided, made durable, delivered."""

import asyncio
import contextlib
import os
import socket
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial

import structlog

from alerts import metrics
from alerts.clock import Moment, StageClock
from alerts.config import AlertingConfig
from alerts.decision.dispatch import Dispatcher, Plan
from alerts.decision.overload import Overload
from alerts.decision.rules import rules_of
from alerts.metrics import DropReason, UndeliveredReason
from alerts.outbox import Dropped, Outbox
from alerts.receivers.registry import build_receiver
from alerts.sender import RetryPolicy, Sender
from alerts.silence import Silence, SilenceStore, in_force
from bus.base import Bus, Consumer, Gap, Offsets, Record
from bus.deadletter import dead_letter
from bus.reporting import publish_report
from common.errors import BadInput, ConfigError, Unavailable
from common.retry import retry
from common.tasks import cancel, first_failure
from common.threads import OneThread
from common.units import to_ns
from telemetry import topics
from telemetry.codec.records import decode_record
from telemetry.incidents import Incident, IncidentKind
from telemetry.ledger import StageReport
from telemetry.topics import Topic

LIVE_PREFIX = "fabricscope."
REPORT_S = 5.0
_COMMIT_FIRST_S, _COMMIT_MOST_S = 0.1, 10.0
RECORDS_PER_ROUND = 1000
log = structlog.get_logger(__name__)


class AlertsService:
    """Consumes incidents and pages people. One process at a time for one ``config.folder``.

    wall, monotonic: the clocks of the machine, in nanoseconds. topic: where the incidents come from; only a live one
    is accepted, so that a replay can never page. ConfigError otherwise, and from ``start`` when the folder or a
    receiver is not usable.
    """

    def __init__(
        self,
        config: AlertingConfig,
        bus: Bus,
        wall: Callable[[], int] = time.time_ns,
        topic: Topic = topics.INCIDENTS,
        monotonic: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        if not topic.name.startswith(LIVE_PREFIX):
            raise ConfigError(f"alerts of {topic.name}: only topics of {LIVE_PREFIX}* may page, a replay never does")
        self.silences = SilenceStore(config.folder)
        self._config = config
        self._bus = bus
        self._wall, self._monotonic = wall, monotonic
        self._topic = topic
        self._outbox = Outbox(config.folder, reserve_bytes=config.reserve_bytes, queue_max=config.queue_max)
        self._off_loop: OneThread | None = None
        self._senders: dict[str, Sender] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._consumer: Consumer | None = None
        self._offsets: Offsets = {}
        self._problem: str | None = None
        self._started_ns = 0
        self._received = self._processed = self._duplicates = self._corrupt = self._untracked = 0

    async def start(self) -> None:
        """Opens the outbox and the receivers and works in the background from where the last run stopped."""
        self._started_ns = self._wall()
        self._off_loop = OneThread("alerts-outbox")
        await self._off_loop(self._outbox.open)
        self._offsets = await self._off_loop(self._outbox.offsets)
        clock = StageClock(self._wall, self._monotonic, await self._off_loop(self._outbox.moment))
        dispatcher = Dispatcher(rules_of(self._config), await self._off_loop(self._outbox.tracked))
        config = self._config
        retry_policy = RetryPolicy(to_ns(config.ttl_s), config.retry_first_s, config.retry_most_s, config.fallback)
        for each in config.receivers:
            await self._add_sender(
                Sender(
                    build_receiver(each, config.external_url),
                    self._outbox,
                    self._off_loop,
                    retry_policy,
                    clock.now,
                )
            )
        await self._reroute_removed_receivers(self._off_loop, clock.now())
        self._consumer = self._bus.consume([self._topic], self._offsets)
        open_before = dispatcher.open_of(IncidentKind.ALERTS_OVERLOADED)
        overload = Overload(config.cluster, open_before, to_ns(config.quiet_s), clock.now())
        work = [self._consume(dispatcher, overload, self._consumer, self._off_loop, clock), self._report_often(clock)]
        work += [sender.run() for sender in self._senders.values()]
        self._tasks = [asyncio.create_task(each) for each in work]

    async def wait(self) -> None:
        """For ever, or until the work ends by itself: then its error is raised."""
        await first_failure(self._tasks)

    async def stop(self) -> None:
        """What is not delivered yet stays in the outbox."""
        tasks, self._tasks = self._tasks, []
        await cancel(tasks)
        if self._consumer is not None:
            await self._consumer.stop()
            self._consumer = None
        for sender in self._senders.values():
            await sender.receiver.stop()
        self._senders.clear()
        if self._off_loop is not None:
            await self._off_loop(self._outbox.close)
            await self._off_loop(self.silences.close)
            self._off_loop.stop()
            self._off_loop = None

    def problem(self) -> str | None:
        """None, or what is wrong, in words."""
        problems = [sender.problem for sender in self._senders.values()]
        return "; ".join(filter(None, [self._problem, *problems])) or None

    def report(self) -> StageReport:
        """Records of incidents are this stage's samples."""
        return StageReport(
            stage="alerts",
            instance=f"{socket.gethostname()}-{os.getpid()}",
            epoch_ns=self._started_ns,
            at_ns=self._wall(),
            samples_in=self._received,
            samples_out=self._processed,
            deduplicated=self._duplicates,
            dropped={DropReason.BAD_RECORD.value: self._corrupt, DropReason.TOO_MANY.value: self._untracked},
        )

    async def _add_sender(self, sender: Sender) -> None:
        await sender.receiver.start()
        sender.on_fallback = self._wake
        self._senders[sender.receiver.name] = sender

    async def _reroute_removed_receivers(self, off_loop: OneThread, now: Moment) -> None:
        """Deliveries to receivers that left the configuration go to the fallback, or to nobody."""
        for name in await off_loop(self._outbox.pending):
            while name not in self._senders and (heads := await off_loop(self._outbox.heads, name, ())):
                for delivery in heads:
                    rerouted = await off_loop(self._outbox.reroute, delivery, self._config.fallback, now.stage_ns)
                    if not rerouted and not self._config.fallback:
                        metrics.NOTIFICATIONS_DROPPED.labels(UndeliveredReason.REMOVED_RECEIVER).inc()

    async def _consume(
        self, dispatcher: Dispatcher, overload: Overload, consumer: Consumer, off_loop: OneThread, clock: StageClock
    ) -> None:
        silences: list[Silence] = []
        lost = 0
        while True:
            try:
                records = await consumer.poll(records_max=RECORDS_PER_ROUND)
            except Gap as gap:
                # a compacted topic keeps the newest version of each incident: nothing that is true now is missing
                metrics.GAPS.inc()
                log.warning("gap on the bus", topic=gap.topic, partition=gap.partition, first=gap.first, last=gap.last)
                continue
            versions = await self._decode(records)
            now = clock.now()
            versions += overload.update(lost, now)
            try:
                silences = await off_loop(self.silences.current, now.wall_ns)
            except sqlite3.Error as error:
                # those known last stay in force: this must not stop the paging of everything else
                log.error("silences cannot be read", error=str(error))
            # off the loop: a round of 1,000 incidents is some 10 ms
            plan = await off_loop(dispatcher.plan, versions, in_force(silences, now.wall_ns), now)
            offsets = self._offsets | {(each.topic, each.partition): each.offset + 1 for each in records}
            if records or plan.changed or plan.notifications:
                await self._make_durable(off_loop, offsets, plan)
            dispatcher.accept(plan)
            dropped = await off_loop(self._outbox.pop_dropped)
            self._report_dropped(dropped)
            lost = len(dropped) + plan.lost
            self._offsets = offsets
            self._count(len(records), plan, dispatcher)
            if plan.notifications:
                self._wake()

    async def _decode(self, records: Sequence[Record]) -> list[Incident]:
        versions = []
        for record in records:
            if record.value is None:
                # the bus forgets an incident; people who were notified of it still wait for its resolve
                continue
            try:
                versions.append(decode_record(record.value, Incident))
            except BadInput as error:
                await self._dead_letter(record, error)
        return versions

    async def _dead_letter(self, record: Record, error: BadInput) -> None:
        self._corrupt += 1
        metrics.DROPPED.labels(DropReason.BAD_RECORD).inc()
        metrics.CORRUPT.labels(record.topic, error.reason).inc()
        log.warning(
            "corrupt record",
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            reason=error.reason,
            error=str(error),
        )
        with contextlib.suppress(Unavailable, BadInput):
            await dead_letter(self._bus, record, error)

    async def _make_durable(self, off_loop: OneThread, offsets: Offsets, plan: Plan) -> None:
        """Returns once the round is on disk, however long that takes: what is not durable must not be sent."""
        commit = partial(
            off_loop, self._outbox.commit, offsets, plan.changed, plan.notifications, self._config.fallback, plan.now
        )
        await retry(commit, on=sqlite3.Error, first_s=_COMMIT_FIRST_S, most_s=_COMMIT_MOST_S, failed=self._not_durable)
        self._problem = None

    def _report_dropped(self, dropped: Sequence[Dropped]) -> None:
        for each in dropped:
            metrics.NOTIFICATIONS_DROPPED.labels(each.reason).inc()
            key = each.notification.key
            log.error("notification dropped", receiver=each.receiver, key=key, reason=each.reason)

    def _not_durable(self, error: Exception) -> None:
        self._problem = f"outbox: {error}"
        metrics.COMMIT_RETRIES.inc()
        log.error("outbox cannot be written", error=str(error))

    def _count(self, records: int, plan: Plan, dispatcher: Dispatcher) -> None:
        processed_before = self._processed
        self._received += records
        self._duplicates += plan.duplicates
        self._untracked += plan.untracked
        self._processed = self._received - self._duplicates - self._untracked - self._corrupt
        metrics.RECEIVED.inc(records)
        metrics.PROCESSED.inc(self._processed - processed_before)
        metrics.DEDUPLICATED.inc(plan.duplicates)
        metrics.DROPPED.labels(DropReason.TOO_MANY).inc(plan.untracked)
        for evicted, count in plan.evicted.items():
            metrics.EVICTED.labels(evicted).inc(count)
        metrics.HELD.set(plan.held)
        metrics.OPEN.set(dispatcher.firing())

    async def _report_often(self, clock: StageClock) -> None:
        assert self._off_loop is not None, "start comes first"
        while True:
            await asyncio.sleep(REPORT_S)
            with contextlib.suppress(sqlite3.Error):  # the next round or report saves it
                await self._off_loop(self._outbox.save_moment, clock.now())
            for name, count in (dict.fromkeys(self._senders, 0) | await self._off_loop(self._outbox.pending)).items():
                metrics.QUEUED.labels(name).set(count)
            await publish_report(self._bus.publish, self.report())

    def _wake(self) -> None:
        for sender in self._senders.values():
            sender.wake.set()
