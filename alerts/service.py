"""The alerts stage: incidents from the bus, decided, made durable, delivered."""

import asyncio
import contextlib
import os
import socket
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import structlog

from alerts import metrics
from alerts.addresses import Addresses
from alerts.clock import Moment, StageClock
from alerts.config import AlertingConfig
from alerts.counts import RecordCounts
from alerts.damage import report_damage
from alerts.deciding import Deciding
from alerts.decision.dispatch import Dispatcher, Plan
from alerts.decision.own_incident import OwnIncidents
from alerts.decision.rules import rules_of
from alerts.destination import destination_of
from alerts.heartbeat.heartbeat import Heartbeat
from alerts.metrics import UndeliveredReason
from alerts.outbox import Dropped, Outbox
from alerts.read_ahead import ReadAhead
from alerts.receivers.registry import build_receiver
from alerts.sender import RetryPolicy, Sender
from alerts.silence import Silence, SilenceStore, in_force
from alerts.stage_reports import StageReports
from bus.base import Bus, Consumer, Gap, Offsets
from bus.lag import Lag
from bus.owner.fence import OwnerFence
from bus.owner.sending import SendingRight
from bus.quarantine.quarantine import Quarantine
from bus.reporting import publish_report
from common.errors import ConfigError
from common.retry import retry
from common.sqlite.tables import Damaged
from common.tasks import cancel, first_failure
from common.threads import OneThread
from common.units import to_ns
from telemetry import topics
from telemetry.ledger import StageReport
from telemetry.topics import Topic

LIVE_PREFIX = "fabricscope."
STAGE = "alerts"
REPORT_S = 5.0
AFTER_DAMAGE_S = 1.0
ROUND_S_MAX = 60.0
"""Rounds are half a second apart; a disk or a bus that takes longer than this holds pages up."""
_COMMIT_FIRST_S, _COMMIT_MOST_S = 0.1, 10.0
RECORDS_PER_ROUND = 1000
log = structlog.get_logger(__name__)


