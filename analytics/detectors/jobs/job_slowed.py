"""Job slowed: a job works less than in its own past. It shows what a fault costs, not where the fault is.

Only of jobs that were shown to work in lockstep: all of their GPUs lose what their mean loses. The load of a service or
a notebook falls without any fault.

Waiting for each other happens inside kernels, so where the pace of the time with kernels is as usual the job waits for
its host: for data, or for its own program, which may stop for reasons of its own. As ``job_idle`` does, that opens no
incident, and shows what a known one costs.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.derived.job_activity import BUSY, REPORTED_BY, SM, TENSOR
from analytics.derived.job_cadence import gpus_read_every_s
from analytics.detectors.jobs.lockstep import coherence_evidence, lockstep_jobs
from analytics.detectors.jobs.traffic import traffic_evidence
from analytics.detectors.spec import Detector, Scope, Verdicts, computed_evidence
from analytics.models.jobs.job_work import BIN_NS, JobWork
from analytics.models.jobs.work_level import LOW_SHARE
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry import objects
from telemetry.findings import FindingKind
from telemetry.series import series_key

_SCORE_OUTSIDE = 0.99  # low, and not yet for long enough
# One low bin is no slump, and what is lost without kernels is no proof of a fault. Neither opens an incident, but where
# there is one they show what it costs, and the former does so from the start.
_CONFIDENCE, _CONFIDENCE_SUPPORTS = 0.8, 0.2
_SCORE_OF_ONE = 0.5


@dataclass(frozen=True, kw_only=True)
class JobSlowed(Detector):
    """Judges the mean activity of each job's tensor cores against the job's own past; that of its SMs without those.

    Persistence is in ``models/jobs/work_level.py``, because it depends on the regular pauses of the job.
    """

    name: str = REPORTED_BY
    kind: FindingKind = FindingKind.JOB_SLOWED
    metrics: tuple[str, ...] = (TENSOR, SM, BUSY)
    scope: Scope = Scope.CLUSTER
    fire_immediately_score: float = 1.0
    clear_intervals: float = 0.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        jobs = sorted(view.derived.jobs.items())
        return [_verdicts(view, [(name, job) for name, job in jobs if _is_known(job)])]


def _is_known(job: JobWork) -> bool:
    """Whether this tick brought values, and there is a normal to compare them with."""
    return job.fresh and job.work.normal > 0 and job.closed_ns > 0


def _verdicts(view: TickView, judged: list[tuple[str, JobWork]]) -> Verdicts:
    positions = {job.job_id: position for position, job in enumerate(view.topology_index.jobs)}
    jobs = np.array([positions[name] for name, _ in judged], np.int64)
    lockstep = lockstep_jobs(view)[jobs]
    numbers = [view.index.object_number(objects.job(name)) for name, _ in judged]
    values = np.array([work.work.mean(max(1, work.slump)) for _, work in judged])
    normals = np.array([work.work.normal for _, work in judged])
    interval_ns = view.config.interval_ns
    judged_by_length = np.array([work.only_writes(interval_ns) for _, work in judged], bool)  # checkpoint_late does
    lockstep &= ~judged_by_length
    slumps = lockstep & np.array([work.slump > 0 for _, work in judged], bool)
    in_kernels = np.array([work.pace.slump > 0 for _, work in judged], bool)
    dips = lockstep & np.array([work.dips for _, work in judged], bool)

    def series(row: int) -> str:
        name, work = judged[row]
        return f"mean({series_key(work.metric, {'job_id': name})})"

    evidence = computed_evidence(values, normals, "ratio", series)
    return Verdicts(
        np.array(numbers, np.int64),
        np.array([work.closed_ns for _, work in judged], np.int64),
        slumps | dips,
        np.where(dips, _SCORE_OF_ONE, _score(values, normals, slumps)),
        (evidence, coherence_evidence(view, jobs), *traffic_evidence(view, [name for name, _ in judged])),
        np.where(slumps & in_kernels, _CONFIDENCE, _CONFIDENCE_SUPPORTS),
        np.array([work.onset_ns(interval_ns) for _, work in judged], np.int64),
        np.maximum(BIN_NS * 1e-9, gpus_read_every_s(view, view.column(BUSY), jobs)),
    )


def _score(values: NDArray[np.float64], normals: NDArray[np.float64], slumps: NDArray[np.bool_]) -> NDArray[np.float64]:
    score = (1.0 - values / normals) / (1.0 - LOW_SHARE)
    return np.where(slumps, np.maximum(1.0, score), np.clip(score, 0.0, _SCORE_OUTSIDE))
