"""From what ``ibnetdiscover -p`` prints to the nodes and links of a fabric, and what two of them say together. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from common.errors import BadInput
from telemetry.objects import NAME_CHARS_MAX
from telemetry.topology import Link, TopologyFact

_END = r"(CA|SW|RT)\s+(\d{1,8})\s+(\d{1,8})\s+(0x[0-9a-f]{1,16})"
_LINE = re.compile(
    rf"{_END}\s+(\d{{1,3}})x\s+(\S{{1,16}})(?:\s+-\s+{_END}\s+\(\s*'(.*)'\s+-\s+'(.*)'\s*\)|\s+(\S.*?))\s*",
    re.IGNORECASE,
)
_MANAGED = re.compile(r"MF\d*;([^:;\s]+):\S*")  # as a managed switch describes itself: MF0;leaf1:MQM8700/U1
_GBPS = {"SDR": 2.5, "DDR": 5, "QDR": 10, "FDR10": 10, "FDR": 14, "EDR": 25, "HDR": 50, "NDR": 100, "XDR": 200}
"""Of one lane, as the kernel states the rate of a port."""
_GUID = re.compile(r"(?:0x)?[0-9a-f]{1,16}", re.IGNORECASE)
_AGGREGATION = "Aggregation Node"  # a switch's own port for collective operations: no cable


@dataclass(frozen=True, slots=True)
class Node:
    """What has a local identifier: a switch (kind SW), a router (RT) or one port of an adapter (CA).

    port: of an adapter, 0 else. text: how it describes itself.
    """

    kind: str
    guid: str
    port: int
    text: str

    @property
    def words(self) -> list[str]:
        managed = _MANAGED.fullmatch(self.text)
        return [managed[1]] if managed is not None else self.text.split()


@dataclass(frozen=True, slots=True)
class Fabric:
    """nodes: by local identifier. links: both ends as local identifier and port, and the speed in bits per second.

    malformed: lines that are none of these.
    """

    nodes: Mapping[int, Node]
    links: tuple[tuple[tuple[int, int], tuple[int, int], float], ...]
    malformed: int


@dataclass(frozen=True, slots=True)
class Names:
    """Device of each node, and the name of an adapter on its host, '' for a node whose ports have numbers.

    by_guid: of nodes that have a name.
    """

    by_lid: Mapping[int, tuple[str, str]]
    by_guid: Mapping[int, tuple[str, str]]

    def port(self, lid: int, number: int) -> tuple[str, str] | None:
        """Device and port; None for a node that nobody knows. The first port of an adapter has its name alone."""
        return _port(self.by_lid[lid], str(number)) if lid in self.by_lid else None

    def of_guid(self, guid: str, port: str) -> tuple[str, str] | None:
        """The same of a node by its GUID in hexadecimal, as another source states it. port: '' for the device."""
        named = self.by_guid.get(int(guid, 16)) if _GUID.fullmatch(guid) else None
        return None if named is None else _port(named, port)


@dataclass(frozen=True, slots=True)
class SeenLink:
    """at_ns: when it was seen last."""

    link: Link
    at_ns: int


def parse_topology(text: bytes) -> Fabric:
    """BadInput where no line is one of ibnetdiscover's."""
    nodes: dict[int, Node] = {}
    links = []
    malformed = 0
    for line in filter(str.strip, text.decode(errors="replace").splitlines()):
        found = _LINE.fullmatch(line)
        if found is None:
            malformed += not line.startswith("#")
            continue
        kind, lid, port, guid, lanes, speed, peer_kind, peer_lid, peer_port, peer_guid, name, peer_name, alone = (
            found.groups()
        )
        nodes[int(lid)] = _node(kind, guid, port, name or alone or "")
        if peer_kind is not None and _AGGREGATION not in name + peer_name:
            nodes[int(peer_lid)] = _node(peer_kind, peer_guid, peer_port, peer_name)
            bits_per_second = int(lanes) * _GBPS.get(speed.upper(), 0.0) * 1e9
            links.append(((int(lid), int(port)), (int(peer_lid), int(peer_port)), bits_per_second))
    if not nodes:
        raise BadInput(f"expected lines as of ibnetdiscover -p, found {text[:80]!r}", "bad_format")
    return Fabric(nodes, tuple(links), malformed)


