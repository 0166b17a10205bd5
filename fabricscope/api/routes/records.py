"""Records of objects: what has happened to a port, a cable, a GPU or a device, and which ones fail again and again."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.exceptions import HTTPException

from fabricscope.api import views
from fabricscope.api.paging import LIMIT_MAX, PageQuery, Paging
from fabricscope.api.read_model import ReadModel
from fabricscope.api.routes.answering import VersionedRoute, lists, shows
from fabricscope.api.routes.incidents import Model
from telemetry.incidents import ObjectRecord
from telemetry.objects import ObjectKind, ObjectRef

router = APIRouter(prefix="/api/v1", tags=["incidents"], route_class=VersionedRoute)


class RecordFilter(PageQuery):
    """Which records."""

    kind: ObjectKind | None = Field(None, description="Ports, links, GPUs … alone.")
    limit: int = Field(100, ge=1, le=LIMIT_MAX, description="At most so many.")


@router.get("/records", responses=lists())
async def list_records(
    model: Model, page: Paging, chosen: Annotated[RecordFilter, Query()]
) -> list[views.ObjectRecord]:
    """Objects that had an incident, those that fail most often first."""
    found = [one for ref, one in _newest(model).items() if chosen.kind in (None, ref.kind)]
    worst_first = page.cut(found, lambda one: (-one.score, one.object.kind, one.object.name), chosen)
    return [views.ObjectRecord.model_validate(one) for one in worst_first]


@router.get("/records/{name:path}", responses=shows(404))
async def get_record(model: Model, name: Annotated[str, Path(description="As kind:name.")]) -> views.ObjectRecord:
    """One object, such as ``port:leaf1/Ethernet4``, as of its newest incident."""
    found = {str(ref): one for ref, one in _newest(model).items()}.get(name)
    if found is None:
        raise HTTPException(404, f"no record of {name}")
    return views.ObjectRecord.model_validate(found)


def _newest(model: ReadModel) -> dict[ObjectRef, ObjectRecord]:
    by_time = sorted([*model.incidents.values()], key=lambda one: (one.updated_ns, one.id))
    return {one.record.object: one.record for one in by_time if one.record}
