"""The form that all of Slurm's documents have: an object with a list of what was asked for. Pure."""

from typing import Any

import orjson

from common.errors import BadInput


def entries(body: bytes, name: str, other: str = "") -> list[Any]:
    """The list of that name, such as ``jobs``, or the one that it has instead. BadInput when the document has none."""
    what = f"{name.removesuffix('s')} list"
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"{what} of {len(body)} bytes: {error}", "bad_format") from error
    found = document.get(name, document.get(other)) if isinstance(document, dict) else None
    if not isinstance(found, list):
        raise BadInput(f"{what}: expected an object with a list of {name}", "bad_format")
    return found
