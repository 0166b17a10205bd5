"""One link: down, flapping or degraded. What both of its ends say is about one thing."""

from collections import defaultdict
from collections.abc import Iterable

from analytics.correlate.cause import LINK, Cause, Patience
from analytics.correlate.view import View
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef


def propose(view: View) -> Iterable[Cause]:
    """One cause a link, from what either end of it says."""
    links: defaultdict[ObjectRef, list[Finding]] = defaultdict(list)
    for finding in view.of(*sorted(LINK)):
        links[view.graph.link_of.get(finding.object, finding.object)].append(finding)
    for link in sorted(links):
        found = links[link]
        kind, what = _kind({finding.kind for finding in found})
        ends = len({finding.object for finding in found})
        reason = f"{what} at {'both ends' if ends > 1 else 'one end'} of {link.name}"
        one_sided = kind is IncidentKind.LINK_DOWN and ends < 2  # then the other end may be dead
        patience = Patience.INTERVAL if one_sided else Patience.TICK
        yield Cause(kind, link, frozenset(finding.id for finding in found), reason, patience=patience)


def _kind(kinds: set[FindingKind]) -> tuple[IncidentKind, str]:
    if FindingKind.LINK_FLAPPING in kinds:
        return IncidentKind.LINK_FLAPPING, "the link goes up and down"
    if FindingKind.LINK_DOWN in kinds:
        return IncidentKind.LINK_DOWN, "the link is down"
    return IncidentKind.LINK_DEGRADED, "errors or a low speed"
