"""Rows of Telemetry as plain values, and their leaves as paths. For rows whose shape is new, and those with lists."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ingest.collectors.cisco_mdt.proto.telemetry_bis_pb2 import TelemetryField
from ingest.collectors.gnmi.paths.elements import Elements, key_name, without_module

DEPTH_MAX = 24
KeyNames = Mapping[str, set[str]]
# NX-OS' commands (data-source NX-API) are paths too; which ports and modules one is about is in what it shows.
_COMMAND = re.compile(r"show\s")
_ABOUT = re.compile(r"\s(?:e(?:th(?:ernet)?)?|po(?:rt-channel)?|mgmt|module)\s?\d[\d/,-]*(?=\s|$)", re.IGNORECASE)
_ROW = "ROW_"  # of a command's table; a single one is no list in JSON


def plain(fields: Sequence[TelemetryField]) -> Any:
    """A container as a dict, a name that is repeated as a list, entries without a name as a list."""
    if fields and all(not field.name for field in fields):
        return [_value(field) for field in fields]
    found: dict[str, Any] = {}
    for field in fields:
        value = _value(field)
        if field.name not in found:
            found[field.name] = value
        elif isinstance(found[field.name], list):
            found[field.name].append(value)
        else:
            found[field.name] = [found[field.name], value]
    return found


def path_elements(encoding_path: str) -> Elements:
    """
    >>> path_elements("openconfig-interfaces:interfaces/interface")
    (('interfaces', ()), ('interface', ()))
    >>> path_elements("show interface ethernet 1/1 transceiver details")
    (('show interface transceiver details', ()),)
    """
    if _COMMAND.match(encoding_path):
        return ((" ".join(_ABOUT.sub("", encoding_path).split()), ()),)
    return tuple((without_module(step), ()) for step in encoding_path.split("/") if step)


def is_command(elements: Elements) -> bool:
    """Whether it is a path of NX-API."""
    return bool(elements) and _COMMAND.match(elements[0][0]) is not None


def with_keys(elements: Elements, keys: Mapping[str, Any], key_names: KeyNames) -> Elements:
    """The path with its keys: each at the last list that has a key of this name, else at the end."""
    found = [(name, dict(known)) for name, known in elements]
    for key, value in keys.items():
        name = key_name(key)
        places = [at for at, (step, _) in enumerate(found) if name in key_names.get(step, ())]
        if found and not isinstance(value, dict | list):
            found[places[-1] if places else -1][1][name] = str(value)
    return tuple((name, tuple(sorted(known.items()))) for name, known in found)


def leaves(elements: Elements, value: Any, key_names: KeyNames, depth: int = 0) -> Iterator[tuple[Elements, Any]]:
    """Path and scalar of each leaf. An entry of a list has the keys that are among its leaves."""
    if depth > DEPTH_MAX:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            rows = [inner] if isinstance(inner, dict) and name.startswith(_ROW) else inner
            yield from leaves((*elements, (without_module(name), ())), rows, key_names, depth + 1)
    elif isinstance(value, list):
        wanted = key_names.get(elements[-1][0], set()) if elements else set()
        for entry in value:
            if isinstance(entry, dict | list):
                stated = entry if wanted and isinstance(entry, dict) else {}
                keys = {name: value for name, value in stated.items() if key_name(name) in wanted}
                keyed = (*elements[:-1], *with_keys(elements[-1:], keys, key_names)) if keys else elements
                yield from leaves(keyed, entry, key_names, depth + 1)
    else:
        yield elements, value


def has_lists(value: Any, depth: int = 0) -> bool:
    """Whether entries of a list are in it, or it is deeper than a scan goes."""
    if isinstance(value, dict):
        return depth > DEPTH_MAX // 2 or any(has_lists(inner, depth + 1) for inner in value.values())
    return isinstance(value, list)


def _value(field: TelemetryField) -> Any:
    if field.fields:
        return plain(field.fields)
    kind = field.WhichOneof("value_by_type")
    return getattr(field, kind) if kind else None
