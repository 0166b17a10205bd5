"""The work of all running jobs, learned from the activity of their GPUs."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from analytics.derived.job_cadence import gpus_read_every_s, read_every_s
from analytics.derived.job_writes import METRIC as WRITTEN
from analytics.derived.job_writes import JobWrites, not_local
from analytics.models.jobs.job_work import BIN_NS, JobWork
from analytics.snapshot.stateful import State
from analytics.state.lookup import lookup
from analytics.view.tick_view import Column, TickView

REPORTED_BY = "job_slowed"  # the detector whose findings say that a job works less than it usually does
TENSOR, SM, BUSY = "gpu_tensor_active_ratio", "gpu_sm_active_ratio", "gpu_utilization_ratio"
_GPUS_SHARE = 0.5  # of the job's GPUs must have fresh values
_SETTLE_INTERVALS = 2.0  # after the start of a job


class JobActivity:
    """Work by job id. A job is measured by its tensor cores, or by its SMs where those are not reported."""

    def __init__(self) -> None:
        self._jobs: dict[str, JobWork] = {}

    def update(self, view: TickView, slowed: Collection[str] = ()) -> Mapping[str, JobWork]:
        """One tick; the running jobs after it. slowed: those with a finding, whose usual work stays."""
        running = {job.job_id for job in view.topology_index.jobs}
        self._jobs = {name: replace(job, fresh=False) for name, job in self._jobs.items() if name in running}
        tensor = _positions(view, TENSOR)
        self._add_activity(view, TENSOR, tensor, slowed)
        self._add_activity(view, SM, _positions(view, SM) - tensor, slowed)
        self._add_checkpoints(view)
        return dict(self._jobs)

    def _add_activity(self, view: TickView, metric: str, positions: set[int], slowed: Collection[str]) -> None:
        """This tick's activity of the jobs at these positions."""
        column, busy = view.column(metric), view.column(BUSY)
        job = view.topology_index.job[column.objects]
        at = lookup(busy.objects, column.objects)
        fresh = column.fresh & (at >= 0) & (job >= 0)
        settled_ns = view.end_ns - round(_SETTLE_INTERVALS * view.config.interval_ns)
        bin_s = max(BIN_NS, view.config.interval_ns) * 1e-9
        members, rows = np.bincount(job[job >= 0], minlength=1), np.flatnonzero(fresh)
        known = np.bincount(job[rows], minlength=members.size)
        work = np.bincount(job[rows], column.values[rows], members.size) / np.maximum(known, 1)
        kernels = np.bincount(job[rows], busy.values[at[rows]], members.size) / np.maximum(known, 1)
        newest_ns = np.zeros(members.size, np.int64)
        np.maximum.at(newest_ns, job[rows], column.times_ns[rows])
        cadence_s = _cadence_s(view, busy.only(at[rows]), members.size)
        for position in sorted(positions):
            about = view.topology_index.jobs[position]
            if about.started_ns > settled_ns or known[position] < max(1.0, _GPUS_SHARE * members[position]):
                continue
            follow_s = view.config.reported_follow_s if about.job_id in slowed else view.config.baseline_follow_s
            before = self._jobs.get(about.job_id)
            if before is None or before.metric != metric:
                before = JobWork(metric)
            after = before.updated(
                int(newest_ns[position]),
                float(work[position]),
                float(kernels[position]),
                view.config.interval_ns,
                round(follow_s / bin_s),
            )
            self._jobs[about.job_id] = replace(after, fresh=True, cadence_ns=round(float(cadence_s[position]) * 1e9))

    def _add_checkpoints(self, view: TickView) -> None:
        writes = JobWrites(view)
        for name, job in sorted(self._jobs.items()):
            if job.newest_ns <= job.checkpoints.newest_ns:
                continue
            written, shared = writes.now(name) if job.checkpoints.pauses(job.busy) else (0.0, False)
            every_ns = job.every_ns(view.config.interval_ns)
            sent = writes.sent(name, job.checkpoints.still_ns)
            checkpoints = job.checkpoints.updated(job.newest_ns, job.busy, written, shared, every_ns, sent)
            others = job.others if sent is None else writes.others(name, sent)
            others = others if checkpoints.still_ns else 0.0
            self._jobs[name] = replace(job, checkpoints=checkpoints, others=others)

    def state(self) -> State:
        return State({name: job.as_json() for name, job in self._jobs.items()}, {})

    def restore(self, state: State) -> None:
        self._jobs = {name: JobWork.from_json(job) for name, job in state.head.items()}


def _cadence_s(view: TickView, busy: Column, jobs: int) -> NDArray[np.float64]:
    """float64[jobs]: seconds between two values of a job's GPUs, and of what is written, of the rarer one; by position.

    busy: of the GPUs.
    """
    found = gpus_read_every_s(view, busy, np.arange(jobs))
    written = read_every_s(view, view.column(WRITTEN, not_local))
    return np.maximum(found, np.median(written)) if written.size else found


def _positions(view: TickView, metric: str) -> set[int]:
    """Jobs whose GPUs have the metric."""
    job = view.topology_index.job[view.column(metric).objects]
    return set(job[job >= 0].tolist())
