"""Forecasts: what will reach its limit, and when."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from fabricscope.api.paging import PageQuery, Paging
from fabricscope.api.routes.answering import VersionedRoute, lists
from fabricscope.api.routes.incidents import Model
from telemetry.findings import FindingKind
from telemetry.objects import port
from telemetry.trends import Forecast

router = APIRouter(prefix="/api/v1", tags=["cluster"], route_class=VersionedRoute)


class ForecastFilter(PageQuery):
    """Which forecasts."""

    kind: FindingKind | None = Field(None, description="`capacity` or `wear` alone.")


_WORN = Forecast(
    'fabric_port_optical_rx_dbm{device="leaf1",port="Ethernet4",lane="0"}',
    *(FindingKind.WEAR, port("leaf1", "Ethernet4"), "dBm", -3.0, -7.3, -0.4, 10.75, 9.1, None, 7.0),
)


@router.get("/trends", responses=lists(example=[asdict(_WORN)]))
async def list_forecasts(model: Model, page: Paging, chosen: Annotated[ForecastFilter, Query()]) -> list[Forecast]:
    """All forecasts whose direction is proved, soonest first."""
    devices = list(model.trends.values())
    found = [one for device in devices for one in device.forecasts if chosen.kind in (None, one.kind)]
    return page.cut(found, lambda one: (one.days, one.series, one.kind, str(one.object)), chosen)
