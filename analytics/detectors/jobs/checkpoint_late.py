"""Late checkpoint: writing it takes a multiple of its usual time, or a job waits for one member that has not finished.

The job's own past is the reference (``models/jobs/checkpoints.py``): sizes and file systems differ too much for one
limit. All members write at once and continue together. When hardly anything is still written and they wait, nearly all
are done and wait for the last: that is visible in a job's first checkpoint, too.

The premises: the job was shown to work in lockstep, as where every GPU works for itself nobody waits for what one
writes. It stands still: while GPUs go on working, a late checkpoint only makes a crash dearer. And lateness is longer
than what shows it is apart: GPUs that are read every half a minute show a pause of a second for as long.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.derived.job_writes import METRIC
from analytics.detectors.jobs.lockstep import lockstep_jobs
from analytics.detectors.spec import Detector, EvidenceColumns, Scope, Verdicts, computed_evidence
from analytics.models.jobs.job_work import JobWork
from analytics.models.storage_clients import OTHERS_SHARE
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry import objects
from telemetry.findings import FindingKind
from telemetry.series import series_key

# Longer than what is late, or than what is usual while hardly anything is written: begin and end of a pause are
# measured to one interval of the evidence each.
MARGIN_INTERVALS = 2.0
MARGIN_S = 20.0


@dataclass(frozen=True, kw_only=True)
class CheckpointLate(Detector):
    """Judges each job that is writing a checkpoint."""

    name: str = "checkpoint_late"
    kind: FindingKind = FindingKind.CHECKPOINT_LATE
    metrics: tuple[str, ...] = ("gpu_utilization_ratio", METRIC)
    scope: Scope = Scope.CLUSTER
    fire_immediately_score: float = 1.0
    clear_intervals: float = 0.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        interval_ns = view.config.interval_ns
        judged = [(name, work) for name, work in sorted(view.derived.jobs.items()) if _known(work)]
        positions = {job.job_id: position for position, job in enumerate(view.topology_index.jobs)}
        lockstep = lockstep_jobs(view)[np.array([positions[name] for name, _ in judged], np.int64)]
        every_ns = np.array([work.every_ns(interval_ns) for _, work in judged], np.float64)
        margin_ns = np.maximum(MARGIN_S * 1e9, MARGIN_INTERVALS * every_ns)
        lasts = np.array([work.checkpoints.stands_ns(interval_ns) for _, work in judged], np.float64)
        late = np.array([work.checkpoints.late_ns or np.nan for _, work in judged], np.float64)
        trickles = np.array([work.checkpoints.trickles_ns() for _, work in judged], np.float64)
        usual = np.array([work.checkpoints.length_ns or np.nan for _, work in judged], np.float64)
        waits = np.fmin(np.minimum(trickles, lasts), lasts - usual) / margin_ns
        score = np.fmax(lasts / (late + margin_ns), np.where(lasts > 0.0, waits, 0.0))
        score = np.where(lockstep, score, 0.0)
        began = np.array([work.checkpoints.pause_ns or work.newest_ns for _, work in judged], np.int64)
        return [of_jobs(view, judged, score, (lasts, usual), "checkpoint_seconds", began, (_others(judged),))]


def _others(judged: Sequence[tuple[str, JobWork]]) -> EvidenceColumns:
    """Whose load it is that a job waits for, where it is known to be that of others."""
    shares = np.array([work.others or np.nan for _, work in judged], np.float64)

    def key(row: int) -> str:
        return series_key(OTHERS_SHARE, {"job_id": judged[row][0]})

    return computed_evidence(shares, np.full(shares.size, np.nan), "ratio", key)


def _known(work: JobWork) -> bool:
    """Whether there is a reference: an earlier checkpoint, or most of this one."""
    return bool(work.checkpoints.lengths_ns or work.checkpoints.bulk_ns)


def of_jobs(
    view: TickView,
    judged: Sequence[tuple[str, JobWork]],
    score: NDArray[np.float64],
    shown_ns: tuple[NDArray[np.float64], NDArray[np.float64]],
    series: str,
    onsets_ns: NDArray[np.int64],
    more: tuple[EvidenceColumns, ...] = (),
) -> Verdicts:
    """One verdict a job. shown_ns: the evidence and its normal, in nanoseconds; series: its name. more: evidence."""
    names = [name for name, _ in judged]
    numbers = np.array([view.index.object_number(objects.job(name)) for name in names], np.int64)
    times_ns = np.array([work.newest_ns for _, work in judged], np.int64)

    def key(row: int) -> str:
        return series_key(series, {"job_id": names[row]})

    evidence = computed_evidence(shown_ns[0] / 1e9, shown_ns[1] / 1e9, "seconds", key)
    every_s = np.array([work.cadence_ns for _, work in judged]) / 1e9
    return Verdicts(numbers, times_ns, score >= 1.0, score, (evidence, *more), 0.8, onsets_ns, every_s)
