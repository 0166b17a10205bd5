"""Routing: BGP sessions that went down by themselves. With a link or a device down, that is the cause instead."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address

from analytics.correlate.cause import Cause, cause_of
from analytics.correlate.causes.at_once import at_once
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import HoldPolicy
from telemetry.objects import device, port

_PEER = re.compile(r'peer="([^"]+)"')
TOGETHER_MIN = 2  # so many devices that lost a session with the same one have its routing daemon in common
UNKNOWN_MIN = 3  # so many that each lost one to who knows whom have something in common too

Ends = Mapping[str, frozenset[str]]  # of each finding, by its id: the devices at the other ends


def propose(view: CorrelationView) -> Iterable[Cause]:
    """One cause for all that lost a session with the same device, one for each other device."""
    found = view.of(FindingKind.BGP_SESSION)
    ends = other_ends(view)
    lost: defaultdict[str, dict[str, Finding]] = defaultdict(dict)  # by device: who lost a session with it
    for finding in found:
        for name in ends[finding.id]:
            lost[name][finding.object.name] = finding
    explained: set[str] = set()
    for name in sorted(lost, key=lambda each: (-len(lost[each]), each)):
        left = {who: finding for who, finding in lost[name].items() if finding.id not in explained}
        mutual = any(who in lost and name in lost[who] for who in left)
        if len(left) >= TOGETHER_MIN or mutual:
            cause = _together(view, name, left)
            explained |= cause.primary
            yield cause
    rest = [finding for finding in found if finding.id not in explained]
    for group in at_once(rest, view.config.onset_slack_ns):
        if len(group) >= UNKNOWN_MIN:
            yield _unknown(view, group)
        else:
            yield from map(_alone, group)


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


def _together(view: CorrelationView, name: str, lost: Mapping[str, Finding]) -> Cause:
    own = [finding for finding in view.about(device(name)) if finding.kind is FindingKind.BGP_SESSION]
    neighbours = [other for other in view.graph.neighbours(name) if view.graph.is_switch(other)]
    known = sorted((*lost.values(), *own), key=lambda finding: (finding.onset_ns, finding.object))
    alone = len(lost) < TOGETHER_MIN  # one session, and both of its ends say so: either may be the one that failed
    of = f" of {len(neighbours)}" if len(neighbours) >= len(lost) else ""
    return cause_of(
        IncidentKind.BGP_DOWN,
        view.root(IncidentKind.BGP_DOWN, [finding.object for finding in known]) if alone else device(name),
        frozenset(finding.id for finding in known),
        f"{len(lost)}{of} neighbours lost their session with {name} and no link of it is down",
        subject=" with ".join(sorted((name, *lost))) if alone else f"{name} with {len(lost)} neighbours",
        hold=None if alone else HoldPolicy.TICK,  # what each neighbour read in the same collection shows its link up
    )


def _unknown(view: CorrelationView, group: Sequence[Finding]) -> Cause:
    """Sessions of several devices at once, with whom is not known: the device at the other ends does not answer."""
    shared = frozenset[str].intersection(
        *(frozenset(filter(view.graph.is_switch, view.graph.neighbours(each.object.name))) for each in group)
    )
    root = device(min(shared)) if len(shared) == 1 else view.root(IncidentKind.BGP_DOWN, [one.object for one in group])
    return cause_of(
        IncidentKind.BGP_DOWN,
        root,
        frozenset(finding.id for finding in group),
        f"{len(group)} devices lost BGP sessions at once and no link is down: one device or route reflector is behind "
        "all of them; which one their addresses do not say",
        subject=f"{root.name} with {len(group)} neighbours" if len(shared) == 1 else f"{len(group)} devices",
    )


def _alone(finding: Finding) -> Cause:
    return cause_of(
        IncidentKind.BGP_DOWN,
        finding.object,
        frozenset({finding.id}),
        f"{finding.object.name} lost a BGP session and no link of it is down",
    )
