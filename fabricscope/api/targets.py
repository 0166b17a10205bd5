"""What is collected from, what it is connected to, and the conservation ledger."""

from typing import Any

from fastapi import APIRouter

from fabricscope.api.incidents import Model
from fabricscope.api.read_model import TargetStatus
from telemetry.topology import Entity

router = APIRouter(prefix="/api/v1", tags=["cluster"])
_SERIES = "series_"  # begins the names of the counts in an analytics report


@router.get("/targets")
async def list_targets(model: Model) -> list[TargetStatus]:
    """The newest collection of each target: down first, then by name."""
    return sorted(model.targets.values(), key=lambda status: (status.up, status.target))


@router.get("/topology")
async def list_topology(model: Model) -> list[Entity]:
    """All present devices, links, GPUs, storage targets, mounts and jobs, sorted by key."""
    present = ((key, fact.entity) for key, fact in model.topology.facts.items() if not fact.gone)
    return [entity for _, entity in sorted(present, key=lambda pair: pair[0])]


@router.get("/ledger")
async def list_stage_reports(model: Model) -> list[dict[str, Any]]:
    """Samples in, out and dropped of each stage; ``balance`` is 0 when every sample is accounted for."""
    return [
        {
            "stage": report.stage,
            "instance": report.instance,
            "epoch_ns": report.epoch_ns,
            "at_ns": report.at_ns,
            "samples_in": report.samples_in,
            "samples_out": report.samples_out,
            "deduplicated": report.deduplicated,
            "held": report.held,
            "dropped": dict(report.dropped),
            "balance": report.balance,
            "details": dict(report.details),
        }
        for _, report in sorted(model.stages.items())
    ]


@router.get("/trust")
async def count_series_states(model: Model) -> list[dict[str, Any]]:
    """Of each analytics process, how many series are fresh, stale, frozen, reset, unsupported, or zero by a fault."""
    return [
        {
            "instance": report.instance,
            "at_ns": report.at_ns,
            "series": {
                name.removeprefix(_SERIES): int(count)
                for name, count in report.details.items()
                if name.startswith(_SERIES)
            },
        }
        for (stage, _), report in sorted(model.stages.items())
        if stage == "analytics"
    ]
