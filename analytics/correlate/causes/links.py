"""One link: down, flapping or degraded. Findings about either of its ends are about the link.

A link waits for what it may be a part of: a device that died, a line card. Where both ends say that it is down, or its
errors have come sample after sample, and no other link of theirs shows anything, there is nothing to wait for.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping

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
    began = _onsets(view, links)
    for link in sorted(links):
        found = links[link]
        kind, what = _kind(found, degraded=view.is_firing(IncidentKind.LINK_DEGRADED, [link]))
        ends = len({finding.object for finding in found})
        reason = f"{what} at {'both ends' if ends > 1 else 'one end'} of {link.name}"
        hold = None
        if kind is IncidentKind.LINK_DOWN and ends < 2:
            hold = HoldPolicy.INTERVAL  # the other end may be dead
        elif kind is not IncidentKind.LINK_FLAPPING and _is_alone(view, link, found, began):
            hold = HoldPolicy.NONE
        yield cause_of(kind, link, frozenset(finding.id for finding in found), reason, hold=hold)


def _onsets(view: CorrelationView, links: Mapping[ObjectRef, list[Finding]]) -> dict[str, list[int]]:
    """When each link of a device began to fail, by the device at either end, ascending."""
    began: defaultdict[str, list[int]] = defaultdict(list)
    for link, found in links.items():
        for name in view.graph.ends(link):
            began[name].append(found[0].onset_ns)
    return {name: sorted(onsets) for name, onsets in began.items()}


def _is_alone(view: CorrelationView, link: ObjectRef, found: list[Finding], began: Mapping[str, list[int]]) -> bool:
    """Whether both ends are known and no other link of theirs began to fail at about the same time."""
    ends, slack_ns = view.graph.ends(link), view.config.onset_slack_ns
    onset_ns = found[0].onset_ns

    def at_once(onsets: list[int]) -> int:
        return bisect_right(onsets, onset_ns + slack_ns) - bisect_left(onsets, onset_ns - slack_ns)

    return len(set(ends)) == 2 and all(at_once(began[name]) == 1 for name in ends)


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
