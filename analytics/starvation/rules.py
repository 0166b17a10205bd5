"""Which cause each lost second has: the first rule that holds. Time without kernels and time inside them are apart."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analytics.starvation.evidence import WaitEvidence
from telemetry.starvation import WaitCause

CAUSES = tuple(WaitCause)
_COLUMN = {cause: column for column, cause in enumerate(CAUSES)}
IDLE_SHARE_MIN = 0.2  # of a GPU's time without kernels: then the others of its job wait for it

Flags = NDArray[np.bool_]


def column(cause: WaitCause) -> int:
    """Of the ledger."""
    return _COLUMN[cause]


def idle_causes(found: WaitEvidence, gpus: Sequence[tuple[str, str, str]], job: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[n]: the cause of time without kernels. gpus: host, UUID and job id of each; job: int64[n], from 0."""
    hosts, jobs = [host for host, _, _ in gpus], [job_id for _, _, job_id in gpus]
    starved, slow = _among(hosts, found.starved), _among(hosts, found.slow)
    rules = (
        (_among([f"{host}/{uuid}" for host, uuid, _ in gpus], found.stuck), WaitCause.HUNG),
        (_any_of_job(job, _among(hosts, found.writing)) & ~slow, WaitCause.CHECKPOINT),
        (starved & ~slow, WaitCause.DATA_LOADER),
        (slow, WaitCause.STORAGE),
        (_any_of_job(job, starved), WaitCause.PEER),
        (_among(jobs, found.hung), WaitCause.HUNG),
        (_among(hosts, found.reading), WaitCause.STORAGE),
    )
    return _first(rules, len(gpus))


def spin_causes(
    found: WaitEvidence, gpus: Sequence[tuple[str, str, str]], job: NDArray[np.int64], idle: NDArray[np.float64]
) -> NDArray[np.int64]:
    """int64[n]: the cause of time in kernels that do not compute. idle: float64[n], share of time without kernels."""
    names = [f"{host}/{uuid}" for host, uuid, _ in gpus]
    jobs = [job_id for _, _, job_id in gpus]
    held, stuck = _among(names, found.held), _among(names, found.stuck)
    hosts_gone = {name.rpartition("/")[0] for name in found.gone}
    rules = (
        (stuck, WaitCause.HUNG),
        (held & ~_any_of_job(job, stuck), WaitCause.THROTTLE),
        (_any_of_job(job, held | stuck | _among([host for host, _, _ in gpus], hosts_gone)), WaitCause.PEER),
        (_among(jobs, found.fabric), WaitCause.FABRIC),
        (_any_of_job(job, idle >= IDLE_SHARE_MIN), WaitCause.PEER),
        (_among(jobs, found.hung), WaitCause.HUNG),
    )
    return _first(rules, len(gpus))


def _first(rules: Sequence[tuple[Flags, WaitCause]], size: int) -> NDArray[np.int64]:
    causes = np.full(size, column(WaitCause.UNKNOWN))
    for holds, cause in reversed(rules):
        causes[holds] = column(cause)
    return causes


def _among(names: Sequence[str], wanted: "frozenset[str] | set[str]") -> Flags:
    if not wanted:
        return np.zeros(len(names), bool)
    return np.fromiter((name in wanted for name in names), bool, len(names))


def _any_of_job(job: NDArray[np.int64], flags: Flags) -> Flags:
    """Whether any GPU of the same job has the flag."""
    return np.asarray(np.bincount(job, flags, minlength=1)[job] > 0)
