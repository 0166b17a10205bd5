"""Queries that the API is sent: a time, and the cursor of a page."""

from contextlib import suppress

from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import MutableHeaders, QueryParams
from starlette.exceptions import HTTPException

from fabricscope.api.instants import AskedInstant
from fabricscope.api.paging import PageQuery, Pager

_TIME = TypeAdapter(AskedInstant)
_LAST_NS = 253_402_300_800 * 10**9 + 86_400 * 10**9  # of the year 9999, in any zone
_ITEMS = [(-number, f"i{number}") for number in range(20)]
SEEDS = (
    b"2026-01-31T22:00:00.000000001+02:00\nWy0xMCwiaTEwIl0",
    b"1769896800.25\n",
    b"1.7e9\nW10",
    b"9999-12-31T23:59:59-23:59\nWzFlMzA4LCJpIl0",
)


def target(data: bytes) -> None:
    """The first line is a time, the rest a cursor."""
    time, _, cursor = data.decode("utf-8", "replace").partition("\n")
    with suppress(ValidationError):
        assert -(10**20) < _TIME.validate_python(time) <= _LAST_NS
    try:
        query = PageQuery(limit=3, cursor=cursor)
        found = Pager("/", QueryParams(), MutableHeaders()).cut(_ITEMS, lambda item: item, query)
    except (ValidationError, HTTPException):
        return
    assert len(found) <= 3
    assert found == sorted(found)
