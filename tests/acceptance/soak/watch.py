"""What comes out of the product, as a consumer of the bus sees it that is no part of the product."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bus.base import Gap, Record
from bus.open import open_bus
from common.units import NS_PER_S
from fabricscope.settings import load_settings
from telemetry import topics
from telemetry.codec.batch import BatchDecoder
from telemetry.codec.records import decode_record
from telemetry.incidents import Incident, IncidentState, Severity
from telemetry.ledger import StageReport
from telemetry.samples import SampleBatch
from tests.acceptance.soak.kinds import UP
from tests.acceptance.soak.settings import GOOD_JOBS


class Critical(NamedTuple):
    """One time that an incident was critical: what comes back within the hour is the same incident again."""

    incident_id: str
    fired_ns: int


class Watch:
    """Follows samples, incidents and reports of the stages.

    newest_ns: by good target, the time of its newest sample that has arrived. ups: how many collections each of them
    has had. downs: how many have failed, by job and reason.
    outcomes: by hostile job, how its collections ended. critical_ns: when the bus got each incident as critical.
    """

    def __init__(self, settings_file: Path) -> None:
        self._bus = open_bus(load_settings(settings_file).bus)
        self._decoder = BatchDecoder()
        self.newest_ns: dict[str, int] = {}
        self._delays_s: list[float] = []
        self.ups: Counter[str] = Counter()
        self.downs: Counter[str] = Counter()
        self.outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.critical_ns: dict[Critical, int] = {}
        self.incidents: dict[str, Incident] = {}
        self.reports: dict[str, StageReport] = {}
        self.gaps: list[str] = []

    async def run(self) -> None:
        """Until cancelled."""
        await self._bus.start()
        reader = self._bus.consume([topics.SAMPLES, topics.INCIDENTS, topics.LEDGER], {})
        try:
            while True:
                try:
                    records = await reader.poll(wait_s=0.2)
                except Gap as gap:
                    self.gaps.append(str(gap))
                    continue
                for record in records:
                    self._use(record)
                await asyncio.sleep(0)
        finally:
            await reader.stop()
            await self._bus.stop()

    def ages_s(self) -> Mapping[str, float]:
        """By good target, how old its newest sample is now."""
        now_ns = time.time_ns()
        return {target: (now_ns - newest_ns) / NS_PER_S for target, newest_ns in self.newest_ns.items()}

    def pop_delays_s(self) -> list[float]:
        """From collection to arrival, of each collection of a good target since the last call."""
        delays_s, self._delays_s = self._delays_s, []
        return delays_s

    def drops(self) -> dict[str, Mapping[str, int]]:
        """By stage and reason, as the stages report them."""
        return {stage: report.dropped for stage, report in sorted(self.reports.items())}

    def _use(self, record: Record) -> None:
        if record.value is None:
            return
        if record.topic == topics.SAMPLES.name:
            self._use_batch(self._decoder.decode(record.value, record.headers))
        elif record.topic == topics.LEDGER.name:
            report = decode_record(record.value, StageReport)
            self.reports[report.stage] = report
        else:
            incident = decode_record(record.value, Incident)
            self.incidents[incident.id] = incident
            if incident.state is IncidentState.FIRING and incident.severity is Severity.CRITICAL:
                self.critical_ns.setdefault(Critical(incident.id, incident.fired_ns), record.appended_ns)

    def _use_batch(self, batch: SampleBatch) -> None:
        target = batch.table.target
        job = target.partition("/")[0]
        down = batch.collection.down
        if job not in GOOD_JOBS:
            self.outcomes[job][UP if down is None else str(down)] += 1
        elif down is not None:
            self.downs[f"{job}: {down}"] += 1
        elif len(batch):
            self.ups[target] += 1
            self.newest_ns[target] = max(self.newest_ns.get(target, 0), int(batch.times_ns.max()))
            self._delays_s.append((time.time_ns() - batch.collection.collected_ns) / NS_PER_S)
