"""From the files to the entries. Whatever is wrong is a ValueError that names the file and the entry."""

from collections.abc import Mapping
from importlib.resources.abc import Traversable
from typing import Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from telemetry.catalogue.entries import Metric, Source

_T = TypeVar("_T")
_METRIC, _SOURCE = TypeAdapter(Metric), TypeAdapter(Source)
_SUFFIX = ".yaml"


class _Loader(yaml.CSafeLoader):
    """Of two equal keys YAML keeps the last and says nothing: a system's names would be lost."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        if len(set(keys)) < len(keys):
            twice = next(key for place, key in enumerate(keys) if key in keys[:place])
            raise yaml.YAMLError(f"line {node.start_mark.line + 1}: {twice} stands twice")
        return super().construct_mapping(node, deep)


def names(folder: Traversable) -> tuple[str, ...]:
    """Of the files, without suffix, sorted."""
    return tuple(sorted(file.name.removesuffix(_SUFFIX) for file in folder.iterdir() if file.name.endswith(_SUFFIX)))


def read_metrics(folder: Traversable) -> dict[str, Metric]:
    """The metrics of all files by name, in the files' order."""
    found: dict[str, Metric] = {}
    for name in names(folder):
        file, entries = _read(folder, name)
        for metric, entry in entries.items():
            if metric in found:
                raise ValueError(f"{file}: {metric}: the metric stands twice in the catalogue")
            found[metric] = _checked(_METRIC, file, metric, {**_mapping(file, metric, entry), "name": metric})
    return found


def read_source(folder: Traversable, name: str, metrics: Mapping[str, Metric]) -> Source:
    """One system, which may name these metrics alone."""
    file, entry = _read(folder, name)
    named = _mapping(file, "metrics", entry.get("metrics", {}))
    for metric, origins in named.items():
        if metric not in metrics:
            raise ValueError(f"{file}: metrics: {metric}: expected a metric of the catalogue")
        if not isinstance(origins, list):
            raise ValueError(f"{file}: metrics: {metric}: expected a list of names")
    with_source = {
        metric: [{**_mapping(file, metric, origin), "source": name} for origin in origins]
        for metric, origins in named.items()
    }
    return _checked(_SOURCE, file, "", {**entry, "name": name, "metrics": with_source})


def _read(folder: Traversable, name: str) -> tuple[str, dict[str, Any]]:
    """What errors call the file, and its entries."""
    file = f"{folder.name}/{name}{_SUFFIX}"
    try:
        read = yaml.load(folder.joinpath(name + _SUFFIX).read_text(encoding="utf-8"), _Loader)  # noqa: S506
    except yaml.YAMLError as error:
        raise ValueError(f"{file}: {error}") from None
    return file, _mapping(file, "", read)


def _mapping(file: str, entry: str, read: object) -> dict[str, Any]:
    if not isinstance(read, dict):
        raise ValueError(f"{file}: {entry + ': ' if entry else ''}expected keys with values, not {read!r}")
    return read


def _checked(adapter: TypeAdapter[_T], file: str, entry: str, fields: dict[str, Any]) -> _T:
    try:
        return adapter.validate_python(fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(filter(None, (entry, *map(str, first["loc"]))))
        raise ValueError(f"{file}: {where}: {first['msg']}") from None
