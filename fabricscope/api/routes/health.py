"""Liveness, readiness and our own metrics."""

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException

from fabricscope.api.problem import may_answer
from telemetry.recent_drops import backlog_warnings

router = APIRouter(tags=["health"])


@router.get("/-/healthy", response_class=PlainTextResponse)
async def get_liveness() -> str:
    """200 while the process runs."""
    return "Fabricscope is healthy.\n"


@router.get("/-/ready", response_class=PlainTextResponse, responses=may_answer(503))
async def get_readiness(request: Request) -> str:
    """503 with the reason while the bus cannot be read, a stage drops most of what it receives, or a process that was
    replaced by a newer one still publishes.

    Else 200, with a line for each process that has a problem, such as a receiver that refuses notifications, or that
    leaves out collections, or whose samples come late from its disk, or cannot be written there.
    """
    state = request.app.state
    recent = state.model.drops
    bus, drops = state.bus.problem(), recent.problem()
    if bus is not None:
        raise HTTPException(503, f"bus: {bus}")
    for problem in (drops, state.model.stale_owner.problem()):
        if problem is not None:
            raise HTTPException(503, problem)
    reports = recent.newest()
    problems = [f"{each.stage} {each.instance}: {each.problem}" for each in reports if each.problem]
    return "\n".join(("Fabricscope is ready.", *problems, *backlog_warnings(reports), *recent.skip_warnings(), ""))


@router.get("/metrics", include_in_schema=False)
async def metrics() -> Response:
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
