"""Which keys a place of the settings may have, by the types of the settings: for whoever misspells one."""

import dataclasses
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

_WORDS_ALIKE = 0.65  # "consul" and "configs" have 0.62, "ulr" and "url" 0.67
_WORD_CHARS_MIN = 3  # shorter ones are units, as in interval_s, which one key has and the other does not


def similar_key(root: type[BaseModel], where: Sequence[str | int], further: Sequence[str] = ()) -> str | None:
    """The key most like the last one of ``where``, among those that may stand in its place; None where none is.

    where: as pydantic writes a place: keys, positions in lists, and the names of alternatives. further: keys that may
    stand at the top besides those of ``root``.
    """
    *path, key = where
    kinds: list[Any] = [root]
    for part in path:
        kinds = [inner for kind in kinds for inner in _inside(kind, part)]
    known = sorted({name for kind in kinds for name in _fields(kind)} | (set() if path else set(further)))
    return next((name for name in get_close_matches(str(key), known) if _is_misspelt(str(key), name)), None)


def _is_misspelt(key: str, name: str) -> bool:
    """Whether each word of the key is like one of the name's: ``metric_relabel_configs`` is no ``relabel_configs``."""
    words = [word for word in key.split("_") if len(word) >= _WORD_CHARS_MIN]
    return all(get_close_matches(word, name.split("_"), 1, _WORDS_ALIKE) for word in words)


def _inside(kind: Any, part: str | int) -> Iterator[Any]:
    """Models and containers at a key or position; the kind itself where the part is the name of an alternative."""
    if part in (fields := _fields(kind)):
        yield from _plain(fields[str(part)])
    elif isinstance(part, int):
        yield from (each for inner in get_args(kind)[:1] for each in _plain(inner))
    elif get_origin(kind) is dict:
        yield from _plain(get_args(kind)[1])
    elif _tags(kind) in ((), (part,)):
        yield kind


def _plain(annotation: Any) -> Iterator[Any]:
    """The alternatives of a type, without what is written around them."""
    if get_origin(annotation) is Annotated:
        yield from _plain(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, UnionType):
        yield from (each for inner in get_args(annotation) for each in _plain(inner))
    else:
        yield annotation


def _fields(kind: Any) -> dict[str, Any]:
    """Type by key, as it is written in the file."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return {field.alias or name: field.annotation for name, field in kind.model_fields.items()}
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return {field.name: field.type for field in dataclasses.fields(kind)}
    return {}


def _tags(kind: Any) -> tuple[str, ...]:
    """What its key ``type`` may be: the name of an alternative of several."""
    annotation = _fields(kind).get("type")
    return get_args(annotation) if get_origin(annotation) is Literal else ()
