"""What is collected from, and what it is connected to."""

import asyncio
from dataclasses import asdict
from heapq import nsmallest
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from fabricscope.api import views
from fabricscope.api.paging import PageQuery, Paging
from fabricscope.api.read_model import TargetStatus
from fabricscope.api.routes.answering import VersionedRoute, lists, shows
from fabricscope.api.routes.incidents import Model
from fabricscope.api.views.cluster import entity_of
from telemetry import topology
from telemetry.ledger import SERIES_REFUSED
from telemetry.refusals import refused_changes, refused_facts
from telemetry.unrecorded import unrecorded

router = APIRouter(prefix="/api/v1", tags=["cluster"], route_class=VersionedRoute)
_SERIES = "series_"  # begins the names of the counts in an analytics report


class TargetFilter(PageQuery):
    """Which targets; those that every given key applies to."""

    up: bool | None = Field(None, description="Only those that answered their newest collection, or only the others.")
    device: str | None = Field(None, max_length=1024, description="Of this switch or host alone.")

    def admits(self, status: TargetStatus) -> bool:
        return self.up in (None, status.up) and self.device in (None, status.device)


@router.get("/targets", responses=lists())
async def list_targets(model: Model, page: Paging, chosen: Annotated[TargetFilter, Query()]) -> list[views.Target]:
    """The newest collection of each target: down first, then by name."""
    found = filter(chosen.admits, list(model.targets.values()))
    down_first = page.cut(found, lambda status: (status.up, status.target), chosen)
    return [views.Target.model_validate(status) for status in down_first]


@router.get("/targets/top", responses=shows())
async def list_top_targets(
    model: Model, limit: Annotated[int, Query(ge=1, le=1000, description="At most so many.")] = 20
) -> list[views.TargetLoad]:
    """The targets that cost most: those with refused series first, then those with most series."""
    refused = {
        name.removeprefix(SERIES_REFUSED): int(count)
        for report in model.drops.newest()
        for name, count in report.details.items()
        if name.startswith(SERIES_REFUSED)
    }
    known = {name: (status.device, status.series) for name, status in list(model.targets.items())}
    loads = []
    for name in known.keys() | refused.keys():
        device, series = known.get(name, ("", 0))
        refused_now = refused.get(name, 0)
        loads.append(views.TargetLoad(target=name, device=device, series=series, series_refused=refused_now))
    return nsmallest(limit, loads, key=lambda load: (-load.series_refused, -load.series, load.target))


_ENTITIES = (
    topology.Device("leaf1", topology.Role.LEAF, pod="pod1", rack="r1", rail="0", asic="tomahawk4"),
    topology.Link("leaf1", "Ethernet4", "node1", "mlx5_0", 4e11),
    topology.Gpu("node1", "GPU-5f3c", 0, "mlx5_0", "H100"),
)


@router.get("/topology", responses=lists(example=[asdict(one) for one in _ENTITIES]))
async def list_topology(model: Model, page: Paging, query: Annotated[PageQuery, Query()]) -> list[views.Entity]:
    """All present devices, links, GPUs, storage targets, mounts and jobs, sorted by key."""
    present = ((key, fact.entity) for key, fact in model.topology.facts.items() if not fact.gone)
    return [entity_of(entity) for _, entity in page.cut(present, lambda pair: (pair[0],), query)]


@router.get("/refused", responses=lists())
async def list_refused_input(model: Model, page: Paging, query: Annotated[PageQuery, Query()]) -> list[views.Refusal]:
    """What topology and changes say that cannot be, newest first: what is wrong, who says so, and what counts."""
    facts, changes = model.topology, list(model.changes.values())
    of_facts = await asyncio.to_thread(refused_facts, facts)  # of 80,000 facts it takes 0.1 s
    found = [*(each for refusals in of_facts.values() for each in refusals), *refused_changes(changes)]
    newest_first = page.cut(
        found, lambda each: (-each.at_ns, each.reason, " ".join(map(str, each.objects)), each.text, each.source), query
    )
    return [views.Refusal.model_validate(refusal) for refusal in newest_first]


@router.get("/unrecorded", responses=shows())
async def list_what_is_not_recorded(model: Model) -> list[views.Unrecorded]:
    """What no source says of the cluster, what is lost for want of it, and which source would say it."""
    return [views.Unrecorded.model_validate(each) for each in unrecorded(model.topology)]


@router.get("/trust", responses=shows())
async def count_series_states(model: Model) -> list[views.DataQuality]:
    """Of each analytics process, how many series are fresh, stale, frozen, reset, unsupported, or zero by a fault."""
    return [
        views.DataQuality.model_validate(
            {
                "instance": report.instance,
                "at": report.at_ns,
                "series": {
                    name.removeprefix(_SERIES): int(count)
                    for name, count in report.details.items()
                    if name.startswith(_SERIES)
                },
            }
        )
        for (stage, _), report in sorted([*model.stages.items()])
        if stage == "analytics"
    ]
