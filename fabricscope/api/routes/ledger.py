"""The conservation ledger: what became of every sample, by stage, by target and by job."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from fabricscope.api import views
from fabricscope.api.instants import rfc3339
from fabricscope.api.paging import PageQuery, Paging
from fabricscope.api.read_model import ReadModel, TargetStatus
from fabricscope.api.routes.answering import VersionedRoute, lists, shows
from fabricscope.api.routes.incidents import Model
from telemetry.ledger import TargetAccount

router = APIRouter(prefix="/api/v1/ledger", tags=["cluster"], route_class=VersionedRoute)


class AccountFilter(PageQuery):
    """Which accounts; those that every given key applies to."""

    device: str | None = Field(None, max_length=1024, description="Of this switch or host alone.")
    job: str | None = Field(None, max_length=1024, description="Of the targets of this job of the settings alone.")
    dropped: bool | None = Field(None, description="Only those with samples that were dropped, or only the others.")
    balanced: bool | None = Field(None, description="Only those whose samples are all accounted for, or the others.")

    def admits(self, status: TargetStatus, account: TargetAccount) -> bool:
        return (
            self.device in (None, status.device)
            and self.job in (None, _job_of(status.target))
            and self.dropped in (None, bool(account.dropped))
            and self.balanced in (None, account.balance == 0)
        )


_Pair = tuple[TargetStatus, TargetAccount]


@router.get("", responses=shows())
async def list_stage_reports(model: Model) -> list[views.StageReport]:
    """Samples in, out and dropped of each process; ``balance`` is 0 when every sample is accounted for."""
    return [views.StageReport.model_validate(report) for _, report in sorted([*model.stages.items()])]


@router.get("/targets", responses=lists())
async def list_target_accounts(
    model: Model, page: Paging, chosen: Annotated[AccountFilter, Query()]
) -> list[views.TargetAccount]:
    """Samples received, delivered and dropped of each target: unbalanced first, then those that lost most.

    Of the ingest process that collects it, since that began. A target without an account is not listed: a release
    before this one collected it.
    """
    found = (pair for pair in _accounts(model) if chosen.admits(*pair))
    return [_view(*pair) for pair in page.cut(found, _worst_first, chosen)]


@router.get("/jobs", responses=shows())
async def list_job_accounts(model: Model) -> list[views.JobAccount]:
    """The sums of the targets of each job of the settings, by name: also how much is read of what they send."""
    jobs: dict[str, list[_Pair]] = {}
    for status, account in _accounts(model):
        jobs.setdefault(_job_of(status.target), []).append((status, account))
    return [_sum(job, pairs) for job, pairs in sorted(jobs.items())]


def _accounts(model: ReadModel) -> Iterator[_Pair]:
    accounts = model.accounts
    return ((status, accounts[name]) for name, status in list(model.targets.items()) if name in accounts)


def _worst_first(pair: _Pair) -> tuple[int | float | str, ...]:
    status, account = pair
    return account.balance == 0, -sum(account.dropped.values()), status.target


def _view(status: TargetStatus, account: TargetAccount) -> views.TargetAccount:
    return views.TargetAccount(
        target=status.target,
        device=status.device,
        since=rfc3339(account.since_ns),
        at=rfc3339(status.collected_ns),
        received=account.received,
        delivered=account.delivered,
        held=account.held,
        dropped=dict(account.dropped),
        balance=account.balance,
        series=status.series,
        unmapped=status.unmapped,
        left_out=status.left_out,
    )


def _sum(job: str, pairs: Sequence[_Pair]) -> views.JobAccount:
    dropped: Counter[str] = Counter()
    for _, account in pairs:
        dropped.update(account.dropped)
    return views.JobAccount(
        job=job,
        targets=len(pairs),
        received=sum(account.received for _, account in pairs),
        delivered=sum(account.delivered for _, account in pairs),
        held=sum(account.held for _, account in pairs),
        dropped=dict(sorted(dropped.items())),
        balance=sum(account.balance for _, account in pairs),
        series=sum(status.series for status, _ in pairs),
        unmapped=sum(status.unmapped for status, _ in pairs),
        left_out=sum(status.left_out for status, _ in pairs),
    )


def _job_of(target: str) -> str:
    return target.partition("/")[0]
