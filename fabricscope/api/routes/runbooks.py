"""What to do about each kind of incident, as text: pages link to it, and it is there without any other network."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import PlainTextResponse

from fabricscope.api.routes.answering import texts
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectKind, parse_object
from telemetry.runbooks import runbook

router = APIRouter(tags=["runbooks"])
OBJECT_CHARS_MAX = 512

ObjectName = Annotated[
    str | None,
    Query(
        max_length=OBJECT_CHARS_MAX,
        pattern=f"^({'|'.join(ObjectKind)}):.",
        description="Whose names it has, such as gpu:node3/GPU-….",
    ),
]
Kind = Annotated[IncidentKind, Path(description="Of the incident.")]


@router.get("/runbooks/{kind}", response_class=PlainTextResponse, responses=texts("# Wear\n\n1. Look at …\n", 422))
async def get_runbook(kind: Kind, object: ObjectName = None) -> str:
    """The runbook of a kind of incident, in Markdown."""
    return runbook(kind, None if object is None else parse_object(object))
