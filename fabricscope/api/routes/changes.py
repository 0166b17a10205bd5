"""Changes of the cluster, past and planned: published by people, jobs and robots."""

from typing import Annotated

import structlog
from fastapi import APIRouter, Depends, Query, Request
from fastapi.security import HTTPBearer
from pydantic import Field
from starlette.exceptions import HTTPException

from common.errors import BadInput, ConfigError, Unavailable
from fabricscope.api import views
from fabricscope.api.change_event import ChangeEvent, audited, describe_change, publish_change
from fabricscope.api.instants import AskedInstant
from fabricscope.api.paging import PageQuery, Paging
from fabricscope.api.problem import may_answer
from fabricscope.api.routes.answering import VersionedRoute, lists
from fabricscope.api.routes.incidents import Model
from telemetry.changes import Change, ChangeKind

router = APIRouter(prefix="/api/v1", tags=["changes"], route_class=VersionedRoute)
log = structlog.get_logger()
# For the description alone: the guard has asked for the token before a route is found.
TOKEN = Depends(HTTPBearer(scheme_name="token", description="See `fabricscope token create`.", auto_error=False))


class ChangeFilter(PageQuery):
    """Which changes; those that every given key applies to."""

    kind: ChangeKind | None = Field(None, description="Of this kind alone.")
    since: AskedInstant | None = Field(
        None, description="RFC 3339 or Unix seconds; those that last until that time or begin later."
    )
    until: AskedInstant | None = Field(None, description="RFC 3339 or Unix seconds; those that begin before it.")

    def admits(self, change: Change) -> bool:
        return (
            self.kind in (None, change.kind)
            and (self.since is None or max(change.starts_ns, change.ends_ns) >= self.since)
            and (self.until is None or change.starts_ns < self.until)
        )


@router.get("/changes", responses=lists())
async def list_changes(model: Model, page: Paging, chosen: Annotated[ChangeFilter, Query()]) -> list[views.Change]:
    """Changes, latest start first."""
    found = filter(chosen.admits, list(model.changes.values()))
    latest_first = page.cut(found, lambda change: (-change.starts_ns, change.id), chosen)
    return [views.Change.of(change) for change in latest_first]


@router.post("/changes", status_code=201, responses=may_answer(411, 413, 415, 422, 503), dependencies=[TOKEN])
async def add_change(request: Request, event: ChangeEvent) -> views.Change:
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
    return views.Change.of(change)
