"""Lists in pages: at most ``limit`` of them, and where the next ones begin.

A cursor is the sort key of the last one that was answered, so that nothing is kept here for whoever reads page by page.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Annotated, TypeVar
from urllib.parse import quote, urlencode

import orjson
from fastapi import Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import MutableHeaders, QueryParams
from starlette.exceptions import HTTPException

Key = tuple[int | float | str, ...]
LIMIT, LIMIT_MAX = 1000, 10_000
T = TypeVar("T")


class PageQuery(BaseModel):
    """Which page of a list."""

    model_config = ConfigDict(frozen=True)

    limit: int = Field(LIMIT, ge=1, le=LIMIT_MAX, description="At most so many.")
    cursor: str | None = Field(
        None, max_length=4096, description='Of the next page: from the link with `rel="next"` of the page before it.'
    )


class Pager:
    """Cuts the page that is asked for out of a list. path, asked: of the request. headers: of the answer."""

    def __init__(self, path: str, asked: QueryParams, headers: MutableHeaders) -> None:
        self._path, self._asked, self._headers = path, asked, headers

    def cut(self, items: Iterable[T], key: Callable[[T], Key], query: PageQuery) -> list[T]:
        """In the order of ``key``, which no two of them share. 422 for a cursor of another list."""
        ordered = sorted(items, key=key)
        start = 0
        if query.cursor is not None:
            try:
                start = bisect_right(ordered, _position(query.cursor), key=key)
            except (TypeError, ValueError):
                raise HTTPException(422, "query.cursor: expected the one of the page before") from None
        end = start + query.limit
        if end < len(ordered):
            following = urlencode({**self._asked, "cursor": _cursor(key(ordered[end - 1]))})
            self._headers["Link"] = f'<{quote(self._path)}?{following}>; rel="next"'
        return ordered[start:end]


def pager(request: Request, response: Response) -> Pager:
    """As FastAPI passes it to an endpoint."""
    return Pager(request.scope["path"], request.query_params, response.headers)


Paging = Annotated[Pager, Depends(pager)]


def _cursor(key: Key) -> str:
    return urlsafe_b64encode(orjson.dumps(key)).rstrip(b"=").decode()


def _position(cursor: str) -> Key:
    padding = "=" * (-len(cursor) % 4)
    found = orjson.loads(urlsafe_b64decode(cursor + padding))
    if not isinstance(found, list):
        raise ValueError(cursor)
    return tuple(found)
