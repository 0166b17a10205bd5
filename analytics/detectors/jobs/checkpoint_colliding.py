"""Colliding checkpoints: two jobs write to one file system at the same time and take longer for it than alone.

Only while they stand still: jobs that wait for their data between iterations write no checkpoint.
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from analytics.detectors.jobs.checkpoint_late import of_jobs
from analytics.detectors.spec import Detector, Scope, Verdicts
from analytics.models.jobs.job_work import JobWork
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind
from telemetry.topology import Mount

_SLOWED_TIMES = 1.5  # as long as alone, and one interval more: pauses are measured to one interval
_MARGIN_INTERVALS = 1.0


@dataclass(frozen=True, kw_only=True)
class CheckpointColliding(Detector):
    """Judges each job that is writing a checkpoint."""

    name: str = "checkpoint_colliding"
    kind: FindingKind = FindingKind.CHECKPOINT_COLLIDING
    metrics: tuple[str, ...] = ("gpu_utilization_ratio", "storage_written_bytes_total")
    scope: Scope = Scope.CLUSTER
    fire_immediately_score: float = 1.0
    clear_intervals: float = 0.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        judged = [(name, work) for name, work in sorted(view.derived.jobs.items()) if work.checkpoints.length_ns]
        interval_ns = view.config.interval_ns
        lasts = np.array([work.checkpoints.stands_ns(interval_ns) for _, work in judged], np.float64)
        usual = np.array([work.checkpoints.length_ns for _, work in judged], np.float64)
        every_ns = np.array([work.every_ns(interval_ns) for _, work in judged], np.float64)
        slowed = lasts / (_SLOWED_TIMES * usual + _MARGIN_INTERVALS * every_ns)
        score = np.where(_in_company(view, judged, slowed >= 1.0), slowed, np.minimum(slowed, 0.99))
        began = np.array([work.checkpoints.pause_ns or work.newest_ns for _, work in judged], np.int64)
        return [of_jobs(view, judged, score, (lasts, usual), "checkpoint_seconds", began)]


def _in_company(
    view: TickView, judged: list[tuple[str, JobWork]], slowed: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> list[bool]:
    """Which slowed jobs share a file system with another slowed one."""
    names = [name for (name, _), slow in zip(judged, slowed.tolist(), strict=True) if slow]
    if len(names) < 2:
        return [False] * len(judged)
    jobs = {job.job_id: set(job.nodes) for job in view.topology_index.jobs if job.job_id in names}
    users: defaultdict[str, set[str]] = defaultdict(set)
    for mount in view.topology.entities(Mount):
        users[mount.filesystem].update(name for name, nodes in jobs.items() if mount.device in nodes)
    together = {name for sharing in users.values() if len(sharing) > 1 for name in sharing}
    return [name in together for name, _ in judged]
