"""What GPUs of running jobs waited for: sums over the starvation ledger."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from fabricscope.api.paging import PageQuery, Paging
from fabricscope.api.routes.answering import VersionedRoute, lists
from fabricscope.api.routes.incidents import Model
from fabricscope.api.views.view import View
from telemetry.starvation import GpuLoss, HostLosses, WaitCause

router = APIRouter(prefix="/api/v1", tags=["cluster"], route_class=VersionedRoute)


class By(StrEnum):
    CLUSTER = "cluster"
    JOB = "job"
    HOST = "host"
    GPU = "gpu"


class Lost(View):
    """GPU time of one job, host or GPU. name: '' for jobs that are too old to be distinguished, and for the cluster.

    watched_s: GPU-seconds of running jobs that samples cover. lost_s: those without work, the sum of ``causes_s``.
    """

    name: str = Field(examples=["4711"])
    gpus: int = Field(examples=[64])
    watched_s: float = Field(examples=[230400.0])
    lost_s: float = Field(examples=[65.0])
    causes_s: dict[WaitCause, float] = Field(examples=[{"storage": 20.0, "peer": 45.0}])


class LossFilter(PageQuery):
    """Which sums."""

    by: By = Field(By.JOB, description="Whose GPU time is added up.")
    job: str | None = Field(None, description="Of this job alone, by its id.")


@router.get("/starvation", responses=lists())
async def sum_starvation(model: Model, page: Paging, chosen: Annotated[LossFilter, Query()]) -> list[Lost]:
    """Lost GPU time by cause, largest loss first."""
    hosts = list(model.losses.values())
    rows = [(one, loss) for one in hosts for loss in one.gpus if chosen.job in (None, loss.job_id)]
    groups: dict[str, list[tuple[HostLosses, GpuLoss]]] = {}
    for one, loss in rows:
        groups.setdefault(_name(chosen.by, one.device, loss), []).append((one, loss))
    found = [_sum_losses(name, members) for name, members in groups.items()]
    return page.cut(found, lambda lost: (-lost.lost_s, lost.name), chosen)


def _name(by: By, device: str, loss: GpuLoss) -> str:
    return {By.CLUSTER: "", By.JOB: loss.job_id, By.HOST: device, By.GPU: f"{device}/{loss.gpu}"}[by]


def _sum_losses(name: str, members: Iterable[tuple[HostLosses, GpuLoss]]) -> Lost:
    members = list(members)
    causes = {cause: round(sum(_seconds(members, cause)), 3) for cause in WaitCause}
    causes = {cause: seconds for cause, seconds in causes.items() if seconds}
    watched_s = sum(loss.watched_s for _, loss in members)
    gpus = len({(one.device, loss.gpu) for one, loss in members})
    lost_s = round(sum(causes.values()), 3)
    return Lost(name=name, gpus=gpus, watched_s=round(watched_s, 3), lost_s=lost_s, causes_s=causes)


def _seconds(members: Iterable[tuple[HostLosses, GpuLoss]], cause: WaitCause) -> Iterator[float]:
    return (loss.lost_s.get(cause, 0.0) for _, loss in members)
