"""Forecasts: what will reach its limit, and when."""

from typing import Annotated

from fastapi import APIRouter, Query

from fabricscope.api.problem import may_answer
from fabricscope.api.routes.incidents import Model
from telemetry.findings import FindingKind
from telemetry.trends import Forecast

router = APIRouter(prefix="/api/v1", tags=["cluster"], responses=may_answer(422))


@router.get("/trends")
async def list_forecasts(
    model: Model, kind: FindingKind | None = None, limit: Annotated[int, Query(ge=1, le=100_000)] = 1000
) -> list[Forecast]:
    """All forecasts whose direction is proved, soonest first. kind: ``capacity`` or ``wear`` alone."""
    found = [one for device in model.trends.values() for one in device.forecasts if kind in (None, one.kind)]
    return sorted(found, key=lambda one: (one.days, one.series))[:limit]
