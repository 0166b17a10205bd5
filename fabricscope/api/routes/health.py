"""Liveness, readiness and our own metrics."""

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException

from bus.base import Bus
from fabricscope.api.data_state import data_state
from fabricscope.api.read_model import ReadModel
from fabricscope.api.routes.answering import texts
from telemetry.recent_drops import backlog_warnings

router = APIRouter(tags=["health"])
_WHO_SEES_MORE = "a token with the scope read sees more"
_METRICS = """# HELP fabricscope_api_requests_total HTTP requests answered.
# TYPE fabricscope_api_requests_total counter
fabricscope_api_requests_total{method="GET",route="/api/v1/incidents",status="200"} 1.0
"""


@router.get("/-/healthy", response_class=PlainTextResponse, responses=texts("Fabricscope is healthy.\n"))
async def get_liveness() -> str:
    """200 while the process runs."""
    return "Fabricscope is healthy.\n"


@router.get(
    "/-/ready",
    response_class=PlainTextResponse,
    responses=texts("Fabricscope is ready.\n4 of 64 targets do not answer\n", 503),
)
async def get_readiness(request: Request) -> str:
    """503 with the reason while the bus cannot be read, a stage drops most of what it receives, or a process that was
    replaced by a newer one still publishes.

    Else 200, with a line for targets that do not answer, or for an analytics that reports nothing, and for each process
    that has a problem, such as a receiver that refuses notifications, or that leaves out collections, or whose samples
    come late from its disk, or cannot be written there. Without data it is ready all the same: people look here for
    what is missing. Who may not read learns the same without names: whether it is ready, and how many targets and
    processes have a problem.
    """
    model, bus, clock = request.app.state.model, request.app.state.bus, request.app.state.clock
    may_read = request.state.may_read()
    if (broken := problem(model, bus)) is not None:
        raise HTTPException(503, broken if may_read else f"not ready; {_WHO_SEES_MORE}")
    recent = model.drops
    reports = recent.newest()
    data = data_state([*model.targets.values()], clock(), undetected=model.detection.problem()).text
    problems = [f"{each.stage} {each.instance}: {each.problem}" for each in reports if each.problem]
    problems += [*backlog_warnings(reports), *recent.skip_warnings()]
    if problems and not may_read:
        problems = [f"problems of processes: {len(problems)}; {_WHO_SEES_MORE}"]
    lines = (*filter(None, [data]), *problems)
    return "\n".join(("Fabricscope is ready.", *lines, ""))


def problem(model: ReadModel, bus: Bus) -> str | None:
    """Why nothing that the API says can be relied on, in words; None where it can."""
    unread = bus.problem()
    return f"bus: {unread}" if unread is not None else model.drops.problem() or model.stale_owner.problem()


@router.get("/metrics", response_class=PlainTextResponse, responses=texts(_METRICS))
async def get_own_metrics() -> Response:
    """Own metrics of this process, in the text format of Prometheus."""
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
