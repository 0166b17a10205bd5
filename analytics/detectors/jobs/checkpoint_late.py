"""Late checkpoint: writing it holds a job up for a multiple of what it usually takes, or for one that has not finished.

The job itself is the measure (``statistics/checkpoints.py``): sizes and file systems differ too much for one limit. All
members write at once and go on together. When hardly anything is written any more and they still wait, nearly all are
done and wait for the last: that shows in the first checkpoint of a job, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import Evidence, Verdicts
from analytics.jobs.activity import JobWork
from analytics.jobs.writes import METRIC, JobWrites
from analytics.state.view import View
from telemetry import objects
from telemetry.findings import FindingKind
from telemetry.series import series_key

LATE_TIMES = 2.0  # as long as usual, or once while hardly anything is written …
MARGIN_INTERVALS = 2.0  # … and this much: where a pause begins and ends is only known to an interval each
MARGIN_S = 20.0


@dataclass(frozen=True)
class CheckpointLate:
    """Judges each job that is writing a checkpoint, and learns from those that it has written."""

    name: str = "checkpoint_late"
    kind: FindingKind = FindingKind.CHECKPOINT_LATE
    metrics: tuple[str, ...] = ("gpu_utilization_ratio", METRIC)
    persist: int = 1
    sure: float = 1.0
    clear_intervals: float = 0.0

    def judge(self, view: View) -> list[Verdicts]:
        writes = JobWrites(view)
        for name, work in sorted(view.work.jobs.items()):
            _take(writes, name, work)
        interval_ns = view.config.interval_ns
        margin_ns = max(round(MARGIN_S * 1e9), round(MARGIN_INTERVALS * interval_ns))
        judged = [(name, work) for name, work in sorted(view.work.jobs.items()) if _known(work)]
        lasts = np.array([work.checkpoints.lasts_ns(interval_ns) for _, work in judged], np.float64)
        trickles = np.array([work.checkpoints.trickles_ns() for _, work in judged], np.float64)
        usual = np.array([work.checkpoints.length_ns or np.nan for _, work in judged], np.float64)
        waits = np.fmin(trickles, lasts - usual) / margin_ns
        score = np.fmax(lasts / (LATE_TIMES * usual + margin_ns), np.where(lasts > 0.0, waits, 0.0))
        began = np.array([work.checkpoints.pause_ns or work.newest_ns for _, work in judged], np.int64)
        return [of_jobs(view, judged, score, (lasts, usual), "checkpoint_seconds", began)]


def _take(writes: JobWrites, name: str, work: JobWork) -> None:
    """Learns from what is new of the job."""
    known = work.checkpoints
    if work.newest_ns > known.newest_ns:
        written, shared = writes.now(name) if known.pauses(work.busy) else (0.0, False)
        known.take(work.newest_ns, work.busy, written, shared)


def _known(work: JobWork) -> bool:
    """Whether there is anything to judge by: an earlier checkpoint, or most of this one."""
    return bool(work.checkpoints.lengths_ns or work.checkpoints.bulk_ns)


def of_jobs(
    view: View,
    judged: Sequence[tuple[str, JobWork]],
    score: NDArray[np.float64],
    told_ns: tuple[NDArray[np.float64], NDArray[np.float64]],
    series: str,
    onsets_ns: NDArray[np.int64],
) -> Verdicts:
    """One verdict a job. told_ns: the time that it shows and its normal, in nanoseconds; series: what to call it."""
    names = [name for name, _ in judged]
    numbers = np.array([view.registry.object_number(objects.job(name)) for name in names], np.int64)
    times_ns = np.array([work.newest_ns for _, work in judged], np.int64)

    def key(row: int) -> str:
        return series_key(series, {"job_id": names[row]})

    evidence = Evidence(np.full(numbers.size, -1), told_ns[0] / 1e9, told_ns[1] / 1e9, "seconds", key)
    return Verdicts(numbers, times_ns, score >= 1.0, score, (evidence,), 0.8, onsets_ns)
