"""A job whose RAS streams its events: its status is asked as of any other job, and at once when something happens."""

import asyncio
import random
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import NoReturn

import structlog

from common.retry import backoff_s
from ingest.admission.reasons import OutOfDescriptors, SkipReason
from ingest.collectors.base import CollectorContext, Emit, SourceSeries
from ingest.collectors.command import NoAnswer
from ingest.collectors.nccl_ras import metrics
from ingest.collectors.nccl_ras.client import Connection, first_greeting
from ingest.collectors.nccl_ras.collector import NcclRasCollector
from ingest.collectors.nccl_ras.config import Config, Target
from ingest.collectors.nccl_ras.event_stream import EventReader, Heard
from ingest.collectors.nccl_ras.peer_events import KINDS, OTHERS
from ingest.ledger import DropReason
from ingest.metrics import COLLECTIONS_SKIPPED

_RETRY_FIRST_S = 0.5
_SETTLED_S = 60.0  # a stream of so long works: its end is no failure that repeats
_NO_MONITOR_S = 3600.0  # the next job at these addresses may have a newer NCCL

log = structlog.get_logger("ingest")


def earliest_s(gaps_s: Sequence[float], interval_s: float) -> float:
    """How soon after a status the next one may be asked, by the last two gaps between them: at once, or half an
    interval later where one of them was shorter than that.

    Who reads the samples takes the median of three gaps for the usual one, and a target that is not heard of for two
    and a half of these for silent: of three gaps one alone may be that short.

    >>> earliest_s([60.0, 31.0], 60.0), earliest_s([2.0, 60.0], 60.0)
    (0.0, 30.0)
    """
    return 0.0 if min(gaps_s) >= interval_s / 2 else interval_s / 2


class MonitoredJob:
    """One target, of which all samples come in its status."""

    def __init__(self, config: Config, target: Target, context: CollectorContext) -> None:
        self._config, self._target, self._context = config, target, context
        self._status = NcclRasCollector(config, target, context)
        self._happened = asyncio.Event()
        self._why: str | None = None  # nothing is streamed now; "" while something is
        self._log = log.bind(target=self.name, device=target.device)

    @property
    def name(self) -> str:
        return self._status.name

    @property
    def unmapped(self) -> Set[str]:
        return self._status.unmapped

    def source_series(self) -> Iterator[SourceSeries]:
        """Of the last status."""
        return self._status.source_series()

    async def run(self, emit: Emit) -> None:
        """Collects until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._ask_always(emit))
            tasks.create_task(self._listen_always())

    async def _ask_always(self, emit: Emit) -> NoReturn:
        gaps_s = deque([self._config.interval_s] * 2, maxlen=2)
        while True:
            began_s = time.monotonic()
            try:
                emit(await self._status.collect(self._context.clock()))
            except OutOfDescriptors:
                COLLECTIONS_SKIPPED.labels(reason=SkipReason.DESCRIPTORS).inc()
            await self._until_due(began_s, earliest_s(gaps_s, self._config.interval_s))
            gaps_s.append(time.monotonic() - began_s)

    async def _until_due(self, began_s: float, least_s: float) -> None:
        """An interval after ``began_s``; where something happens earlier, then, but not before ``least_s``."""
        ends_s, earliest_s = began_s + self._config.interval_s, began_s + least_s
        try:
            async with asyncio.timeout(max(0.0, ends_s - time.monotonic())):
                await self._happened.wait()
                await asyncio.sleep(max(0.0, earliest_s - time.monotonic()))
        except TimeoutError:
            pass
        self._happened.clear()

    async def _listen_always(self) -> NoReturn:
        """A job that has ended is no error: its status says that it does not answer."""
        failures = 0
        while True:
            began_s = time.monotonic()
            try:
                await self._listen()
            except NoAnswer as ended:
                self._say(f"{ended.reason}: {ended}")
            except TimeoutError:
                self._say("timeout: no answer to MONITOR")
            except OutOfDescriptors:
                self._say("no file descriptors are left on this machine")
            else:
                self._say("its NCCL knows no MONITOR, which came with 2.29")
                await asyncio.sleep(_NO_MONITOR_S)
                continue
            failures = 1 if time.monotonic() - began_s >= _SETTLED_S else failures + 1
            most_s = self._config.interval_s
            await asyncio.sleep(backoff_s(failures, first_s=_RETRY_FIRST_S, most_s=most_s, chance=random.random()))

    async def _listen(self) -> None:
        """Returns where RAS streams no events; NoAnswer at the end of the stream and where there is none to greet."""
        connection, is_json = await first_greeting(self._target.addresses, self._config.timeout_s)
        try:
            async with asyncio.timeout(self._config.timeout_s):
                streams = await connection.monitor()
            if not streams:
                return
            self._say("")
            with metrics.STREAMS_UP.labels(self._config.job_name).track_inprogress():
                await self._hear(connection, EventReader(is_json=is_json))
        finally:
            connection.close()

    async def _hear(self, connection: Connection, reader: EventReader) -> NoReturn:
        while True:
            chunk = await connection.read(self._config.interval_s, self._config.timeout_s)
            self._take(reader.feed(chunk))

    def _take(self, heard: Heard) -> None:
        job, ledger, now_ns = self._config.job_name, self._context.ledger, self._context.clock()
        if heard.unreadable:
            metrics.EVENTS_UNREADABLE.labels(job).inc(heard.unreadable)
            ledger.received(heard.unreadable, self.name)
            ledger.dropped(DropReason.BAD_FORMAT, heard.unreadable, self.name)
        for event in heard.events:
            is_known = event.name in KINDS or event.name in OTHERS
            metrics.EVENTS.labels(job, event.name if is_known else "other").inc()
            if not is_known:
                ledger.unmapped(1)
            elif event.name in KINDS:
                if (reason := self._status.events.add(event, now_ns)) is not None:
                    ledger.received(1, self.name)
                    ledger.dropped(reason, 1, self.name)
                self._happened.set()

    def _say(self, why: str) -> None:
        """Logs changes, not every attempt."""
        if why == self._why:
            return
        self._why = why
        if why:
            self._log.info("RAS streams no events: only its status is asked", reason=why[:200])
        else:
            self._log.info("RAS streams its events")


def monitored_jobs(configs: Iterable[Config], context: CollectorContext) -> list[MonitoredJob]:
    """One a job with ``monitor``."""
    return [MonitoredJob(config, target, context) for config in configs for target in config.targets if target.monitor]
