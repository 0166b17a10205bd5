"""Job stalled: none of a job's GPUs computes, for longer than a checkpoint takes.

Only of jobs that were shown to work in lockstep: a notebook or a service without requests computes nothing either. A
checkpoint that takes no longer than this job's always do is no stall: to disks they may take minutes.
"""

from dataclasses import dataclass

import numpy as np

from analytics.derived.job_cadence import gpus_read_every_s
from analytics.detectors.jobs.lockstep import coherence_evidence, lockstep_jobs
from analytics.detectors.jobs.traffic import traffic_evidence
from analytics.detectors.spec import Detector, Scope, Verdicts, computed_evidence
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry import objects
from telemetry.findings import FindingKind
from telemetry.series import series_key

_ACTIVE_MIN = 0.02  # share of cycles with tensor work: less is none
_SAMPLES_MIN = 2
# Two minutes: loading and checkpoints of healthy jobs are shorter. At most one sample counts in each tenth of that,
# whatever the collection interval is.
_STEP_NS, _STEPS = 12 * 10**9, 10


@dataclass(frozen=True, kw_only=True)
class JobStalled(Detector):
    """Judges the busiest GPU of each job by the activity of its tensor cores."""

    name: str = "job_stalled"
    kind: FindingKind = FindingKind.JOB_STALLED
    metrics: tuple[str, ...] = ("gpu_tensor_active_ratio",)
    scope: Scope = Scope.CLUSTER
    persist: int = _STEPS
    clear_intervals: float = 1.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        active = view.column(self.metrics[0])
        active = active.only(active.fresh & (view.topology_index.job[active.objects] >= 0))
        job = view.topology_index.job[active.objects]
        present, at, sizes = np.unique(job, return_inverse=True, return_counts=True)
        busiest = np.zeros(present.size)
        np.maximum.at(busiest, at, active.values)
        newest_ns = np.zeros(present.size, np.int64)
        np.maximum.at(newest_ns, at, active.times_ns)
        steps_ns = newest_ns // _STEP_NS * _STEP_NS
        names = [view.topology_index.jobs[position].job_id for position in present.tolist()]
        numbers = [view.index.object_number(objects.job(name)) for name in names]

        def series(row: int) -> str:
            return f"max({series_key(self.metrics[0], {'job_id': names[row]})})"

        known = [view.derived.jobs.get(name) for name in names]
        writes = np.array([work is not None and work.only_writes(view.config.interval_ns) for work in known], bool)
        idle = (busiest < _ACTIVE_MIN) & (sizes >= _SAMPLES_MIN) & lockstep_jobs(view)[present] & ~writes
        shown = (computed_evidence(busiest, np.nan, "ratio", series), coherence_evidence(view, present))
        evidence = (*shown, *traffic_evidence(view, names))
        score = np.where(idle, 1.0, 0.0)
        every_s = gpus_read_every_s(view, active, present)
        return [Verdicts(np.array(numbers, np.int64), steps_ns, idle, score, evidence, 0.7, newest_ns, every_s)]
