"""Changes of the cluster, past and planned: published by people, jobs and robots."""

from typing import Annotated

import structlog
from fastapi import APIRouter, Query, Request
from starlette.exceptions import HTTPException

from common.errors import BadInput, ConfigError, Unavailable
from fabricscope.api.change_event import ChangeEvent, describe_change, publish_change
from fabricscope.api.incidents import Model
from fabricscope.api.problem import may_answer
from telemetry.changes import ChangeKind

router = APIRouter(prefix="/api/v1", tags=["changes"], responses=may_answer(422))
log = structlog.get_logger()


@router.get("/changes")
async def list_changes(
    model: Model, kind: ChangeKind | None = None, limit: Annotated[int, Query(ge=1, le=10_000)] = 1000
) -> list[ChangeEvent]:
    """All changes, latest start first. kind: of this one alone."""
    chosen = [change for change in list(model.changes.values()) if kind in (None, change.kind)]
    newest_first = sorted(chosen, key=lambda change: (-change.starts_ns, change.id))
    return [ChangeEvent.of(change) for change in newest_first[:limit]]


@router.post("/changes", status_code=201, responses=may_answer(411, 413, 415, 503))
async def add_change(request: Request, event: ChangeEvent) -> ChangeEvent:
    """Publish a change event. Sent twice it is one change; with the same ``id`` its end can be moved.

    Answers once the change is durable. 503 when it may not be: send it again.
    """
    try:
        change = event.change(request.app.state.clock())
        await publish_change(request.app.state.bus, change)
    except BadInput as error:
        raise HTTPException(422, f"body.{error}") from error
    except (ConfigError, Unavailable) as error:
        raise HTTPException(503, f"bus: {error}") from error
    by = request.client.host if request.client else ""
    log.info("change added", id=change.id, change=describe_change(change), author=change.author, address=by)
    return ChangeEvent.of(change)
