"""Links from LLDP: each end reports its neighbour; two ends that agree are one link.

Pure: metadata updates go in, facts come out. A neighbour may announce its port by a vendor's alias, so port names are
resolved as the collectors of the switches learn them.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from common.units import NS_PER_S, to_ns
from ingest.collectors.gnmi.paths.metadata import MetadataKind, MetadataUpdate
from telemetry.topology import Link, TopologyFact

_Claim = tuple[str, str, str]
"""Who reports a neighbour: device, port, and the id of the neighbour at that port."""


@dataclass(slots=True)
class _Neighbour:
    """What a port has reported about one neighbour so far."""

    device: str = ""
    port: str = ""


@dataclass(slots=True)
class _LinkState:
    """A link and the claims that support it now. ended_ns: when the last claim ended, 0 while there is one."""

    link: Link
    claims: set[_Claim] = field(default_factory=set)
    ended_ns: int = 0


class LinkTable:
    """All links of the targets that one process collects from.

    hold_s: a link without claims stays for this long. A port that goes down loses its neighbour minutes later, and its
    place in the graph matters just then. A new neighbour ends the old link at once.
    """

    def __init__(self, hold_s: float = 600.0) -> None:
        self._hold_ns = to_ns(hold_s)
        self._neighbours: dict[_Claim, _Neighbour] = {}
        self._links: dict[str, _LinkState] = {}
        self._link_of: dict[_Claim, str] = {}
        self._aliases: dict[str, dict[str, str]] = defaultdict(dict)
        self._speeds: dict[tuple[str, str], float] = {}
        self._expired_ns = 0

    def update(self, device: str, updates: Iterable[MetadataUpdate]) -> list[TopologyFact]:
        """Metadata that ``device`` reported; returns the facts that changed."""
        facts: list[TopologyFact] = []
        for update in updates:
            path = update.path
            if path.kind is MetadataKind.ALIAS and update.text:
                facts += self._add_alias(device, update.text, path.port, update.time_ns)
            elif path.kind in (MetadataKind.NEIGHBOUR, MetadataKind.NEIGHBOUR_PORT):
                facts += self._update_neighbour(device, update)
        return facts

    def set_speed(self, device: str, port: str, bits_per_second: float) -> None:
        """The highest speed of a port is its rated speed; a downgrade does not change it."""
        if bits_per_second > self._speeds.get((device, port), 0.0):
            self._speeds[device, port] = bits_per_second

    def expire(self, now_ns: int) -> list[TopologyFact]:
        """Ends links without claims for ``hold_s``, and updates links whose rated speed has become known.

        Every collector calls it; once a second it goes through all links.
        """
        if 0 <= now_ns - self._expired_ns < NS_PER_S:
            return []
        self._expired_ns = now_ns
        facts = [
            _fact(state.link, state.ended_ns, state.link.a_device, gone=True)
            for state in self._links.values()
            if state.ended_ns and now_ns - state.ended_ns >= self._hold_ns
        ]
        for fact in facts:
            del self._links[fact.entity.key]
        for state in self._links.values():
            rated = self._with_speed(state.link)
            if rated != state.link:
                state.link = rated
                facts.append(_fact(rated, now_ns, rated.a_device))
        return facts

    def _add_alias(self, device: str, alias: str, port: str, at_ns: int) -> list[TopologyFact]:
        if alias == port or self._aliases[device].get(alias) == port:
            return []
        self._aliases[device][alias] = port
        facts: list[TopologyFact] = []
        for claim, neighbour in self._neighbours.items():
            if neighbour.device == device and neighbour.port == alias:
                facts += self._update_link(claim, at_ns)
        return facts

    def _update_neighbour(self, device: str, update: MetadataUpdate) -> list[TopologyFact]:
        path = update.path
        claim = (device, path.port, path.neighbour)
        neighbour = self._neighbours.setdefault(claim, _Neighbour())
        before = neighbour.device, neighbour.port
        if path.kind is MetadataKind.NEIGHBOUR:
            neighbour.device = (update.text or "").partition(".")[0]  # agents announce their full domain name
        else:
            neighbour.port = update.text or ""
        if (neighbour.device, neighbour.port) == before:  # as nearly always
            return []
        return self._update_link(claim, update.time_ns)

    def _update_link(self, claim: _Claim, at_ns: int) -> list[TopologyFact]:
        """Moves the claim to the link that it supports now."""
        link = self._link(claim)
        before = self._link_of.get(claim)
        after = link.key if link else None
        if before == after:
            return []
        facts: list[TopologyFact] = []
        if before is not None and (state := self._links.get(before)):
            state.claims.discard(claim)
            if not state.claims:
                state.ended_ns = at_ns
                if link is not None:
                    facts.append(_fact(state.link, at_ns, claim[0], gone=True))
                    del self._links[before]
        self._link_of.pop(claim, None)
        if link is not None:
            self._link_of[claim] = link.key
            if link.key not in self._links:
                self._links[link.key] = _LinkState(link)
                facts.append(_fact(link, at_ns, claim[0]))
            state = self._links[link.key]
            state.claims.add(claim)
            state.ended_ns = 0
        return facts

    def _link(self, claim: _Claim) -> Link | None:
        neighbour = self._neighbours[claim]
        if not neighbour.device or not neighbour.port:
            return None
        port = neighbour.port
        if neighbour.device in self._aliases:
            port = self._aliases[neighbour.device].get(port, port)
        (a_device, a_port), (b_device, b_port) = sorted(
            [(claim[0], claim[1]), (neighbour.device, port)], key=lambda end: f"{end[0]}/{end[1]}"
        )
        return self._with_speed(Link(a_device, a_port, b_device, b_port))

    def _with_speed(self, link: Link) -> Link:
        """With the rated speed of its slower end."""
        ends = ((link.a_device, link.a_port), (link.b_device, link.b_port))
        speeds = [self._speeds[end] for end in ends if end in self._speeds]
        if not speeds:
            return link
        return Link(link.a_device, link.a_port, link.b_device, link.b_port, min(speeds))


def _fact(link: Link, at_ns: int, device: str, *, gone: bool = False) -> TopologyFact:
    return TopologyFact(link, at_ns, f"lldp/{device}", gone)
