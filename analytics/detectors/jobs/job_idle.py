"""Job idle: the GPUs of a job have no kernels, and it is no ordinary checkpoint and no pause that it always makes. They
wait for the host: for data to read, for a checkpoint that takes longer than usual, or for a process.

GPUs that wait for each other poll inside kernels, so this is the part of waiting that storage explains and the fabric
does not. It opens no incident, as a program may stop for reasons of its own: it shows what a known fault costs. Only of
jobs that were shown to work in lockstep.
"""

from dataclasses import dataclass
from statistics import median

import numpy as np

from analytics.detectors.jobs.lockstep import coherence_evidence, lockstep_jobs
from analytics.detectors.spec import Detector, Scope, Verdicts, computed_evidence
from analytics.models.jobs.work_level import LOW_SHARE
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry import objects
from telemetry.findings import FindingKind
from telemetry.series import series_key

_CONFIDENCE = 0.2  # it only supports, as one low bin of a job does


@dataclass(frozen=True, kw_only=True)
class JobIdle(Detector):
    """Judges the time with kernels of each job in a pause against what is usual outside of its pauses."""

    name: str = "job_idle"
    kind: FindingKind = FindingKind.JOB_IDLE
    metrics: tuple[str, ...] = ("gpu_utilization_ratio", "storage_written_bytes_total")
    scope: Scope = Scope.CLUSTER
    persist: int = 3  # what a checkpoint writes shows up to two collections later
    clear_intervals: float = 0.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        judged = [(name, work) for name, work in sorted(view.derived.jobs.items()) if work.fresh]
        judged = [(name, work) for name, work in judged if work.checkpoints.usual]
        positions = {job.job_id: position for position, job in enumerate(view.topology_index.jobs)}
        jobs = np.array([positions[name] for name, _ in judged], np.int64)
        numbers = np.array([view.index.object_number(objects.job(name)) for name, _ in judged], np.int64)
        newest_ns = np.array([work.newest_ns for _, work in judged], np.int64)
        began_ns = np.array([work.checkpoints.pause_ns or work.newest_ns for _, work in judged], np.int64)
        busy = np.array([work.busy for _, work in judged])
        usual = np.array([median(work.checkpoints.usual) for _, work in judged])
        every_ns = [work.every_ns(view.config.interval_ns) for _, work in judged]
        pauses = [work.checkpoints for _, work in judged]
        ordinary = np.array(
            [each.is_ordinary(ns) or each.rests() for each, ns in zip(pauses, every_ns, strict=True)], bool
        )
        score = np.where(ordinary | (usual <= 0.0), 0.0, (1.0 - busy / np.fmax(usual, 1e-9)) / (1.0 - LOW_SHARE))
        idle = (score >= 1.0) & lockstep_jobs(view)[jobs]

        def series(row: int) -> str:
            return f"mean({series_key(self.metrics[0], {'job_id': judged[row][0]})})"

        evidence = (computed_evidence(busy, usual, "ratio", series), coherence_evidence(view, jobs))
        return [Verdicts(numbers, newest_ns, idle, score, evidence, _CONFIDENCE, began_ns)]
