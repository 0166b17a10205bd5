"""What all stages report, as far as people are paged for it, here or by somebody outside."""

import time

import structlog

from alerts.heartbeat.pipeline import Pipeline
from bus.base import Bus, Gap
from common.errors import BadInput, Unavailable
from common.retry import retry
from common.units import NS_PER_S
from telemetry import topics
from telemetry.codec.records import decode_record
from telemetry.ledger import StageReport
from telemetry.recent_drops import WINDOW_S, RecentDrops

_RETRY_FIRST_S, _RETRY_MOST_S = 0.5, 10.0
log = structlog.get_logger(__name__)


class StageReports:
    """Reads the ledger while ``run`` runs. own_stage: it has an incident of its own for what it drops."""

    def __init__(self, bus: Bus, own_stage: str) -> None:
        self._bus, self._own_stage = bus, own_stage
        self._drops = RecentDrops()
        self._pipeline = Pipeline()

    def problem(self) -> str | None:
        """None, or which stages drop most of what they receive, in words."""
        return self._drops.problem()

    def blind(self) -> str | None:
        """None, or why no incident would come whatever happens, in words."""
        return self._pipeline.blind(time.monotonic())

    async def run(self) -> None:
        start = await retry(
            lambda: self._bus.offsets_since([topics.LEDGER], time.time_ns() - WINDOW_S * NS_PER_S),
            on=Unavailable,
            first_s=_RETRY_FIRST_S,
            most_s=_RETRY_MOST_S,
            failed=lambda error: log.warning("bus does not answer", error=str(error)),
        )
        reader = self._bus.consume([topics.LEDGER], start)
        try:
            while True:
                try:
                    records = await reader.poll(wait_s=1.0)
                except Gap:  # each report has the counts since its stage began
                    continue
                for record in records:
                    self._add(record.value)
        finally:
            await reader.stop()

    def _add(self, value: bytes | None) -> None:
        if value is None:
            return
        try:
            report = decode_record(value, StageReport)
        except BadInput as error:
            log.warning("corrupt record", topic=topics.LEDGER.name, reason=error.reason, error=str(error))
            return
        self._pipeline.add(report, time.monotonic())
        if report.stage != self._own_stage:
            self._drops.add(report)
