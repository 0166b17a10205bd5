"""What the tables of the MIBs look like: ``mibs.yaml``, read and checked."""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from pydantic import ConfigDict, TypeAdapter

Oid = tuple[int, ...]
_FILE = "mibs.yaml"
_IPV4, _IPV6 = 1, 2  # InetAddressType, RFC 4001; further types carry zones and names
_BYTES = {_IPV4: 4, _IPV6: 16}


@dataclass(frozen=True, slots=True)
class Good:
    """The object that says whether a row's value is one, and what it says then."""

    __pydantic_config__ = ConfigDict(extra="forbid")
    object: str
    value: int


@dataclass(frozen=True, slots=True)
class Table:
    """One table; ``mibs.yaml`` explains the fields. columns, texts: object -> number of its column."""

    __pydantic_config__ = ConfigDict(extra="forbid")
    name: str
    oid: str
    index: tuple[str, ...]
    columns: dict[str, int] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)
    words: dict[str, dict[int, str]] = field(default_factory=dict)
    precision: str = ""
    scale: str = ""
    good: Good | None = None
    no_value: tuple[float, ...] = ()
    since: str = ""

    def __hash__(self) -> int:
        """By name alone: there is one of each."""
        return hash(self.name)

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts of a row's index."""
        return tuple(part.partition(" ")[0] for part in self.index)

    def column(self, name: str) -> Oid:
        """The OID of a column, without index."""
        return (*numbers(self.oid), self.columns.get(name) or self.texts[name])

    def index_of(self, suffix: Sequence[int]) -> tuple[str, ...] | None:
        """The parts of a row's index as texts; None where the agent's OID does not fit."""
        found, rest = [], list(suffix)
        for part in self.index:
            kind = part.partition(" ")[2]
            text, used = _part(rest, kind)
            if text is None:
                return None
            found.append(text)
            del rest[:used]
        return tuple(found) if not rest else None


def _part(numbers: Sequence[int], kind: str) -> tuple[str | None, int]:
    """The part at the start of an index, and how many numbers it has; None where it is none of this kind."""
    if not numbers:
        return None, 0
    if kind in ("", "from_one"):
        return str(numbers[0] - (kind == "from_one")), 1
    if kind == "ipv4":
        size, start = 4, 0
    else:
        size, start = _BYTES.get(numbers[0], 0) if len(numbers) > 1 else 0, 2
        if not size or numbers[1] != size:
            return None, 0
    address = numbers[start : start + size]
    if len(address) < size or any(not 0 <= one <= 255 for one in address):
        return None, 0
    return str(ipaddress.ip_address(bytes(address))), start + size


def numbers(oid: str) -> Oid:
    """The numbers of an OID.

    >>> numbers("1.3.6")
    (1, 3, 6)
    """
    return tuple(map(int, oid.split(".")))


@cache
def scalars() -> Mapping[str, Oid]:
    """Objects that a device has once, with their OIDs."""
    return {name: numbers(oid) for name, oid in _content()["scalars"].items()}


@cache
def tables() -> tuple[Table, ...]:
    """All tables, in the file's order. ValueError for a file that is wrong."""
    reader = TypeAdapter(Table)
    return tuple(reader.validate_python({**table, "name": name}) for name, table in _content()["tables"].items())


@cache
def _content() -> dict[str, dict[str, Any]]:
    text = files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    content: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return content
