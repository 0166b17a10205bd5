"""What the spool has done and holds, for the ledger, the stage's report and the metrics."""

from collections import Counter
from dataclasses import dataclass, field

import structlog

from common.units import NS_PER_S
from ingest.config import SpoolConfig
from ingest.ledger import Ledger
from ingest.metrics import (
    BATCHES_DROPPED,
    RECORDS_DROPPED,
    SPOOL_PROBLEMS,
    SPOOLED_BYTES,
    SPOOLED_SAMPLES,
    SPOOLED_SECONDS,
)
from ingest.spool.record import Amount
from ingest.spool.store import Losses, LossesOfTargets

log = structlog.get_logger("ingest")


@dataclass(frozen=True, slots=True)
class Holding:
    """What is on the disk. unread: and not being published. oldest_ns: when the oldest was spooled."""

    unread: Amount = field(default_factory=Amount)
    used_bytes: int = 0
    oldest_ns: int | None = None

    def details(self, config: SpoolConfig, now_ns: int, *, unwritable: bool) -> dict[str, float]:
        """For the stage's report. spooled_seconds: event time since the oldest was spooled. spool_fill: 0 to 1, of the
        bytes or the age that it may have, whichever is nearer. spool_unwritable: 1 while memory is all there is."""
        seconds = max(0.0, (now_ns - self.oldest_ns) / NS_PER_S) if self.oldest_ns is not None else 0.0
        return {
            "spooled_samples": float(self.unread.samples),
            "spooled_bytes": float(self.used_bytes),
            "spooled_seconds": seconds,
            "spool_fill": max(self.used_bytes / config.bytes_max, seconds / config.age_max_s),
            "spool_unwritable": float(unwritable),
        }


def set_metrics(details: dict[str, float]) -> None:
    SPOOLED_SAMPLES.set(details["spooled_samples"])
    SPOOLED_BYTES.set(details["spooled_bytes"])
    SPOOLED_SECONDS.set(details["spooled_seconds"])
    SPOOL_PROBLEMS.set(details["spool_unwritable"])


def count_losses(losses: Losses, of_targets: LossesOfTargets, ledger: Ledger) -> None:
    """What the spool has dropped. of_targets: samples of it by target."""
    for reason, amount in losses.items():
        known = of_targets.get(reason, Counter[str]())
        for target, samples in known.items():
            ledger.dropped(reason, samples, target, queued=True)
        ledger.dropped(reason, amount.samples - sum(known.values()), "")
        BATCHES_DROPPED.inc(amount.batches)
        RECORDS_DROPPED.labels(reason=reason).inc(amount.events)
        log.warning("the spool has dropped samples", reason=reason, samples=amount.samples)
