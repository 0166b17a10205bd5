"""How every route of the API answers: with its version, so that who has it already is answered with 304."""

import hashlib
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from fabricscope.api.problem import may_answer

NOT_MODIFIED: dict[int | str, dict[str, Any]] = {
    304: {"description": "The version that `If-None-Match` names is still the newest."}
}
LINK = {
    "Link": {
        "description": 'Where the next page is, `<…>; rel="next"`; absent on the last one.',
        "schema": {"type": "string"},
    }
}
_DIGEST_BYTES = 16


class VersionedRoute(APIRoute):
    """What it answers to GET has an ``ETag``."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        if "GET" not in (self.methods or ()):
            return handle

        async def answer(request: Request) -> Response:
            return _versioned(request.headers.get("if-none-match", ""), await handle(request))

        return answer


def lists(*statuses: int, example: Sequence[object] = ()) -> dict[int | str, dict[str, Any]]:
    """FastAPI's ``responses`` of a route that lists in pages. example: where the type of its items has none."""
    content = {"application/json": {"example": example}} if example else {}
    return {200: {"headers": LINK, "content": content}, **NOT_MODIFIED, **may_answer(422, *statuses)}


def shows(*statuses: int, example: object = None) -> dict[int | str, dict[str, Any]]:
    """Of one that answers with one thing, or all. example: where its type has none."""
    content = {"application/json": {"example": example}} if example else {}
    return {200: {"content": content}, **NOT_MODIFIED, **may_answer(422, *statuses)}


def texts(example: str, *statuses: int) -> dict[int | str, dict[str, Any]]:
    """Of one that answers with text."""
    return {200: {"content": {"text/plain": {"example": example}}}, **may_answer(*statuses)}


def _versioned(known: str, response: Response) -> Response:
    if response.status_code != 200 or not hasattr(response, "body"):
        return response
    tag = f'"{hashlib.blake2b(response.body, digest_size=_DIGEST_BYTES).hexdigest()}"'
    response.headers["ETag"] = tag
    response.headers["Cache-Control"] = "private, no-cache"  # it may be kept, and is asked about each time
    known_tags = {each.strip().removeprefix("W/") for each in known.split(",")}
    if not known_tags & {tag, "*"}:
        return response
    kept = {name: value for name, value in response.headers.items() if name in ("etag", "cache-control", "link")}
    return Response(status_code=304, headers=kept)
