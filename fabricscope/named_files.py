"""Files that settings name and that are read at run time: certificates, keys, passwords, tokens."""

import os
from collections.abc import Iterator, Mapping
from errno import EACCES, EISDIR
from pathlib import Path
from stat import S_ISDIR
from typing import Any

from common.documents.yaml_positions import Positions, locate

_Where = tuple[str | int, ...]


def unreadable(path: Path, document: Mapping[str, Any], positions: Positions) -> Iterator[str]:
    """A line for each that cannot be read here, which is no error: another machine may be the one that runs.

    path, document, positions: of the settings, as ``load_with_positions`` gives them.
    """
    for where, file in _named(document, ()):
        if reason := _why_unreadable(file):
            yield f"{locate(path, positions, where)}: {'.'.join(map(str, where))}: {file} cannot be read here: {reason}"


def _named(value: Any, where: _Where) -> Iterator[tuple[_Where, str]]:
    match value:
        case dict():
            for key, inside in value.items():
                yield from _named(inside, (*where, key))
        case list():
            for position, inside in enumerate(value):
                yield from _named(inside, (*where, position))
        case str() if str(where[-1]).endswith("_file"):
            yield where, value


def _why_unreadable(file: str) -> str:
    """Without opening it: a fifo would wait for somebody who writes."""
    try:
        if S_ISDIR(Path(file).stat().st_mode):
            return os.strerror(EISDIR)
    except OSError as error:
        return os.strerror(error.errno or 0)
    return "" if os.access(file, os.R_OK) else os.strerror(EACCES)
