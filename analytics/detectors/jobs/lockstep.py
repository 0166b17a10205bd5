"""The premise of whatever says that GPUs wait for each other: their job was shown to work in lockstep."""

import numpy as np
from numpy.typing import NDArray

from analytics.derived.work_classes import ACTIVITIES
from analytics.detectors.spec import EvidenceColumns, computed_evidence
from analytics.models.expected_share import EXPECTED_SHARE
from analytics.models.group_medians import group_medians
from analytics.models.jobs.coherence import WorkClass
from analytics.state.lookup import lookup
from analytics.view.tick_view import TickView
from telemetry.series import series_key

# Of the time that a low clock costs: after two samples the smoothed lead has half of it, and what takes longer is the
# kernels alone.
_LEAD_SHARE = 0.2
_WHOLE_SHARE = 0.5
_CLOCK = "gpu_sm_clock_hertz"
_POLLS_MIN, _COMPUTES = 0.95, 0.02  # part of the time with kernels, and with tensor work: as for a hung GPU


def lockstep_groups(view: TickView) -> NDArray[np.int64]:
    """int64[objects]: job of each GPU that works in a job in lockstep, else -1."""
    job, lockstep = view.derived.working_job, view.derived.classes.lockstep_job
    return np.where(job == lockstep, job, -1)


def paused(view: TickView, objects: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool[k]: whether each GPU had a pause in its newest interval: who shared it depends on when hosts were read."""
    return view.derived.classes.paused[objects]


def lockstep_jobs(view: TickView) -> NDArray[np.bool_]:
    """bool[jobs], by position in ``TopologyIndex.jobs``."""
    return np.asarray(view.derived.classes.classes == WorkClass.LOCKSTEP)


def coherence_evidence(view: TickView, jobs: NDArray[np.int64]) -> EvidenceColumns:
    """How coherent the GPUs of each job are: why it counts as lockstep. jobs: int64[n], positions, -1 for none.

    As for any evidence, a value of NaN is left out.
    """
    classes = view.derived.classes
    values = np.append(classes.coherence, np.nan)[jobs]

    def label(row: int) -> str:
        job = view.topology_index.jobs[jobs[row]]
        earlier = {"user": job.user, "name": job.name}
        labels = earlier if classes.inherited[jobs[row]] else {"job_id": job.job_id}
        return f"coherence({series_key(ACTIVITIES[0], labels)})"

    return computed_evidence(values, np.nan, "ratio", label)


def works_longer(
    view: TickView, objects: NDArray[np.int64], hosts: NDArray[np.int64], deficit: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """bool[k]: whether the others wait for a GPU whose clock is low, as far as that can be seen.

    deficit: float64[k], part of its clock that is missing; the same work takes so much longer. hosts: int64[k].
    True where nothing can be compared, and where the whole host has such clocks.
    """
    lead = view.derived.classes.lead[objects]
    whole = group_medians(hosts, deficit) >= _WHOLE_SHARE * deficit
    return np.asarray(np.isnan(lead) | whole | (lead >= _LEAD_SHARE * deficit))


def stands_still(view: TickView, objects: NDArray[np.int64], groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool[k]: whether each GPU polls all the time for what its whole job waits for, so that none works longer.

    groups: int64[k], job of each. False where tensor work is not reported.
    """
    busy, tensor = (_fresh(view, metric, objects) for metric in (ACTIVITIES[2], ACTIVITIES[1]))
    return (busy >= _POLLS_MIN) & (tensor < _COMPUTES) & (group_medians(groups, tensor) < _COMPUTES)


def expected_share(view: TickView, objects: NDArray[np.int64]) -> EvidenceColumns:
    """What a job in lockstep will lose by the clock of each GPU, against the median of its job: evidence.

    objects: int64[k], of GPUs. It has no value for a GPU that pauses, and for other jobs.
    """
    jobs = np.where(paused(view, objects), -1, lockstep_groups(view)[objects])
    of_jobs = view.column(_CLOCK)
    of_jobs = of_jobs.only(of_jobs.fresh & np.isin(lockstep_groups(view)[of_jobs.objects], jobs[jobs >= 0]))
    median = group_medians(lockstep_groups(view)[of_jobs.objects], of_jobs.values)
    lost = np.append(1.0 - of_jobs.values / median, np.nan)[lookup(of_jobs.objects, objects)]

    def label(row: int) -> str:
        return series_key(EXPECTED_SHARE, {"job_id": view.topology_index.jobs[jobs[row]].job_id})

    return computed_evidence(np.where((jobs >= 0) & (lost > 0.0), lost, np.nan), np.nan, "ratio", label)


def _fresh(view: TickView, metric: str, objects: NDArray[np.int64]) -> NDArray[np.float64]:
    column = view.column(metric)
    return column.only(column.fresh).about(objects)
