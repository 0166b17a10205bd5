"""Overdue checkpoint: none for more than twice the regular period of a job: a crash now costs more."""

from dataclasses import dataclass

import numpy as np

from analytics.detectors.jobs.checkpoint_late import MARGIN_INTERVALS, of_jobs
from analytics.detectors.spec import Detector, Scope, Verdicts
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind

_PERIODS = 2.0  # one may be skipped, or be too short to be sampled; two in a row are not


@dataclass(frozen=True, kw_only=True)
class CheckpointOverdue(Detector):
    """Judges each job whose checkpoints have come at a regular period."""

    name: str = "checkpoint_overdue"
    kind: FindingKind = FindingKind.CHECKPOINT_OVERDUE
    metrics: tuple[str, ...] = ("gpu_utilization_ratio", "storage_written_bytes_total")
    scope: Scope = Scope.CLUSTER
    fire_immediately_score: float = 1.0
    clear_intervals: float = 0.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        judged = [(name, work) for name, work in sorted(view.derived.jobs.items()) if work.checkpoints.period_ns]
        period = np.array([work.checkpoints.period_ns for _, work in judged], np.float64)
        began_ns = np.array([work.checkpoints.began_ns[-1] for _, work in judged], np.int64)
        # A checkpoint that is being written is not overdue, however long it takes.
        until_ns = np.array([work.checkpoints.pause_ns or work.newest_ns for _, work in judged], np.int64)
        since = (until_ns - began_ns).astype(np.float64)
        every_ns = np.array([work.every_ns(view.config.interval_ns) for _, work in judged], np.float64)
        margin_ns = MARGIN_INTERVALS * every_ns
        score = since / (_PERIODS * period + margin_ns)
        score[[work.checkpoints.pause_ns > 0 for _, work in judged]] = 0.0
        onsets_ns = began_ns + np.round(_PERIODS * period).astype(np.int64)
        return [of_jobs(view, judged, score, (since, period), "checkpoint_age_seconds", onsets_ns)]
