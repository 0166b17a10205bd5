"""SONiC's paths in normal form, and its three names for one port (name, vendor alias, object id).

Virtual paths repeat the port inside the body: ``COUNTERS/Ethernet*/Queues`` holds ``{"etp10:3": {"SAI_…": "7"}}``.
The normal form is table, group, entry, field: ``COUNTERS/Queues/Ethernet40:3/SAI_…``.
"""

import re
from collections.abc import Mapping

from ingest.collectors.gnmi.paths.elements import Elements

GROUPS = frozenset({"Queues", "Pfcwd", "PriorityGroups", "VoQs"})
_TABLES = re.compile(r"[A-Z][A-Z0-9_]+")
_PORT = re.compile(r"(Ethernet|PortChannel)\d+$")
_PER_PORT = frozenset({"COUNTERS", "RATES", "PERIODIC_WATERMARKS", "USER_WATERMARKS", "PERSISTENT_WATERMARKS"})


class PortNames:
    """Aliases and object ids of one switch's ports. ``version`` increases when a name is learnt or changes."""

    def __init__(self) -> None:
        self._ports: dict[str, str] = {}
        self.version = 0

    @property
    def ports(self) -> Mapping[str, str]:
        """Other name -> port."""
        return self._ports

    def learn(self, other: str, port: str) -> None:
        if other and other != port and self._ports.get(other) != port:
            self._ports[other] = port
            self.version += 1

    def resolve(self, name: str) -> str | None:
        """The port that a name stands for; None while it is unknown."""
        known = self._ports.get(name)
        return known if known is not None else name if _PORT.match(name) else None


def is_sonic(elements: Elements) -> bool:
    """Whether this is a database path: tables are upper case, YANG is not."""
    return bool(elements) and _TABLES.fullmatch(elements[0][0]) is not None


def normal_form(elements: Elements, names: PortNames) -> Elements | None:
    """Table, group, entry, field; None when the entry's port is not known (yet)."""
    table, *rest = (name for name, _ in elements)
    if any("*" in name for name in rest):
        star = next(i for i, name in enumerate(rest) if "*" in name)
        # What follows the star is the requested field, which the body names again.
        rest = rest[:star] + [name for name in rest[star + 1 : star + 2] if name in GROUPS] + _body(rest, star)
    elif len(rest) >= 2 and rest[1] in GROUPS:
        rest = rest[1:]
    rest = [_without_table(name, table) for name in rest]
    at = 1 if rest and rest[0] in GROUPS else 0
    if table in _PER_PORT and len(rest) > at and not _is_of_the_switch(rest[at]):
        port, colon, queue = _split_entry(rest[at])
        resolved = names.resolve(port)
        if resolved is None:
            return None
        rest[at] = resolved + colon + queue
        if at == 0 and ":" in resolved:  # a queue or a priority group by its object's id
            rest.insert(0, "PriorityGroups" if rest[-1].startswith("SAI_INGRESS_PRIORITY_GROUP") else "Queues")
    return tuple((name, ()) for name in (table, *rest))


def _body(rest: list[str], star: int) -> list[str]:
    """The steps that come from the JSON body: the last two are entry and field, one more when the path had one."""
    return rest[star + 1 :][-2:] if len(rest) - star - 1 >= 2 else []


def _is_of_the_switch(entry: str) -> bool:
    """The switch itself, or a virtual output queue to a port of the chassis: ``lc1|Asic0|Ethernet0:3``."""
    return entry == "SWITCH_ID" or "|" in entry


def _split_entry(entry: str) -> tuple[str, str, str]:
    """``Ethernet4:3`` is a port and a queue; ``oid:0x1`` is neither."""
    return (entry, "", "") if entry.startswith("oid:") else entry.partition(":")


def _without_table(name: str, table: str) -> str:
    """A redis row's key, ``NEIGH_STATE_TABLE|10.0.0.57``, without its table."""
    for separator in "|:":
        if name.startswith(table + separator):
            return name[len(table) + 1 :]
    return name
