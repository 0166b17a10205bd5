"""Records of objects: what has happened to a port, a cable, a GPU or a device, and which ones fail again and again."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.exceptions import HTTPException

from fabricscope.api.problem import may_answer
from fabricscope.api.read_model import ReadModel
from fabricscope.api.routes.incidents import Model
from telemetry.incidents import ObjectRecord
from telemetry.objects import ObjectKind, ObjectRef

router = APIRouter(prefix="/api/v1", tags=["incidents"], responses=may_answer(422))


@router.get("/records")
async def list_records(
    model: Model, kind: ObjectKind | None = None, limit: Annotated[int, Query(ge=1, le=10_000)] = 100
) -> list[ObjectRecord]:
    """Objects that had an incident, those that fail most often first. kind: ports, links, GPUs … alone."""
    found = [one for ref, one in _newest(model).items() if kind in (None, ref.kind)]
    return sorted(found, key=lambda one: (-one.score, one.object))[:limit]


@router.get("/records/{name:path}", responses=may_answer(404))
async def get_record(model: Model, name: str) -> ObjectRecord:
    """One object, such as ``port:leaf1/Ethernet4``, as of its newest incident."""
    found = {str(ref): one for ref, one in _newest(model).items()}.get(name)
    if found is None:
        raise HTTPException(404, f"no record of {name}")
    return found


def _newest(model: ReadModel) -> dict[ObjectRef, ObjectRecord]:
    by_time = sorted(model.incidents.values(), key=lambda one: (one.updated_ns, one.id))
    return {one.record.object: one.record for one in by_time if one.record}
