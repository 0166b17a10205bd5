"""What the OpenAPI document says of the API as a whole; ``/docs`` shows it."""

from typing import Any

from fastapi import FastAPI
from pydantic import TypeAdapter

from fabricscope.api.access.guard import OPEN
from fabricscope.api.problem import Problem

SUMMARY = "Incidents, their evidence, and the state of what is collected."
DESCRIPTION = """\
**Times** are RFC 3339 in UTC, exact to the nanosecond (`2026-01-31T22:00:00.250Z`). Queries take RFC 3339 or seconds
since the Unix epoch. All are event times but those of replays.

**Lists** come in pages of at most `limit`. Where there are more, the header `Link` has the address of the next page, as
`<…>; rel="next"`. Only the order of incidents by `order=worst` may change between two pages.

**Errors** have one form: `{"status":"error","errorType":"bad_data","error":"query.limit: …"}`. A parameter that a route
does not know is refused with 422.

**Versions**: answers below `/api/v1` have an `ETag`; a request with it in `If-None-Match` is answered 304 without a
body while nothing has changed. Each GET is answered as HEAD too.

**Tokens**: a request that changes something needs a token (`fabricscope token create`), as
`Authorization: Bearer <token>`; where the API is reachable from elsewhere, each request does.

A request has at most 64 KiB of headers and 4 MiB of body.
"""
TAGS = [
    {"name": "health", "description": "Whether the API works, and its own metrics."},
    {"name": "incidents", "description": "Incidents with what they reach, findings, evidence, records of objects."},
    {"name": "cluster", "description": "Targets, topology, lost GPU time, forecasts, and the reports of the stages."},
    {"name": "changes", "description": "Changes of the cluster, past and planned."},
    {"name": "stream", "description": "The live feed of the NOC page."},
    {"name": "settings", "description": "Settings, read again."},
    {"name": "runbooks", "description": "What to do about each kind of incident."},
    {"name": "replays", "description": "Recordings, run again."},
]


class DescribedApi(FastAPI):
    """An application whose document has the form of errors, which routes refer to by name.

    What is answered to everybody needs no token there either.
    """

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        document["components"]["schemas"].setdefault("Problem", TypeAdapter(Problem).json_schema())
        for path in document["paths"].keys() & OPEN:
            for route in document["paths"][path].values():
                route.pop("security", None)
        return document
