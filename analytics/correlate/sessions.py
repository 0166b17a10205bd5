"""Which devices are at the other ends of routing sessions that went down."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from ipaddress import ip_address

from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.objects import port

_PEER = re.compile(r'peer="([^"]+)"')
Ends = Mapping[str, frozenset[str]]  # of each finding, by its id: the devices at the other ends


def other_ends(view: CorrelationView) -> Ends:
    """Of each session finding the devices at the other ends; none where that is not known."""
    return view.once(_other_ends)


def _other_ends(view: CorrelationView) -> Ends:
    """Devices at the other ends of the sessions that went down: the neighbour behind the port that BGP unnumbered names
    (RFC 5549), or who lost the session with the other address of a link of two (RFC 3021, RFC 6164). Else none, as an
    address alone does not say whose it is."""
    found = view.of(FindingKind.BGP_SESSION)
    peers = {finding.id: frozenset(_peers(finding)) for finding in found}
    holders: defaultdict[str, set[str]] = defaultdict(set)  # by the address of a lost peer: who had a session with it
    for finding in found:
        for name in peers[finding.id]:
            holders[name].add(finding.object.name)
    ends: dict[str, frozenset[str]] = {}
    for finding in found:
        own = {finding.object.name}
        names: set[str] = set()
        for name in peers[finding.id]:
            behind = view.graph.peers.get(port(finding.object.name, name))
            across = holders.get(_other_of_two(name), set()) - own
            names |= {behind.device} if behind is not None else across if len(across) == 1 else set()
        ends[finding.id] = frozenset(names - own)
    return ends


def _peers(finding: Finding) -> Iterator[str]:
    for evidence in finding.evidence:
        for names in _PEER.findall(evidence.series):
            yield from names.split(",")


def _other_of_two(name: str) -> str:
    """The other address of a point-to-point link; '' for what is no address."""
    try:
        address = ip_address(name)
    except ValueError:
        return ""
    return str(type(address)(int(address) ^ 1))