class AlertsService:
    """Consumes incidents and pages people. One process at a time for one ``config.folder``, and the only one on the bus
    that sends by the same settings of receivers: a newer one ends this one, see ``wait``.

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
        self._quarantine = Quarantine(config.folder / "crashes.json", bus)
        self._right = SendingRight(bus, STAGE, partial(destination_of, config))
        self._off_loop: OneThread | None = None
        self._senders: dict[str, Sender] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._lasting: asyncio.Task[None] | None = None
        self._consumer: Consumer | None = None
        self._offsets: Offsets = {}
        self._heartbeat: Heartbeat | None = None
        self._round_s = 0.0
        self._held = 0
        self._fence = OwnerFence()
        self._problem: str | None = None
        self._damage: list[str] = []
        self._started_ns = 0
        self._counts = RecordCounts()

    async def start(self) -> None:
        """Opens the outbox and the receivers and works in the background from where the last run stopped."""
        self._started_ns = self._wall()
        self._off_loop = OneThread("alerts-outbox")
        self._quarantine.start()
        await self._begin(self._off_loop)
        await self._right.start()
        self._lasting = asyncio.create_task(self._begin_again_after_damage(self._off_loop))

    async def _begin(self, off_loop: OneThread) -> None:
        await off_loop(self._outbox.open)
        if self._outbox.damage is not None:
            report_damage(self._outbox.damage)
        self._offsets = await off_loop(self._outbox.offsets)
        self._fence = OwnerFence(await off_loop(self._outbox.epochs))
        clock = StageClock(self._wall, self._monotonic, await off_loop(self._outbox.moment))
        await self._silences(off_loop, [], clock.now())  # a newer version's are refused now, not at work
        tracked = await off_loop(self._outbox.tracked)
        dispatcher = Dispatcher(rules_of(self._config), tracked, self._outbox.sequence_min)
        config = self._config
        retry_policy = RetryPolicy(to_ns(config.ttl_s), config.retry_first_s, config.retry_most_s, config.fallback)
        addresses = Addresses(config.external_url, config.grafana_url, config.runbook_url)
        for each in config.receivers:
            await self._add_sender(
                Sender(
                    build_receiver(each, addresses, self._right.headers),
                    self._outbox,
                    off_loop,
                    retry_policy,
                    clock.now,
                    self._right,
                )
            )
        await self._reroute_removed_receivers(off_loop, clock.now())
        self._consumer = self._quarantine.guard(self._bus.consume([self._topic], self._offsets))
        reports = StageReports(self._bus, STAGE)
        ahead = ReadAhead(self._bus, self._topic, self._offsets, self._fence.newest, self._quarantine)
        work = [
            self._consume(dispatcher, self._consumer, off_loop, clock, reports, ahead),
            self._report_often(off_loop, clock, self._consumer),
            reports.run(),
            ahead.run(),
        ]
        work += [sender.run() for sender in self._senders.values()]
        self._round_s = time.monotonic()
        if config.heartbeat is not None:
            self._heartbeat = Heartbeat(config.heartbeat, lambda: self._unable_to_page() or reports.blind())
            await self._heartbeat.start()
            work.append(self._heartbeat.run())
        self._tasks = [asyncio.create_task(each) for each in work]

    async def _begin_again_after_damage(self, off_loop: OneThread) -> None:
        """What was damaged at work is set aside when the outbox is opened again."""
        while True:
            try:
                await first_failure([*self._tasks, self._right.task])
                return
            except Damaged as error:
                log.error("outbox is damaged", error=str(error))
            await self._end(off_loop)
            await asyncio.sleep(AFTER_DAMAGE_S)
            await self._begin(off_loop)

    async def wait(self) -> None:
        """For ever, or until the work ends by itself: then its error is raised, Superseded when it was replaced."""
        if self._lasting is not None:
            await first_failure([self._lasting])

    async def stop(self) -> None:
        """What is not delivered yet stays in the outbox."""
        if self._lasting is not None:
            await cancel([self._lasting])
            self._lasting = None
        if self._off_loop is not None:
            await self._end(self._off_loop)
            self._off_loop.stop()
            self._off_loop = None
        await self._right.stop()
        self._quarantine.stop()

    async def _end(self, off_loop: OneThread) -> None:
        tasks, self._tasks = self._tasks, []
        await cancel(tasks)
        if self._consumer is not None:
            await self._consumer.stop()
            self._consumer = None
        for sender in self._senders.values():
            await sender.receiver.stop()
        self._senders.clear()
        if self._heartbeat is not None:
            await self._heartbeat.stop()
            self._heartbeat = None
        await off_loop(self._outbox.close)

    def problem(self) -> str | None:
        """None, or what is wrong, in words."""
        problems = [sender.problem for sender in self._senders.values()]
        if self._heartbeat is not None:
            problems.append(self._heartbeat.problem)
        return "; ".join(filter(None, [self._problem, *self._damage, self._quarantine.problem(), *problems])) or None

    def _unable_to_page(self) -> str | None:
        """None, or why people would not be notified of an incident now, in words."""
        if self._problem is not None:
            return self._problem
        if time.monotonic() - self._round_s > ROUND_S_MAX:
            return f"no round was finished for {ROUND_S_MAX:g} s"
        problems = [sender.problem for sender in self._senders.values()]
        if problems and all(problems):
            return f"no receiver accepts anything: {problems[0]}"
        return None

    def report(self) -> StageReport:
        """Records of incidents are this stage's samples."""
        return StageReport(
            stage=STAGE,
            instance=f"{socket.gethostname()}-{os.getpid()}",
            epoch_ns=self._started_ns,
            at_ns=self._wall(),
            samples_in=self._counts.received,
            samples_out=self._counts.processed,
            deduplicated=self._counts.deduplicated,
            dropped=self._counts.dropped(),
            problem=self.problem() or "",
        )

    async def _add_sender(self, sender: Sender) -> None:
        await sender.receiver.start()
        sender.on_fallback = self._wake
        sender.held = lambda: self._held
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
        self,
        dispatcher: Dispatcher,
        consumer: Consumer,
        off_loop: OneThread,
        clock: StageClock,
        reports: StageReports,
        ahead: ReadAhead,
    ) -> None:
        own_incidents = OwnIncidents(self._config, dispatcher.open_of, clock.now())
        deciding = Deciding(dispatcher, self._fence, self._quarantine, self._counts)
        silences: list[Silence] = []
        lost = 0
        while True:
            try:
                records = await consumer.poll(records_max=RECORDS_PER_ROUND)
            except Gap as gap:
                # a compacted topic keeps the newest version of each incident: nothing that is true now is missing
                metrics.GAPS.inc()
                self._fence.forget((gap.topic, gap.partition))
                log.warning("gap on the bus", topic=gap.topic, partition=gap.partition, first=gap.first, last=gap.last)
                continue
            now = clock.now()
            silences = await self._silences(off_loop, silences, now)
            silenced = in_force(silences, now.wall_ns)
            offsets = self._offsets | {(each.topic, each.partition): each.offset + 1 for each in records}
            if critical := ahead.take(offsets):
                plan = await off_loop(deciding.decide_ahead, critical, silenced, now)
                # the position stays: they are counted when they are read in their order
                lost += await self._carry_out(off_loop, self._offsets, dispatcher, plan)
            own = own_incidents.update(lost, reports.problem(), now)
            plan, corrupt = await off_loop(deciding.decide, records, own, silenced, now)
            await deciding.put_aside(self._bus, corrupt)
            lost = await self._carry_out(off_loop, offsets, dispatcher, plan)
            self._counts.add_round(len(records), plan)
            self._round_s = time.monotonic()

    async def _carry_out(self, off_loop: OneThread, offsets: Offsets, dispatcher: Dispatcher, plan: Plan) -> int:
        """Makes it durable, then lets it be sent; how many incidents or notifications found no room."""
        if offsets != self._offsets or plan.changed or plan.notifications:
            await self._make_durable(off_loop, offsets, plan)
        dispatcher.accept(plan)
        dropped = await off_loop(self._outbox.pop_dropped)
        self._report_dropped(dropped)
        self._offsets = offsets
        for evicted, count in plan.evicted.items():
            metrics.EVICTED.labels(evicted).inc(count)
        self._held = plan.held
        metrics.HELD.set(plan.held)
        metrics.OPEN.set(dispatcher.firing())
        if plan.notifications:
            self._wake()
        return len(dropped) + plan.lost

    async def _silences(self, off_loop: OneThread, before: list[Silence], now: Moment) -> list[Silence]:
        try:
            current = await off_loop(self.silences.current, now.wall_ns)
        except (sqlite3.Error, OSError) as error:
            # those known last stay in force: this must not stop the paging of everything else
            log.error("silences cannot be read", error=str(error))
            return before
        for damage in self.silences.pop_damage():
            report_damage(damage)
        return current

    async def _make_durable(self, off_loop: OneThread, offsets: Offsets, plan: Plan) -> None:
        """Returns once the round is on disk, however long that takes: what is not durable must not be sent."""
        write, epochs = self._outbox.commit, dict(self._fence.newest)
        decided = (plan.changed, plan.notifications, self._config.fallback, plan.now)
        commit = partial(off_loop, write, offsets, epochs, *decided)
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

    async def _report_often(self, off_loop: OneThread, clock: StageClock, consumer: Consumer) -> None:
        lag = Lag(STAGE)
        while True:
            self._damage = list(filter(None, [await off_loop(each.problem) for each in (self._outbox, self.silences)]))
            await asyncio.sleep(REPORT_S)
            with contextlib.suppress(sqlite3.Error):  # the next round or report saves it
                await off_loop(self._outbox.save_moment, clock.now())
            for name, count in (dict.fromkeys(self._senders, 0) | await off_loop(self._outbox.pending)).items():
                metrics.QUEUED.labels(name).set(count)
            report = replace(self.report(), details=await lag.measure(consumer))
            await publish_report(self._bus.publish, report, headers=self._right.bus_headers())

    def _wake(self) -> None:
        for sender in self._senders.values():
            sender.wake.set()
