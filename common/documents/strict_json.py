"""JSON that people and other programs write: one meaning for each key, and no numbers that JSON has not."""

import json
from typing import Any, Never


def parse_json(data: bytes) -> object:
    """The content. ValueError for what is not UTF-8 or JSON, has a key twice in one object, or is nested too deep.

    >>> parse_json(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    common.documents.strict_json.RepeatedKey: key 'a' is defined twice
    """
    try:
        return json.loads(data.decode(), object_pairs_hook=_unrepeated, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deep") from None


class RepeatedKey(ValueError):
    """It is JSON, and says two things at once."""


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise RepeatedKey(f"key {twice[:80]!r} is defined twice")
    return found


def _refuse(name: str) -> Never:
    raise ValueError(f"{name} is no number of JSON")
