"""One link: down, flapping or degraded. Findings about either of its ends are about the link."""

from collections import defaultdict
from collections.abc import Iterable

from analytics.correlate.cause import LINK, Cause, cause_of
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import HoldPolicy
from telemetry.objects import ObjectRef

FLAPPING_SCORE = 2.0  # times the limit of carrier changes: more than one outage and one repair


def propose(view: CorrelationView) -> Iterable[Cause]:
    """One cause a link, from findings about either end."""
    links: defaultdict[ObjectRef, list[Finding]] = defaultdict(list)
    for finding in view.of(*sorted(LINK)):
        links[view.graph.link_of.get(finding.object, finding.object)].append(finding)
    for link in sorted(links):
        found = links[link]
        kind, what = _kind(found, degraded=view.is_firing(IncidentKind.LINK_DEGRADED, [link]))
        ends = len({finding.object for finding in found})
        reason = f"{what} at {'both ends' if ends > 1 else 'one end'} of {link.name}"
        one_sided = kind is IncidentKind.LINK_DOWN and ends < 2  # the other end may be dead
        hold = HoldPolicy.INTERVAL if one_sided else None
        yield cause_of(kind, link, frozenset(finding.id for finding in found), reason, hold=hold)


def _kind(found: list[Finding], *, degraded: bool) -> tuple[IncidentKind, str]:
    """degraded: there is an open incident for that, so one carrier change down and up is its repair and no flapping."""
    kinds = {finding.kind for finding in found}
    flaps = max((finding.score for finding in found if finding.kind is FindingKind.LINK_FLAPPING), default=0.0)
    if degraded and flaps < FLAPPING_SCORE and FindingKind.LINK_DOWN not in kinds:
        return IncidentKind.LINK_DEGRADED, "errors or a low speed"
    if flaps:
        return IncidentKind.LINK_FLAPPING, "the link goes up and down"
    if FindingKind.LINK_DOWN in kinds:
        return IncidentKind.LINK_DOWN, "the link is down"
    return IncidentKind.LINK_DEGRADED, "errors or a low speed"
