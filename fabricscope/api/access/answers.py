"""Answers that refuse, in the one form of errors."""

import math
from dataclasses import asdict
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.responses import JSONResponse, RedirectResponse

from fabricscope.api.problem import problem_of


def error(status: int, text: str) -> JSONResponse:
    """The one form of errors."""
    return JSONResponse(asdict(problem_of(status, text)), status_code=status)


def unauthorized() -> JSONResponse:
    """401 without detail: who guesses learns nothing."""
    answer = error(401, "unauthorized")
    answer.headers["WWW-Authenticate"] = "Bearer"
    return answer


def to_login(request: Request) -> RedirectResponse:
    """To the page where a person logs in, which leads back to what was asked for."""
    wanted, query = quote(request.scope["path"]), request.scope["query_string"].decode("latin-1")
    there = urlencode({"next": f"{wanted}?{query}" if query else wanted})
    return RedirectResponse(f"/login?{there}", 303, headers={"Cache-Control": "no-store"})


def forbidden() -> JSONResponse:
    """403 without detail."""
    return error(403, "forbidden")


def too_many(text: str, wait_s: float) -> JSONResponse:
    """429. wait_s: when to come again."""
    answer = error(429, text)
    answer.headers["Retry-After"] = str(max(1, math.ceil(wait_s)))
    return answer
