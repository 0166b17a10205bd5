"""Objects of NX-OS' own model (``data-source DME``) in a row's content: classes with attributes, in a tree.

``{"l1PhysIf": {"attributes": {"dn": "sys/intf/phys-[eth1/1]"}, "children": [{"rmonIfHCIn": {"attributes": {…}}}]}}``
An object states its distinguished name (dn), or its name below its parent (rn).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ingest.collectors.cisco_mdt.decode.rows import DEPTH_MAX, KeyNames
from ingest.collectors.gnmi.paths.elements import Elements, key_name

_PATH = re.compile(r"(?:[a-z]\w*:)?(sys(?:/.*)?)")  # NX-OS puts the alias of a path before it: ``interface:sys/intf``
_EVENTS = "EVENT-LIST"
_ENVELOPES = frozenset({"children", "imdata", ""})
_NAMED = re.compile(r"(\w+)-(?:\[(.*)\]|(.+))", re.DOTALL)  # phys-[eth1/1], sensor-3


class Managed(NamedTuple):
    """An object.

    name: of its class. stated: the dn that it states, '' for none. rn: what it states of that. parent: its index among
    the objects found with it, -1 for none. dn: what follows from these.
    """

    name: str
    stated: str
    rn: str
    parent: int
    dn: str
    attributes: Mapping[str, Any]


class Found(NamedTuple):
    """objects: parents before their children. rest: names and values that are none."""

    objects: list[Managed]
    rest: list[tuple[str, Any]]


def root_of(encoding_path: str) -> str | None:
    """The dn that an encoding path is, '' for a list of events, None for a path of another model.

    >>> root_of("sys/intf"), root_of("environment:sys/ch"), root_of("EVENT-LIST"), root_of("system/cpus")
    ('sys/intf', 'sys/ch', '', None)
    """
    if encoding_path == _EVENTS:
        return ""
    found = _PATH.fullmatch(encoding_path)
    return found[1] if found else None


def objects_in(content: Any, root: str) -> Found:
    """The objects of a row. root: the dn that its path is."""
    found = Found([], [])
    _walk(content, -1, root, found, 0)
    return found


def elements_of(one: Managed, key_names: KeyNames) -> Elements:
    """The path of an object: its class, with the keys that its dn holds, and those of the catalogue's that it states.

    >>> elements_of(Managed("rmonIfIn", "", "", -1, "sys/intf/phys-[eth1/1]/dbgIfIn", {}), {})
    (('rmonIfIn', (('phys', 'eth1/1'),)),)
    """
    keys = dict(_keys(one.dn))
    wanted = key_names.get(one.name, ())
    for name, value in one.attributes.items() if wanted else ():
        if (key := key_name(name)) in wanted:
            keys.setdefault(key, str(value))
    return ((one.name, tuple(sorted(keys.items()))),)


def _walk(value: Any, parent: int, root: str, found: Found, depth: int) -> None:
    if depth > DEPTH_MAX:
        return
    if isinstance(value, list):
        for entry in value:
            _walk(entry, parent, root, found, depth + 1)
    elif isinstance(value, dict):
        for name, inner in value.items():
            bodies = list(_bodies(inner))
            if name in _ENVELOPES:
                _walk(inner, parent, root, found, depth + 1)
            elif bodies and all(isinstance(body, dict) and "attributes" in body for body in bodies):
                for body in bodies:
                    _add(name, body, parent, root, found, depth)
            else:
                found.rest.append((name, inner))
    elif value is not None:
        found.rest.append(("", value))


def _bodies(value: Any) -> Iterator[Any]:
    """A class that is repeated is a list, of what may be lists."""
    for entry in value if isinstance(value, list) else [value]:
        yield from entry if isinstance(entry, list) else [entry]


def _add(name: str, body: dict[str, Any], parent: int, root: str, found: Found, depth: int) -> None:
    stated = body["attributes"]
    parts = [part for part in (stated if isinstance(stated, list) else [stated]) if isinstance(part, dict)]
    attributes = {key: value for part in parts for key, value in part.items() if not isinstance(value, dict | list)}
    dn, rn = str(attributes.get("dn") or ""), str(attributes.get("rn") or "")
    above = found.objects[parent].dn if parent >= 0 else root
    is_root = parent < 0 and (above == rn or above.endswith("/" + rn))
    below = above if is_root or not rn else f"{above}/{rn}" if above else rn
    found.objects.append(Managed(name, dn, rn, parent, dn or below, attributes))
    place = len(found.objects) - 1
    for part in parts:
        found.rest.extend((key, value) for key, value in part.items() if isinstance(value, dict | list))
    for key, value in body.items():
        if key == "children":
            _walk(value, place, root, found, depth + 1)
        elif key != "attributes":
            found.rest.append((key, value))


def _keys(dn: str) -> Iterator[tuple[str, str]]:
    """Of each name in a dn with a value its prefix and this value; of two with one prefix, the second has a number."""
    seen: set[str] = set()
    for rn in _steps(dn):
        if named := _NAMED.fullmatch(rn):
            key = key_name(named[1])
            key = key if key not in seen else f"{key}{len(seen) + 1}"
            seen.add(key)
            yield key, named[2] if named[2] is not None else named[3]


def _steps(dn: str) -> Iterator[str]:
    """Split at slashes outside brackets."""
    depth = begin = 0
    for at, letter in enumerate(dn):
        if letter == "[":
            depth += 1
        elif letter == "]":
            depth -= 1
        elif letter == "/" and depth <= 0:
            yield dn[begin:at]
            begin = at + 1
    yield dn[begin:]
