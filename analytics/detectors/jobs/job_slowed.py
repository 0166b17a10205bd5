"""Job slowed: a job works less than it always did. It says what a fault costs, not where the fault is."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import Evidence, Verdicts
from analytics.jobs.activity import BIN_NS, JobWork
from analytics.jobs.pace import LOW_SHARE
from analytics.state.view import View, lookup
from telemetry import objects
from telemetry.findings import FindingKind
from telemetry.series import series_key

_GPUS_SHARE = 0.5  # of the job's GPUs must have fresh values
_SETTLE_INTERVALS = 2.0  # of a job that has just started
_SCORE_OUTSIDE = 0.99  # low, and not yet for long enough
# One low bin is no slump. It opens no incident, but where something is broken it tells from the start what that costs.
_CONFIDENCE, _CONFIDENCE_OF_ONE = 0.8, 0.2
_SCORE_OF_ONE = 0.5


@dataclass(frozen=True)
class JobSlowed:
    """Judges the mean activity of each job's tensor cores against the job's own past; of its SMs where there is none.

    Persistence is in ``statistics/own_pace.py``, because it depends on the pauses that the job makes by itself.
    """

    name: str = "job_slowed"
    kind: FindingKind = FindingKind.JOB_SLOWED
    metrics: tuple[str, ...] = ("gpu_tensor_active_ratio", "gpu_sm_active_ratio", "gpu_utilization_ratio")
    persist: int = 1
    sure: float = 1.0
    clear_intervals: float = 0.0

    def judge(self, view: View) -> list[Verdicts]:
        view.work.keep(job.job_id for job in view.places.jobs)
        tensor, sm, _ = self.metrics
        known = _positions(view, tensor)
        judged = self._take(view, tensor, known) + self._take(view, sm, _positions(view, sm) - known)
        judged = [(name, work) for name, work in judged if work.work.normal > 0 and work.closed_ns]
        return [_verdicts(view, judged)]

    def _take(self, view: View, metric: str, positions: set[int]) -> list[tuple[str, JobWork]]:
        """Adds this tick's activity to the work of these jobs; returns those with fresh values."""
        column, busy = view.column(metric), view.column(self.metrics[2])
        job = view.places.job[column.objects]
        at = lookup(busy.objects, column.objects)
        fresh = column.fresh & (at >= 0) & (job >= 0)
        settled_ns = view.end_ns - round(_SETTLE_INTERVALS * view.config.interval_ns)
        follow = round(view.config.baseline_follow_s * 1e9 / max(BIN_NS, view.config.interval_ns))
        members, rows = np.bincount(job[job >= 0], minlength=1), np.flatnonzero(fresh)
        known = np.bincount(job[rows], minlength=members.size)
        work = np.bincount(job[rows], column.values[rows], members.size) / np.maximum(known, 1)
        kernels = np.bincount(job[rows], busy.values[at[rows]], members.size) / np.maximum(known, 1)
        newest_ns = np.zeros(members.size, np.int64)
        np.maximum.at(newest_ns, job[rows], column.times_ns[rows])
        found = []
        for place in sorted(positions):
            about = view.places.jobs[place]
            if about.started_ns > settled_ns or known[place] < max(1.0, _GPUS_SHARE * members[place]):
                continue
            own = view.work.of(about.job_id, metric)
            own.take(int(newest_ns[place]), float(work[place]), float(kernels[place]), view.config.interval_ns, follow)
            found.append((about.job_id, own))
        return found


def _positions(view: View, metric: str) -> set[int]:
    """Jobs whose GPUs have the metric."""
    job = view.places.job[view.column(metric).objects]
    return set(job[job >= 0].tolist())


def _verdicts(view: View, judged: list[tuple[str, JobWork]]) -> Verdicts:
    numbers = [view.registry.object_number(objects.job(name)) for name, _ in judged]
    values = np.array([work.work.mean(max(1, work.slump)) for _, work in judged])
    normals = np.array([work.work.normal for _, work in judged])
    slumps = np.array([work.slump > 0 for _, work in judged], bool)
    dips = np.array([work.dips for _, work in judged], bool)
    interval_ns = view.config.interval_ns

    def series(row: int) -> str:
        name, work = judged[row]
        return f"mean({series_key(work.metric, {'job_id': name})})"

    evidence = Evidence(np.full(len(judged), -1), values, normals, "ratio", series)
    return Verdicts(
        np.array(numbers, np.int64),
        np.array([work.closed_ns for _, work in judged], np.int64),
        slumps | dips,
        np.where(dips, _SCORE_OF_ONE, _score(values, normals, slumps)),
        (evidence,),
        np.where(slumps, _CONFIDENCE, _CONFIDENCE_OF_ONE),
        np.array([work.onset_ns(interval_ns) for _, work in judged], np.int64),
    )


def _score(values: NDArray[np.float64], normals: NDArray[np.float64], slumps: NDArray[np.bool_]) -> NDArray[np.float64]:
    score = (1.0 - values / normals) / (1.0 - LOW_SHARE)
    return np.where(slumps, np.maximum(1.0, score), np.clip(score, 0.0, _SCORE_OUTSIDE))