def _node(kind: str, guid: str, port: str, text: str) -> Node:
    return Node(kind.upper(), guid.lower(), int(port) if kind.upper() == "CA" else 0, text.strip("' "))


def names_of(fabric: Fabric, switches_by: str = "name", adapters: Mapping[str, str] | None = None) -> Names:
    """A node is named by its description where no other node has it, else by its GUID.

    A host describes each adapter by two words, itself and the adapter: ``node1 mlx5_0``. adapters: other names of
    these.
    """
    by_lid: dict[int, tuple[str, str]] = {}
    for lid, node in fabric.nodes.items():
        words = node.words
        if node.kind == "CA" and 1 <= len(words) <= 2:
            adapter = words[1] if len(words) == 2 else ""
            by_lid[lid] = words[0].partition(".")[0], (adapters or {}).get(adapter, adapter)
        elif node.kind == "SW" and len(words) == 1 and switches_by == "name":
            by_lid[lid] = words[0], ""
        else:
            by_lid[lid] = node.guid, ""
    times = Counter((name, fabric.nodes[lid].port) for lid, name in by_lid.items())
    usable = {
        lid: name
        for lid, name in by_lid.items()
        if name[0] and times[name, fabric.nodes[lid].port] == 1 and all(map(_is_name, filter(None, name)))
    }
    by_guid = {int(fabric.nodes[lid].guid, 16): name for lid, name in usable.items()}
    return Names({lid: usable.get(lid, (node.guid, "")) for lid, node in fabric.nodes.items()}, by_guid)


def links_of(fabric: Fabric, names: Names) -> dict[str, Link]:
    """By key; each link once, though both of its ends state it."""
    found: dict[str, Link] = {}
    for end, other, bits_per_second in fabric.links:
        ends = sorted(filter(None, (names.port(*end), names.port(*other))), key=lambda each: "/".join(each))
        if len(ends) == 2 and ends[0] != ends[1]:
            link = Link(*ends[0], *ends[1], bits_per_second)
            found[link.key] = link
    return found


def link_facts(
    known: Mapping[str, SeenLink], found: Mapping[str, Link], now_ns: int, hold_ns: int, source: str
) -> tuple[dict[str, SeenLink], list[TopologyFact]]:
    """What is known now, and the facts that say so. A link that is not seen stays for ``hold_ns``, as its place matters
    when it has just failed; one whose port has another link now ends at once. The highest speed is the rated one."""
    after: dict[str, SeenLink] = {}
    facts: list[TopologyFact] = []
    for key, link in found.items():
        before = known.get(key)
        rated = replace(link, bits_per_second=max(link.bits_per_second, before.link.bits_per_second if before else 0.0))
        after[key] = SeenLink(rated, now_ns)
        if before is None or before.link != rated:
            facts.append(TopologyFact(rated, now_ns, source))
    taken = {end for link in found.values() for end in _ends(link)}
    for key, seen in known.items():
        if key in found:
            continue
        if now_ns - seen.at_ns < hold_ns and not taken.intersection(_ends(seen.link)):
            after[key] = seen
        else:
            facts.append(TopologyFact(seen.link, now_ns, source, gone=True))
    return after, facts


def _port(named: tuple[str, str], number: str) -> tuple[str, str]:
    device, adapter = named
    if not adapter or not number:
        return device, number
    return device, adapter if number == "1" else f"{adapter}/{number}"


def _ends(link: Link) -> Iterable[tuple[str, str]]:
    return (link.a_device, link.a_port), (link.b_device, link.b_port)


def _is_name(text: str) -> bool:
    return len(text) <= NAME_CHARS_MAX and text.isprintable()
