"""Cables that were pulled at once: several of one host, and two that have changed places.

Two links of a host do not fail at once by chance, so they are one incident. Where all of them lead to one switch the
fault may as well be at its end: that is one incident, too, and becomes that of the switch if links of others follow.
Two cables are swapped where both ends of one lead to the ends of the other one by now: as LLDP says once they are
plugged in.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from analytics.correlate.cause import LINK, Cause, cause_of
from analytics.correlate.causes.at_once import at_once
from analytics.correlate.causes.devices import deaths
from analytics.correlate.causes.siblings import YEARS_MIN, years_by_chance
from analytics.correlate.config import NS_PER_S
from analytics.correlate.swaps import OUTAGES, cables_now, swapped_with
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import HoldPolicy
from telemetry.objects import ObjectKind, ObjectRef

_AWAY = frozenset({FindingKind.LINK_DOWN, FindingKind.LINK_FLAPPING})
TOGETHER_MIN = 2
_CHECK_CABLING = "Compare these cables with the cabling plan: put them back, or correct what is configured by port."


@dataclass(frozen=True, slots=True)
class Pulled:
    """A cause about several links, and those that are no causes of their own beside it."""

    cause: Cause
    links: frozenset[ObjectRef]


@dataclass(frozen=True, slots=True)
class _Outage:
    id: str  # name of the link
    onset_ns: int


def links_with(view: CorrelationView, findings: Iterable[Finding]) -> dict[ObjectRef, list[Finding]]:
    """Findings by the link that they are about. What an open incident says of a cable stays about that cable when its
    ends lead elsewhere: the cable that is there now was not plugged in when it began."""
    open_outages = [each for each in view.firing if each[0] in OUTAGES and each[1].kind is ObjectKind.LINK]
    before = {port: root for _, root in sorted(open_outages, reverse=True) for port in view.graph.ports(root)}
    links: defaultdict[ObjectRef, list[Finding]] = defaultdict(list)
    for finding in findings:
        now = view.graph.link_of.get(finding.object, finding.object)
        links[before.get(finding.object, now)].append(finding)
    return links


def pulled(view: CorrelationView, links: Mapping[ObjectRef, list[Finding]]) -> list[Pulled]:
    """Swapped cables, then links of one host that failed at once, each link in one of them at most.

    links: with findings of the group ``link``, by onset."""
    found = [*_swaps(view), *_undone(view, links)]
    taken = {ref for each in found for ref in each.links}
    left = {ref: on for ref, on in links.items() if ref not in taken and _was_away(view, ref, on)}
    for each in _of_hosts(view, left):
        if taken.isdisjoint(each.links):
            found.append(each)
            taken |= each.links
    return found


def as_cabled(view: CorrelationView, cause: Cause) -> Cause:
    """The cause of an outage that is over, with what became of its cable."""
    if cause.kind not in OUTAGES or cause.root.kind is not ObjectKind.LINK:
        return cause
    other = swapped_with(view.graph, cause.root)
    if other is None or not _known_away(view, cause, other):
        return cause
    return replace(
        cause, headline=_swapped(view, cause.root, other), action=_CHECK_CABLING, links=cause.links | {other}
    )


def _known_away(view: CorrelationView, cause: Cause, other: ObjectRef) -> bool:
    """Whether the other link was away, too: as a cable that only got another place has not been."""
    return other in cause.links or view.is_firing(IncidentKind.LINK_DOWN, [other])


def _swaps(view: CorrelationView) -> Iterable[Pulled]:
    """Links with an open outage of which a part still shows, and which have changed places with others."""
    named: set[ObjectRef] = set()
    firing = view.firing.items()
    down = [(root, onset_ns) for (kind, root), onset_ns in firing if kind is IncidentKind.LINK_DOWN]
    for root, onset_ns in sorted(each for each in down if each[0].kind is ObjectKind.LINK):
        if root in named:
            continue
        other = swapped_with(view.graph, root)
        if other is None:
            continue
        ports = (*view.graph.ports(root), *view.graph.ports(other))
        slack_ns = view.config.onset_slack_ns
        on = [each for port in ports for each in view.about(port) if each.kind in LINK]
        on = [each for each in on if each.onset_ns >= onset_ns - slack_ns]
        if not any(each.object in view.graph.ports(other) for each in on):
            continue
        named |= {root, other}
        cause = cause_of(
            IncidentKind.LINK_DOWN,
            root,
            frozenset(each.id for each in on),
            f"{root.name} and {other.name} were away at once, and each end of one leads to an end of the other now",
            links=frozenset({other}),
            headline=_swapped(view, root, other),
            action=_CHECK_CABLING,
        )
        now = {view.graph.link_of[port] for port in ports if port in view.graph.link_of}
        yield Pulled(cause, frozenset({root, other, *now}))


def _undone(view: CorrelationView, links: Mapping[ObjectRef, list[Finding]]) -> Iterable[Pulled]:
    """Cables that were swapped, and both of which are pulled once more: in an hour they are put right."""
    for swap in view.swaps:
        now = cables_now(view.graph, swap)
        away = [ref for ref in sorted(now) if ref in links and _was_away(view, ref, links[ref])]
        if len(away) < TOGETHER_MIN:
            continue
        names = " and ".join(_at_edge(view, ref) for ref in sorted((swap.root, swap.other)))
        cause = cause_of(
            IncidentKind.LINK_DOWN,
            swap.root,
            frozenset(each.id for ref in away for each in links[ref]),
            f"cables of {names} were swapped, and both are pulled again",
            links=frozenset({swap.other, *away}),
            headline=f"swapped cables of {names} pulled again",
        )
        yield Pulled(cause, now | cause.links | {swap.root})


def _swapped(view: CorrelationView, one: ObjectRef, other: ObjectRef) -> str:
    """``cables of node8/mlx5_1 and node8/mlx5_2 swapped``: the ends at hosts, where there are any."""
    ends = [_at_edge(view, ref) for ref in sorted((one, other))]
    return f"cables of {ends[0]} and {ends[1]} swapped"


def _at_edge(view: CorrelationView, ref: ObjectRef) -> str:
    return next((port.name for port in view.graph.ports(ref) if view.graph.is_edge(port.device)), ref.name)


def _was_away(view: CorrelationView, ref: ObjectRef, on: Sequence[Finding]) -> bool:
    return any(each.kind in _AWAY for each in on) and not view.is_firing(IncidentKind.LINK_DEGRADED, [ref])


def _of_hosts(view: CorrelationView, links: Mapping[ObjectRef, list[Finding]]) -> Iterable[Pulled]:
    dead = {death.device for death in deaths(view)}
    hosts: defaultdict[str, list[ObjectRef]] = defaultdict(list)
    for ref in links:
        ends = set(view.graph.ends(ref))
        if dead.isdisjoint(ends):
            for name in filter(view.graph.is_edge, ends):
                hosts[name].append(ref)
    edges = len(view.graph.devices) - len(view.graph.switches)
    for name in sorted(hosts):
        of = {ref.name: ref for ref in hosts[name]}
        for group in at_once((_Outage(each, links[of[each]][0].onset_ns) for each in of), view.config.onset_slack_ns):
            refs = [of[each.id] for each in group]
            if len(refs) < TOGETHER_MIN or are_of_a_switch(view, refs, group[0].onset_ns):
                continue
            within_s = max(view.config.interval_s, (group[-1].onset_ns - group[0].onset_ns) / NS_PER_S)
            if years_by_chance(len(refs), len(view.graph.links(name)), within_s) / max(1, edges) >= YEARS_MIN:
                yield _of_host(view, name, refs, links)


def are_of_a_switch(view: CorrelationView, refs: Collection[ObjectRef], began_ns: int) -> bool:
    """Whether all of several links lead to one switch, which lost links to others when these began to fail."""
    shared = frozenset.intersection(*(frozenset(view.graph.ends(ref)) for ref in refs))
    own, slack_ns = {port for ref in refs for port in view.graph.ports(ref)}, view.config.onset_slack_ns
    return any(
        finding.kind in _AWAY and finding.object not in own and abs(finding.onset_ns - began_ns) <= slack_ns
        for name in filter(view.graph.is_switch, shared)
        for finding in view.on_device(name)
    )


def _of_host(
    view: CorrelationView, name: str, refs: Sequence[ObjectRef], links: Mapping[ObjectRef, list[Finding]]
) -> Pulled:
    on = [each for ref in refs for each in links[ref]]
    flaps = all(any(each.kind is FindingKind.LINK_FLAPPING for each in links[ref]) for ref in refs)
    kind = IncidentKind.LINK_FLAPPING if flaps else IncidentKind.LINK_DOWN
    root = next((ref for ref in refs if any((each, ref) in view.firing for each in OUTAGES)), min(refs))
    one_end = any(len({each.object for each in links[ref]}) < 2 for ref in refs)
    what, share = "flapping" if flaps else "down", f"{len(refs)} of {len(view.graph.links(name))} links of {name}"
    behind = sorted({end for ref in refs for end in view.graph.ends(ref)} - {name})
    where = "lead to different switches" if len(behind) > 1 else f"lead to {behind[0]}"
    parts = "adapters" if len(behind) > 1 else "adapters or ports"
    both = " and ".join(ref.name for ref in sorted(refs))
    cause = cause_of(
        kind,
        root,
        frozenset(each.id for each in on),
        f"{share} failed at once, and {where}: their cables, or what their {parts} have in common",
        hold=HoldPolicy.INTERVAL if one_end and not flaps else None,  # the other end may be dead
        links=frozenset(refs) - {root},
        action=f"Look at what these links of {name} have in common: {parts}, cables; then at each end of them.",
        headline=f"links {both} {what}" if len(refs) == TOGETHER_MIN else f"{share} {what}",
    )
    return Pulled(cause, frozenset(refs))
