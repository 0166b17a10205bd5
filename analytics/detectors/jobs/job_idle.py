"""Job idle: the GPUs of a job have no kernels, and it is no ordinary checkpoint and no pause that it always makes. They
wait for the host: for data to read, for a checkpoint that takes longer than usual, or for a process.

While a storage target is slow, no pause is ordinary that began as one: files are striped, so what is three times slower
than its siblings makes a checkpoint three times as long, and twice as long is late. That is known with the first sample
in which the job stands still. Nor is one while a server of the file system answers nobody.

GPUs that wait for each other poll inside kernels, so this is the part of waiting that storage explains and the fabric
does not. It opens no incident, as a program may stop for reasons of its own: it shows what a known fault costs. Only of
jobs that were shown to work in lockstep.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from analytics.derived.slow_storage import filesystems_of_jobs
from analytics.detectors.jobs.lockstep import coherence_evidence, lockstep_jobs
from analytics.detectors.spec import Detector, Scope, Verdicts, computed_evidence
from analytics.models.jobs.job_work import JobWork
from analytics.models.jobs.work_level import LOW_SHARE
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry import objects
from telemetry.findings import FindingKind
from telemetry.series import series_key

_CONFIDENCE = 0.2  # it only supports, as one low bin of a job does
_SCORE_HELD_UP = 6.0  # more than any other, which are 5 at most: one sample is enough beside a finding about a target


@dataclass(frozen=True, kw_only=True)
class JobIdle(Detector):
    """Judges the time with kernels of each job in a pause against what is usual outside of its pauses."""

    name: str = "job_idle"
    kind: FindingKind = FindingKind.JOB_IDLE
    metrics: tuple[str, ...] = ("gpu_utilization_ratio", "storage_written_bytes_total")
    scope: Scope = Scope.CLUSTER
    persist: int = 3  # what a checkpoint writes shows up to two collections later
    fire_immediately_score: float = _SCORE_HELD_UP
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
        held_up = _held_up(view, judged)
        ordinary &= ~held_up
        score = np.where(ordinary | (usual <= 0.0), 0.0, (1.0 - busy / np.fmax(usual, 1e-9)) / (1.0 - LOW_SHARE))
        score = np.where(held_up & (score >= 1.0), _SCORE_HELD_UP, score)
        idle = (score >= 1.0) & lockstep_jobs(view)[jobs]

        def series(row: int) -> str:
            return f"mean({series_key(self.metrics[0], {'job_id': judged[row][0]})})"

        evidence = (computed_evidence(busy, usual, "ratio", series), coherence_evidence(view, jobs))
        every_s = np.array([work.cadence_ns for _, work in judged]) / 1e9
        return [Verdicts(numbers, newest_ns, idle, score, evidence, _CONFIDENCE, began_ns, every_s)]


def _held_up(view: TickView, judged: Sequence[tuple[str, JobWork]]) -> NDArray[np.bool_]:
    """Which jobs stand still while a target of a file system that they use is slow, or its server gone."""
    holding_up, used = view.derived.holding_up, view.per_topology(filesystems_of_jobs)
    waits = [work.checkpoints.still_ns > 0 and not holding_up.isdisjoint(used[name]) for name, work in judged]
    return np.array(waits, bool)
