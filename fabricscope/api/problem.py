"""The one form of errors, and how it stands in the API's description."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Problem:
    """``errorType`` as Prometheus names them: bad_data, not_found, unauthorized, …"""

    status: str
    errorType: str
    error: str


def may_answer(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """FastAPI's ``responses`` for errors that a route can give."""
    return {status: {"model": Problem} for status in statuses}
