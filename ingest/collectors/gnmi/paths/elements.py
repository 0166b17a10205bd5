"""gNMI paths: from the message, from text, and whether one lies below another."""

import re
from collections.abc import Sequence

from common.errors import ConfigError
from telemetry.gnmi import gnmi_pb2

Element = tuple[str, tuple[tuple[str, str], ...]]
"""One step of a path: its name without a module prefix, and its keys sorted by name."""

Elements = tuple[Element, ...]

# A YANG module has a hyphen in its name; SONiC's keys ("Ethernet4:3", "oid:0x1") have none before the colon.
_MODULE = re.compile(r"^[A-Za-z][A-Za-z0-9]*-[A-Za-z0-9-]*:")
_STEP = re.compile(r"([^/\[\]\\]|\\.)+")
_KEY = re.compile(r"\[([^=\[\]]+)=((?:[^\]\\]|\\.)*)\]")


def without_module(name: str) -> str:
    """
    >>> without_module("openconfig-interfaces:interfaces"), without_module("Ethernet4:3")
    ('interfaces', 'Ethernet4:3')
    """
    return _MODULE.sub("", name, count=1) if ":" in name else name


def key_name(name: str) -> str:
    """One spelling of a key: some agents send ``neighbor_address``, some a module before it."""
    return without_module(name).replace("_", "-")


def elements_of(*paths: gnmi_pb2.Path) -> Elements:
    """The steps of a prefix and a path, joined. Agents of gNMI before 0.4 send text, ``interface[name=Ethernet1]``."""
    found: list[Element] = []
    for path in paths:
        for elem in path.elem or (elem for text in path.element for elem in _old_element(text)):
            keys = tuple(sorted((key_name(name), value) for name, value in elem.key.items()))
            if elem.name or not found:
                found.append((without_module(elem.name), keys))
            else:  # Junos puts a list's keys into a step of their own
                found[-1] = (found[-1][0], (*found[-1][1], *keys))
    return tuple(found)


def parse_path(text: str) -> gnmi_pb2.Path:
    """A path as people write it: ``origin:/interfaces/interface[name=Ethernet1\\/1]/state``. ConfigError if malformed.

    >>> parse_path("/interfaces/interface[name=*]/state").elem[1].key["name"]
    '*'
    """
    origin, colon, rest = text.partition(":/")
    if not colon or not re.fullmatch(r"[\w-]+", origin):
        origin, rest = "", text
    path = gnmi_pb2.Path(origin=origin)
    position = 1 if rest.startswith("/") else 0
    while position < len(rest):
        step = _STEP.match(rest, position)
        if step is None:
            raise ConfigError(f"path {text!r}: expected a name at character {position + len(text) - len(rest) + 1}")
        elem = path.elem.add(name=_unescape(step[0]))
        position = step.end()
        while key := _KEY.match(rest, position):
            elem.key[key[1]] = _unescape(key[2])
            position = key.end()
        if position < len(rest) and rest[position] != "/":
            raise ConfigError(f"path {text!r}: expected / or [key=value] after {elem.name!r}")
        position += 1
    return path


def text_of(path: Elements) -> str:
    """A path as people write it.

    >>> text_of((("interface", (("name", "Ethernet1"),)), ("state", ())))
    '/interface[name=Ethernet1]/state'
    """
    return "".join(f"/{name}" + "".join(f"[{key}={value}]" for key, value in keys) for name, keys in path)


def below(path: Sequence[Element], root: Sequence[Element]) -> bool:
    """Whether ``path`` is ``root`` or below it; ``*`` and absent keys of the root match anything."""
    if len(path) < len(root):
        return False
    for (name, keys), (root_name, root_keys) in zip(path, root, strict=False):
        if root_name not in (name, "*"):
            return False
        values = dict(keys)
        if any(value not in (values.get(key), "*") for key, value in root_keys):
            return False
    return True


def _old_element(text: str) -> Sequence[gnmi_pb2.PathElem]:
    if "[" not in text:
        return [gnmi_pb2.PathElem(name=text)]
    try:
        return parse_path(text).elem
    except ConfigError:
        return [gnmi_pb2.PathElem(name=text)]


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
