"""What GPUs of running jobs waited for: sums over the starvation ledger."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query

from fabricscope.api.problem import may_answer
from fabricscope.api.routes.incidents import Model
from telemetry.starvation import GpuLoss, HostLosses, WaitCause

router = APIRouter(prefix="/api/v1", tags=["cluster"], responses=may_answer(422))


class By(StrEnum):
    CLUSTER = "cluster"
    JOB = "job"
    HOST = "host"
    GPU = "gpu"


@dataclass(frozen=True, slots=True)
class Lost:
    """GPU time of one job, host or GPU. name: '' for jobs that are too old to be distinguished, and for the cluster.

    watched_s: GPU-seconds of running jobs that samples cover. lost_s: those without work, the sum of ``causes_s``.
    """

    name: str
    gpus: int
    watched_s: float
    lost_s: float
    causes_s: dict[WaitCause, float]


@router.get("/starvation")
async def sum_starvation(
    model: Model, by: By = By.JOB, job: str | None = None, limit: Annotated[int, Query(ge=1, le=100_000)] = 1000
) -> list[Lost]:
    """Lost GPU time by cause, largest loss first. job: of this one alone."""
    rows = [(one, loss) for one in model.losses.values() for loss in one.gpus if job in (None, loss.job_id)]
    groups: dict[str, list[tuple[HostLosses, GpuLoss]]] = {}
    for one, loss in rows:
        groups.setdefault(_name(by, one.device, loss), []).append((one, loss))
    found = [_sum_losses(name, members) for name, members in groups.items()]
    return sorted(found, key=lambda lost: (-lost.lost_s, lost.name))[:limit]


def _name(by: By, device: str, loss: GpuLoss) -> str:
    return {By.CLUSTER: "", By.JOB: loss.job_id, By.HOST: device, By.GPU: f"{device}/{loss.gpu}"}[by]


def _sum_losses(name: str, members: Iterable[tuple[HostLosses, GpuLoss]]) -> Lost:
    members = list(members)
    causes = {cause: round(sum(_seconds(members, cause)), 3) for cause in WaitCause}
    causes = {cause: seconds for cause, seconds in causes.items() if seconds}
    watched_s = sum(loss.watched_s for _, loss in members)
    gpus = len({(one.device, loss.gpu) for one, loss in members})
    return Lost(name, gpus, round(watched_s, 3), round(sum(causes.values()), 3), causes)


def _seconds(members: Iterable[tuple[HostLosses, GpuLoss]], cause: WaitCause) -> Iterator[float]:
    return (loss.lost_s.get(cause, 0.0) for _, loss in members)
