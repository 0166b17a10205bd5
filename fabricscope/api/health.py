"""Liveness, readiness and our own metrics."""

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException

from fabricscope.api.problem import may_answer

router = APIRouter(tags=["health"])


@router.get("/-/healthy", response_class=PlainTextResponse)
async def get_liveness() -> str:
    """200 while the process runs."""
    return "Fabricscope is healthy.\n"


@router.get("/-/ready", response_class=PlainTextResponse, responses=may_answer(503))
async def get_readiness(request: Request) -> str:
    """503 with the reason while the bus cannot be read, or a stage drops most of what it receives."""
    state = request.app.state
    bus, drops = state.bus.problem(), state.model.drops.problem()
    if bus is not None:
        raise HTTPException(503, f"bus: {bus}")
    if drops is not None:
        raise HTTPException(503, drops)
    return "Fabricscope is ready.\n"


@router.get("/metrics", include_in_schema=False)
async def metrics() -> Response:
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
