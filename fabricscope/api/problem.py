"""The one form of errors, and its place in the OpenAPI description."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Problem:
    """``errorType`` as Prometheus names them: bad_data, not_found, unauthorized, …"""

    status: str
    errorType: str
    error: str


def describe_error(problem: Mapping[str, Any]) -> str:
    """One error of Pydantic: where it is, and what was expected."""
    return f"{'.'.join(map(str, problem['loc']))}: {problem['msg'].removeprefix('Value error, ')}"


def may_answer(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """FastAPI's ``responses`` for errors that a route can give."""
    return {status: {"model": Problem} for status in statuses}
