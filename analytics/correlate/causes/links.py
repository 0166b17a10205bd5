"""One link: down, flapping or degraded. Findings about either of its ends are about the link.

A link waits for what it may be a part of: a device that died, a line card. Where both ends say that it is down, or its
errors have come sample after sample, and no other link of theirs shows anything, there is nothing to wait for.

A link that was down between two readings is up again by the time that anybody knows. So it is no page unless a job has
waited for it; links that share a device and were down at once are one cause with that device as its root.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from analytics.correlate.cause import LINK, Cause, cause_of
from analytics.correlate.causes.at_once import at_once
from analytics.correlate.causes.cables import links_with, pulled
from analytics.correlate.causes.parts import LINKS_MIN
from analytics.correlate.repairs import repair_of, repairs_gpu
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import HoldPolicy
from telemetry.objects import ObjectKind, ObjectRef, device

FLAPPING_SCORE = 2.0  # times the limit of carrier changes: more than one outage and one repair


def propose(view: CorrelationView) -> Iterable[Cause]:
    """One cause a link, from findings about either end; one of several that were pulled at once."""
    links = links_with(view, view.of(*sorted(LINK)))
    alone = view.kept(_alone, "", links)
    over = {link: found for link, found in links.items() if _is_over(view, link, found)}
    yield from _outages(view, _without_repairs(view, over))
    together = pulled(view, {link: found for link, found in links.items() if link not in over})
    yield from (each.cause for each in together)
    for link in sorted(links.keys() - over.keys() - {ref for each in together for ref in each.links}):
        degraded = view.is_firing(IncidentKind.LINK_DEGRADED, [link])
        yield view.kept(_link, link.name, link, links[link], degraded, link in alone)


def _link(view: CorrelationView, link: ObjectRef, found: list[Finding], degraded: bool, alone: bool) -> Cause:
    """degraded: there is an open incident for that. alone: see ``_alone``."""
    kind, what = _kind(found, degraded=degraded)
    ends = len({finding.object for finding in found})
    reason = f"{what} at {'both ends' if ends > 1 else 'one end'} of {link.name}"
    hold = None
    if kind is IncidentKind.LINK_DOWN and ends < 2:
        hold = HoldPolicy.INTERVAL  # the other end may be dead
    elif kind is not IncidentKind.LINK_FLAPPING and alone:
        hold = HoldPolicy.NONE
    return cause_of(kind, link, frozenset(finding.id for finding in found), reason, hold=hold)


def _is_over(view: CorrelationView, link: ObjectRef, found: Iterable[Finding]) -> bool:
    """Whether all that is wrong with a link is that it was down; that of a degraded one is its repair."""
    bounced = all(finding.kind is FindingKind.LINK_BOUNCED for finding in found)
    return bounced and not view.is_firing(IncidentKind.LINK_DEGRADED, [link])


def _without_repairs(
    view: CorrelationView, over: Mapping[ObjectRef, list[Finding]]
) -> Mapping[ObjectRef, list[Finding]]:
    """The outages that are not the reboot of a host for one of its GPUs: those belong to the incident of the GPU."""
    hosts = {end for link in over for end in view.graph.ends(link) if repairs_gpu(view, end)}
    repairs = {finding.id for host in sorted(hosts) for finding in repair_of(view, host)}
    return {link: found for link, found in over.items() if not repairs.issuperset(one.id for one in found)}


def _outages(view: CorrelationView, over: Mapping[ObjectRef, list[Finding]]) -> Iterable[Cause]:
    """Each link that was down, and each device of which several were at once."""
    for link in sorted(over):
        yield _outage(link, f"link {link.name} was", over[link])
    devices: defaultdict[str, dict[ObjectRef, list[Finding]]] = defaultdict(dict)
    for link, found in over.items():
        for name in view.graph.ends(link):
            devices[name][link] = found
    for name in sorted(devices):
        total = len(view.graph.links(name))
        link_of = {found[0].id: link for link, found in devices[name].items()}
        for group in at_once((found[0] for found in devices[name].values()), view.config.onset_slack_ns):
            if len(group) >= min(LINKS_MIN, max(2, total)):
                about = [finding for first in group for finding in over[link_of[first.id]]]
                yield _outage(device(name), f"{len(group)} of {total} links of {name} were", about)


def _outage(root: ObjectRef, what: str, found: Collection[Finding]) -> Cause:
    seconds = max(round(finding.cadence_s) for finding in found)
    headline = f"{what} down {f'for less than {seconds} s' if seconds else 'between two readings'}"
    reason = f"{headline}: all readings show the carrier, its count an outage"
    primary = frozenset(finding.id for finding in found)
    action = f"Look at what these links of {root.name} have in common." if root.kind is ObjectKind.DEVICE else ""
    return cause_of(IncidentKind.LINK_DOWN, root, primary, reason, headline=headline, action=action, harmless=True)


def _onsets(view: CorrelationView, links: Mapping[ObjectRef, list[Finding]]) -> dict[str, list[int]]:
    """When each link of a device began to fail, by the device at either end, ascending."""
    began: defaultdict[str, list[int]] = defaultdict(list)
    for link, found in links.items():
        for name in view.graph.ends(link):
            began[name].append(found[0].onset_ns)
    return {name: sorted(onsets) for name, onsets in began.items()}


def _alone(view: CorrelationView, links: Mapping[ObjectRef, list[Finding]]) -> frozenset[ObjectRef]:
    """Those of which both ends are known, and no other link of theirs began to fail at about the same time."""
    began, slack_ns = _onsets(view, links), view.config.onset_slack_ns

    def is_only(name: str, onset_ns: int) -> bool:
        onsets = began[name]
        return bisect_right(onsets, onset_ns + slack_ns) - bisect_left(onsets, onset_ns - slack_ns) == 1

    ends = {link: set(view.graph.ends(link)) for link in links}
    return frozenset(
        link
        for link, found in links.items()
        if len(ends[link]) == 2 and all(is_only(name, found[0].onset_ns) for name in ends[link])
    )


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
