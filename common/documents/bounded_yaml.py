"""YAML and JSON that others write and that are read again and again: bounded before anything is built of them."""

from typing import Any

import yaml

from common.documents.strict_json import RepeatedKey, parse_json
from common.documents.yaml_nodes import check_nodes
from common.errors import BadInput

BYTES_MAX = 4 * 1024 * 1024
DEPTH_MAX = 50
_OPENS = (yaml.SequenceStartEvent, yaml.MappingStartEvent)
_CLOSES = (yaml.SequenceEndEvent, yaml.MappingEndEvent)


def parse_bounded(content: bytes, where: str, *, bytes_max: int = BYTES_MAX) -> object:
    """The content of one document; None for an empty one.

    where: names it in errors. BadInput, with line and column where there is one, for what is larger than
    ``bytes_max``, nested deeper than 50 levels, has aliases (a few lines of them unpack to gigabytes) or a key twice,
    or is neither YAML nor JSON.
    """
    if len(content) > bytes_max:
        raise BadInput(f"{where}: expected at most {bytes_max} bytes", "too_large")
    try:
        return _bounded(parse_json(content), where)  # many times as fast, and most large files are JSON
    except RepeatedKey as error:
        raise BadInput(f"{where}: {error}", "repeated_key") from None
    except ValueError:
        return _parse_yaml(content, where)


def _bounded(value: object, where: str) -> object:
    """The value; level by level, so that no nesting ends the interpreter."""
    level = [value]
    for _ in range(DEPTH_MAX):
        level = [
            inner
            for outer in level
            if isinstance(outer, list | dict)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, list | dict)
        ]
        if not level:
            return value
    raise BadInput(f"{where}: nested deeper than {DEPTH_MAX} levels", "too_deep")


def _parse_yaml(content: bytes, where: str) -> object:
    try:
        text = content.decode()
        _check_events(text, where)
        check_nodes(yaml.compose(text, yaml.CSafeLoader))
        return yaml.load(text, yaml.CSafeLoader)
    except UnicodeDecodeError as error:
        raise BadInput(f"{where}: not UTF-8 at byte {error.start}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise BadInput(f"{_at(where, mark) if mark else where}: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date such as 2026-13-01 is a ValueError
        raise BadInput(f"{where}: {error}") from None


def _check_events(text: str, where: str) -> None:
    """Reads it event by event and stops at the first that is too much."""
    depth = 0
    for event in yaml.parse(text, yaml.CSafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise BadInput(f"{_at(where, event.start_mark)}: aliases are not accepted", "alias")
        if isinstance(event, _OPENS):
            depth += 1
            if depth > DEPTH_MAX:
                raise BadInput(f"{_at(where, event.start_mark)}: nested deeper than {DEPTH_MAX} levels", "too_deep")
        elif isinstance(event, _CLOSES):
            depth -= 1


def _at(where: str, mark: Any) -> str:  # a mark of PyYAML or of libyaml
    return f"{where}:{mark.line + 1}:{mark.column + 1}"
