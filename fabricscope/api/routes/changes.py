"""Changes of the cluster, past and planned: published by people, jobs and robots."""

from typing import Annotated

import structlog
from fastapi import APIRouter, Depends, Query, Request
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from common.errors import BadInput, ConfigError, Unavailable
from fabricscope.api.change_event import ChangeEvent, audited, describe_change, publish_change
from fabricscope.api.problem import may_answer
from fabricscope.api.routes.incidents import Model
from telemetry.changes import ChangeKind

router = APIRouter(prefix="/api/v1", tags=["changes"], responses=may_answer(422))
log = structlog.get_logger()
# For the description alone: the guard has asked for the token before a route is found.
TOKEN = Depends(HTTPBearer(scheme_name="token", description="See `fabricscope token create`.", auto_error=False))


@router.get("/changes")
async def list_changes(
    model: Model, kind: ChangeKind | None = None, limit: Annotated[int, Query(ge=1, le=10_000)] = 1000
) -> list[ChangeEvent]:
    """All changes, latest start first. kind: of this one alone."""
    chosen = [change for change in list(model.changes.values()) if kind in (None, change.kind)]
    newest_first = sorted(chosen, key=lambda change: (-change.starts_ns, change.id))
    return [ChangeEvent.of(change) for change in newest_first[:limit]]


@router.post("/changes", status_code=201, responses=may_answer(411, 413, 415, 503), dependencies=[TOKEN])
async def add_change(request: Request, event: ChangeEvent) -> ChangeEvent:
    """Publish a change event. Sent twice it is one change; with the same ``id`` its end can be moved.

    Needs a token with the scope ``ack``. Answers once the change is durable. 503 when it may not be: send it again.
    """
    try:
        change = event.change(request.app.state.clock())
        request.state.audited.update(audited(change))
        await publish_change(request.app.state.bus, change)
    except BadInput as error:
        raise HTTPException(422, f"body.{error}") from error
    except (ConfigError, Unavailable) as error:
        raise HTTPException(503, f"bus: {error}") from error
    by = request.client.host if request.client else ""
    log.info("change added", id=change.id, change=describe_change(change), author=change.author, address=by)
    return ChangeEvent.of(change)
