"""YAML with the position of each key, so that every error names file, line and column."""

from pathlib import Path
from typing import Any

import yaml

from common.errors import ConfigError

BYTES_MAX = 1024 * 1024
DEPTH_MAX = 50
Positions = dict[tuple[str | int, ...], tuple[int, int]]
"""Line and column, from 1, of each key and list item by its path."""
_OPENS = (
    yaml.BlockMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.FlowSequenceStartToken,
)
_HINTS = {
    "found character that cannot start any token": ": indent lines by spaces, not by tabs; quote text with %, @ or `",
    "mapping values are not allowed in this context": ": is the line indented as those above? Quote text with ': '",
    **dict.fromkeys(
        ("did not find expected '-' indicator", "did not find expected key"),
        ": is the line indented as those above it?",
    ),
}
"""What to look at, where the parser speaks of its own work."""
_CLOSES = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)


def load_with_positions(path: Path) -> tuple[dict[str, Any], Positions]:
    """A document of keys and their positions; ConfigError for what cannot be read, is too large, too deep, or has
    aliases. An empty file has no keys."""
    document, positions = _load(path)
    if document is None:
        return {}, {}
    if not isinstance(document, dict):
        raise ConfigError(f"{path}:1:1: expected keys with values, found {type(document).__name__}")
    return document, positions


def load_list_with_positions(path: Path) -> tuple[list[Any], Positions]:
    """The same of a document that is a list."""
    document, positions = _load(path)
    if not isinstance(document, list):
        raise ConfigError(f"{path}:1:1: expected a list, found {type(document).__name__}")
    return document, positions


def _load(path: Path) -> tuple[object, Positions]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    if len(text) > BYTES_MAX:
        raise ConfigError(f"{path}: {len(text)} characters, at most {BYTES_MAX}")
    try:
        check_depth(text)
        for token in yaml.scan(text, yaml.CSafeLoader):
            if isinstance(token, yaml.AliasToken):
                raise ConfigError(f"{_at(path, token.start_mark)}: aliases are not accepted")
        node = yaml.compose(text, yaml.CSafeLoader)
        document = yaml.load(text, yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        hint = _HINTS.get(error.problem or "", "")
        raise ConfigError(f"{_at(path, mark) if mark else path}: {error.problem}{hint}") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ConfigError(f"{path}: not YAML: {error}") from error
    positions: Positions = {}
    if node is not None:
        _collect(path, node, (), positions)
    return document, positions


def check_depth(text: str) -> None:
    """MarkedYAMLError at the first place that is deeper than ``DEPTH_MAX`` levels.

    Before anything else reads the text: libyaml recurses on the stack of the process, which a deep document overflows,
    and its scanner takes time by the square of the depth.
    """
    depth = 0
    for token in yaml.scan(text, yaml.CSafeLoader):
        if isinstance(token, _OPENS):
            depth += 1
        elif isinstance(token, _CLOSES):
            depth -= 1
        if depth > DEPTH_MAX + 1:  # the document itself is no level
            raise yaml.MarkedYAMLError(None, None, f"deeper than {DEPTH_MAX} levels", token.start_mark)


def locate(path: Path, positions: Positions, where: tuple[str | int, ...]) -> str:
    """``file:line:column`` of the nearest key that is in the file."""
    line, column = nearest(positions, where)
    return f"{path}:{line}:{column}"


def nearest(positions: Positions, where: tuple[str | int, ...]) -> tuple[int, int]:
    """Line and column of the nearest key that is in the file."""
    for length in range(len(where), 0, -1):
        if where[:length] in positions:
            return positions[where[:length]]
    return 1, 1


def _collect(path: Path, node: yaml.Node, where: tuple[str | int, ...], positions: Positions) -> None:
    if len(where) > DEPTH_MAX:
        raise ConfigError(f"{_at(path, node.start_mark)}: deeper than {DEPTH_MAX} levels")
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inside = (*where, key.value)
            if inside in positions:
                raise ConfigError(f"{_at(path, key.start_mark)}: {key.value} is defined twice")
            positions[inside] = (key.start_mark.line + 1, key.start_mark.column + 1)
            _collect(path, value, inside, positions)
    elif isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            positions[(*where, position)] = (item.start_mark.line + 1, item.start_mark.column + 1)
            _collect(path, item, (*where, position), positions)


def _at(path: Path, mark: yaml.Mark) -> str:
    return f"{path}:{mark.line + 1}:{mark.column + 1}"
