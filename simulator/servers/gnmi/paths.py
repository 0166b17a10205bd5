"""gNMI paths: from the wire, to text, and matching with wildcards."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from telemetry.gnmi import gnmi_pb2

PORT = "{port}"
"""Placeholder for the name of a port in a key of a schema's element."""


@dataclass(frozen=True, slots=True)
class Elem:
    """One element of a path; keys in the order of the wire."""

    name: str
    keys: tuple[tuple[str, str], ...] = ()

    def with_port(self, port: str) -> "Elem":
        return Elem(self.name, tuple((key, port if value == PORT else value) for key, value in self.keys))


Elems = tuple[Elem, ...]


def elems_of(prefix: gnmi_pb2.Path, path: gnmi_pb2.Path) -> Elems:
    """Elements of prefix and path together."""
    return tuple(Elem(elem.name, tuple(elem.key.items())) for part in (prefix, path) for elem in part.elem)


def without_modules(elems: Iterable[Elem]) -> Elems:
    """Names without the YANG module that may precede them.

    >>> without_modules((Elem("openconfig-interfaces:interfaces"), Elem("interface")))
    (Elem(name='interfaces', keys=()), Elem(name='interface', keys=()))
    """
    return tuple(Elem(elem.name.rpartition(":")[2], elem.keys) for elem in elems)


def parse_elems(text: str) -> Elems:
    """Elements of a path in text form; keys must not hold brackets or slashes inside their values' brackets.

    >>> parse_elems("interfaces/interface[name=Ethernet1/1]/state")[1]
    Elem(name='interface', keys=(('name', 'Ethernet1/1'),))
    """
    return tuple(_parse_elem(part) for part in _split(text))


def path_text(elems: Iterable[Elem]) -> str:
    """
    >>> path_text(parse_elems("interfaces/interface[name=Ethernet1/1]/state"))
    'interfaces/interface[name=Ethernet1/1]/state'
    """
    return "/".join(elem.name + "".join(f"[{key}={value}]" for key, value in elem.keys) for elem in elems)


def to_proto(elems: Iterable[Elem], target: str = "") -> gnmi_pb2.Path:
    path = gnmi_pb2.Path(target=target)
    for elem in elems:
        path.elem.add(name=elem.name, key=dict(elem.keys))
    return path


def json_value(body: bytes, encoding: int) -> gnmi_pb2.TypedValue:
    """JSON in the member that ``encoding`` asks for."""
    if encoding == gnmi_pb2.JSON:
        return gnmi_pb2.TypedValue(json_val=body)
    return gnmi_pb2.TypedValue(json_ietf_val=body)


def match(pattern: Sequence[Elem], leaf: Sequence[Elem]) -> tuple[bool, str | None]:
    """Whether ``pattern`` selects ``leaf`` (it may end above it), and the one port that it names, None for all.

    ``*`` matches any name or key value, ``...`` any number of elements, a missing key all its values.
    """
    if not pattern:
        return True, None
    first, rest = pattern[0], pattern[1:]
    if first.name == "...":
        found = [match(rest, leaf[i:]) for i in range(len(leaf) + 1)]
        return next((one for one in found if one[0]), (False, None))
    if not leaf or not fnmatchcase(leaf[0].name, first.name):
        return False, None
    wanted, port = dict(first.keys), None
    for key, value in leaf[0].keys:
        pattern_value = wanted.pop(key, "*")
        if value == PORT:
            port = None if pattern_value == "*" else pattern_value
        elif not fnmatchcase(value, pattern_value):
            return False, None
    if wanted:  # a key that this element does not have
        return False, None
    matched, port_below = match(rest, leaf[1:])
    return matched, port if port is not None else port_below


def _split(text: str) -> list[str]:
    """Parts between slashes that are not inside brackets."""
    parts, depth, current = [], 0, ""
    for character in text.strip("/"):
        depth += (character == "[") - (character == "]")
        if character == "/" and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += character
    return [part for part in (*parts, current) if part]


def _parse_elem(text: str) -> Elem:
    name, *keys = text.replace("]", "").split("[")
    return Elem(name, tuple((key, value) for key, _, value in (pair.partition("=") for pair in keys)))
