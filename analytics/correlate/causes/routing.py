"""Routing: BGP sessions that went down by themselves. With a link or a device down, that is the cause instead."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from analytics.correlate.cause import Cause, cause_of
from analytics.correlate.causes.at_once import at_once
from analytics.correlate.sessions import other_ends
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import HoldPolicy
from telemetry.objects import device

TOGETHER_MIN = 2  # so many devices that lost a session with the same one have its routing daemon in common
UNKNOWN_MIN = 3  # so many that each lost one to who knows whom have something in common too


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
        action="" if alone else f"Look at the routing daemon of {name}, and at its log: its links are up.",
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
        action="Find whom all of them lost: the peers that their evidence names, a route reflector; its links are up.",
    )


def _alone(finding: Finding) -> Cause:
    return cause_of(
        IncidentKind.BGP_DOWN,
        finding.object,
        frozenset({finding.id}),
        f"{finding.object.name} lost a BGP session and no link of it is down",
    )
