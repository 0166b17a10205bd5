"""What became of the records of incidents, as the stage reports and exports it."""

from dataclasses import dataclass

from alerts import metrics
from alerts.decision.dispatch import Plan
from alerts.metrics import DropReason


@dataclass(slots=True)
class RecordCounts:
    """Since the start of the process. processed: versions of incidents that were decided on."""

    received: int = 0
    processed: int = 0
    deduplicated: int = 0
    corrupt: int = 0
    stale: int = 0
    untracked: int = 0

    def add_stale(self) -> None:
        self.stale += 1
        metrics.DROPPED.labels(DropReason.STALE_OWNER).inc()

    def add_corrupt(self, topic: str, reason: str) -> None:
        self.corrupt += 1
        metrics.DROPPED.labels(DropReason.BAD_RECORD).inc()
        metrics.CORRUPT.labels(topic, reason).inc()

    def add_round(self, records: int, plan: Plan) -> None:
        """records: so many were read for it. What was dropped before the decision has been counted."""
        processed_before = self.processed
        self.received += records
        self.deduplicated += plan.duplicates
        self.untracked += plan.untracked
        self.processed = self.received - self.deduplicated - sum(self.dropped().values())
        metrics.RECEIVED.inc(records)
        metrics.PROCESSED.inc(self.processed - processed_before)
        metrics.DEDUPLICATED.inc(plan.duplicates)
        metrics.DROPPED.labels(DropReason.TOO_MANY).inc(plan.untracked)

    def dropped(self) -> dict[str, int]:
        """By reason."""
        return {
            DropReason.BAD_RECORD.value: self.corrupt,
            DropReason.STALE_OWNER.value: self.stale,
            DropReason.TOO_MANY.value: self.untracked,
        }
