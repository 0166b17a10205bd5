"""Links from LLDP: each end says who its neighbour is; two ends that agree are one link.

Pure: what was observed goes in, facts come out. Port names of switches are resolved as their own gNMI collectors learn
them, because a neighbour may announce its port by a vendor's alias.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from ingest.collectors.gnmi.paths.metadata import Fact, Observation
from telemetry.topology import Link, TopologyFact

NS_PER_S = 1_000_000_000
_ALIAS, _NEIGHBOUR, _NEIGHBOUR_PORT = Fact.ALIAS, Fact.NEIGHBOUR, Fact.NEIGHBOUR_PORT
_Claim = tuple[str, str, str]
"""Who says it: device, port, and which of the port's neighbours."""


@dataclass(slots=True)
class _Told:
    """What a port said about one neighbour so far."""

    device: str = ""
    port: str = ""


@dataclass(slots=True)
class _Known:
    """A link and who claims it now. ended_ns: when the last claim went, 0 while there is one."""

    link: Link
    claims: set[_Claim] = field(default_factory=set)
    ended_ns: int = 0


class LinkBook:
    """All links of the targets that one process collects from.

    hold_s: a link that nobody claims any more stays for this long. A port that goes down loses its neighbour minutes
    later, and just then everyone wants to know what was connected to it. A new neighbour ends the old link at once.
    """

    def __init__(self, hold_s: float = 600.0) -> None:
        self._hold_ns = int(hold_s * NS_PER_S)
        self._told: dict[_Claim, _Told] = {}
        self._links: dict[str, _Known] = {}
        self._claimed: dict[_Claim, str] = {}
        self._aliases: dict[str, dict[str, str]] = defaultdict(dict)
        self._speeds: dict[tuple[str, str], float] = {}
        self._looked_ns = 0

    def observe(self, device: str, observations: Iterable[Observation]) -> list[TopologyFact]:
        """What ``device`` said; returns what changed."""
        facts: list[TopologyFact] = []
        for observation in observations:
            watch = observation.watch
            if watch.fact is _ALIAS and observation.text:
                facts += self._alias(device, observation.text, watch.port, observation.time_ns)
            elif watch.fact in (_NEIGHBOUR, _NEIGHBOUR_PORT):
                facts += self._neighbour(device, observation)
        return facts

    def rate(self, device: str, port: str, bits_per_second: float) -> None:
        """The fastest that a port was seen at is what it is rated for; a downgrade does not change that."""
        if bits_per_second > self._speeds.get((device, port), 0.0):
            self._speeds[device, port] = bits_per_second

    def expire(self, now_ns: int) -> list[TopologyFact]:
        """Links that nobody has claimed for ``hold_s`` are gone; speeds that became known are told.

        Every collector asks; once a second all links are looked through.
        """
        if 0 <= now_ns - self._looked_ns < NS_PER_S:
            return []
        self._looked_ns = now_ns
        facts = [
            _fact(known.link, known.ended_ns, known.link.a_device, gone=True)
            for known in self._links.values()
            if known.ended_ns and now_ns - known.ended_ns >= self._hold_ns
        ]
        for fact in facts:
            del self._links[fact.entity.key]
        for known in self._links.values():
            rated = self._rated(known.link)
            if rated != known.link:
                known.link = rated
                facts.append(_fact(rated, now_ns, rated.a_device))
        return facts

    def _alias(self, device: str, other: str, port: str, at_ns: int) -> list[TopologyFact]:
        if other == port or self._aliases[device].get(other) == port:
            return []
        self._aliases[device][other] = port
        facts: list[TopologyFact] = []
        for claim, told in self._told.items():
            if told.device == device and told.port == other:
                facts += self._settle(claim, at_ns)
        return facts

    def _neighbour(self, device: str, observation: Observation) -> list[TopologyFact]:
        watch = observation.watch
        claim = (device, watch.port, watch.neighbour)
        told = self._told.setdefault(claim, _Told())
        before = told.device, told.port
        if watch.fact is _NEIGHBOUR:
            told.device = (observation.text or "").partition(".")[0]  # agents announce their full domain name
        else:
            told.port = observation.text or ""
        if (told.device, told.port) == before:  # as nearly always
            return []
        return self._settle(claim, observation.time_ns)

    def _settle(self, claim: _Claim, at_ns: int) -> list[TopologyFact]:
        """Brings the links in line with what ``claim`` says now."""
        link = self._link(claim)
        before = self._claimed.get(claim)
        after = link.key if link else None
        if before == after:
            return []
        facts: list[TopologyFact] = []
        if before is not None and (known := self._links.get(before)):
            known.claims.discard(claim)
            if not known.claims:
                known.ended_ns = at_ns
                if link is not None:
                    facts.append(_fact(known.link, at_ns, claim[0], gone=True))
                    del self._links[before]
        self._claimed.pop(claim, None)
        if link is not None:
            self._claimed[claim] = link.key
            if link.key not in self._links:
                self._links[link.key] = _Known(link)
                facts.append(_fact(link, at_ns, claim[0]))
            known = self._links[link.key]
            known.claims.add(claim)
            known.ended_ns = 0
        return facts

    def _link(self, claim: _Claim) -> Link | None:
        told = self._told[claim]
        if not told.device or not told.port:
            return None
        port = self._aliases[told.device].get(told.port, told.port) if told.device in self._aliases else told.port
        (a_device, a_port), (b_device, b_port) = sorted(
            [(claim[0], claim[1]), (told.device, port)], key=lambda end: f"{end[0]}/{end[1]}"
        )
        return self._rated(Link(a_device, a_port, b_device, b_port))

    def _rated(self, link: Link) -> Link:
        """With the slower of its ends' rated speeds."""
        ends = ((link.a_device, link.a_port), (link.b_device, link.b_port))
        speeds = [self._speeds[end] for end in ends if end in self._speeds]
        if not speeds:
            return link
        return Link(link.a_device, link.a_port, link.b_device, link.b_port, min(speeds))


def _fact(link: Link, at_ns: int, device: str, *, gone: bool = False) -> TopologyFact:
    return TopologyFact(link, at_ns, f"lldp/{device}", gone)
