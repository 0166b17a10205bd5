"""The one form of errors, and its place in the OpenAPI description."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Any, Literal

ERROR_TYPES = {
    400: "bad_data",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "bad_method",
    409: "conflict",
    411: "bad_data",
    413: "bad_data",
    415: "bad_data",
    422: "bad_data",
    429: "too_many",
    503: "unavailable",
}
_EXAMPLES = {
    400: "pod1.yaml:3:7: api.port: Input should be a valid integer",
    404: "no incident i1",
    409: "a replay runs already",
    411: "content-length: expected the length of the body",
    413: "content-length: expected at most 4194304 bytes",
    415: "content-type: expected application/json",
    422: "query.limit: Input should be greater than or equal to 1",
    429: "too many changes",
    500: "it failed, and its log says why",
    503: "bus: no broker answers",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """``errorType`` as Prometheus names them: bad_data, not_found, unauthorized, … ``error``: where, and what."""

    status: Literal["error"]
    errorType: str
    error: str


def problem_of(status: int, text: str) -> Problem:
    return Problem("error", ERROR_TYPES.get(status, "internal"), text)


def describe_error(problem: Mapping[str, Any]) -> str:
    """One error of Pydantic: where it is, and what was expected."""
    return f"{'.'.join(map(str, problem['loc']))}: {problem['msg'].removeprefix('Value error, ')}"


def may_answer(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """FastAPI's ``responses`` for errors that a route can give: JSON, also where its answer is text.

    The schema is named alone: FastAPI would describe a ``model`` in the form of the route's answer.
    """
    return {status: _described(HTTPStatus(status)) for status in statuses}


def _described(status: HTTPStatus) -> dict[str, Any]:
    example = asdict(problem_of(status, _EXAMPLES.get(status, status.phrase.lower())))
    content = {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}
    return {"description": status.phrase, "content": {"application/json": content}}
