"""Routing: BGP sessions that went down by themselves. With a link or a device down, that is the cause instead."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from analytics.correlate.cause import Cause, cause_of
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import device, port

_PEER = re.compile(r'peer="([^"]+)"')
TOGETHER_MIN = 2  # so many devices that lost a session with the same one have its routing daemon in common


def propose(view: CorrelationView) -> Iterable[Cause]:
    """One cause for all that lost a session with the same device, one for each other device."""
    found = view.of(FindingKind.BGP_SESSION)
    lost: defaultdict[str, dict[str, Finding]] = defaultdict(dict)  # by device: who lost a session with it
    for finding in found:
        for name in _other_ends(view, finding):
            lost[name][finding.object.name] = finding
    explained: set[str] = set()
    for name in sorted(lost, key=lambda each: (-len(lost[each]), each)):
        left = {who: finding for who, finding in lost[name].items() if finding.id not in explained}
        mutual = any(who in lost and name in lost[who] for who in left)
        if len(left) >= TOGETHER_MIN or mutual:
            cause = _together(view, name, left)
            explained |= cause.primary
            yield cause
    for finding in found:
        if finding.id not in explained:
            yield _alone(finding)


def _other_ends(view: CorrelationView, finding: Finding) -> list[str]:
    """Devices at the other end of a session that went down: the neighbour behind the port that BGP unnumbered names
    (RFC 5549), else none, as an address alone does not say whose it is."""
    peers = (name for evidence in finding.evidence for name in _PEER.findall(evidence.series))
    ends = (view.graph.peers.get(port(finding.object.name, name)) for name in peers)
    return sorted({end.device for end in ends if end is not None})


def _together(view: CorrelationView, name: str, lost: Mapping[str, Finding]) -> Cause:
    own = [finding for finding in view.about(device(name)) if finding.kind is FindingKind.BGP_SESSION]
    neighbours = [other for other in view.graph.neighbours(name) if view.graph.is_switch(other)]
    known = sorted((*lost.values(), *own), key=lambda finding: (finding.onset_ns, finding.object))
    alone = len(lost) < TOGETHER_MIN  # one session, and both of its ends say so: either may be the one that failed
    return cause_of(
        IncidentKind.BGP_DOWN,
        view.root(IncidentKind.BGP_DOWN, [finding.object for finding in known]) if alone else device(name),
        frozenset(finding.id for finding in known),
        f"{len(lost)} of {len(neighbours)} neighbours lost their session with {name} and no link of it is down",
        subject=" with ".join(sorted((name, *lost))) if alone else f"{name} with {len(lost)} neighbours",
    )


def _alone(finding: Finding) -> Cause:
    return cause_of(
        IncidentKind.BGP_DOWN,
        finding.object,
        frozenset({finding.id}),
        f"{finding.object.name} lost a BGP session and no link of it is down",
    )
