"""What to do about each kind of incident, as text: pages link to it, and it is there without any other network."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import PlainTextResponse

from fabricscope.api.problem import may_answer
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectKind, parse_object
from telemetry.runbooks import runbook

router = APIRouter(tags=["runbooks"])

ObjectName = Annotated[
    str,
    Query(
        max_length=512,
        pattern=f"^({'|'.join(ObjectKind)}):.",
        description="Whose names it has, such as gpu:node3/GPU-….",
    ),
]
_ERRORS = {
    status: row | {"content": {"application/json": {}}} for status, row in may_answer(401, 403, 422, 429).items()
}
"""Errors are JSON here too, as everywhere."""


@router.get("/runbooks/{kind}", response_class=PlainTextResponse, responses=_ERRORS)
async def get_runbook(kind: IncidentKind, object: ObjectName | None = None) -> str:
    """The runbook of a kind of incident, in Markdown."""
    return runbook(kind, None if object is None else parse_object(object))
