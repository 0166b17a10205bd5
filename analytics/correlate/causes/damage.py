"""Links that stay up and begin to show the same: a part of a switch damages them, or their modules are of one lot.

What is wrong with a lot shows by heat, age and load, so not on all of its links at once as with a line card.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from analytics.correlate.cause import Cause, cause_of
from analytics.correlate.causes.parts import LINKS_MIN, NEIGHBOURS_MIN
from analytics.correlate.causes.siblings import LOT, Shared, links_by_lot, links_of_switches, shared
from analytics.correlate.view import CorrelationView
from common.units import to_ns
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectKind, ObjectRef, device

DAMAGED = {FindingKind.LINK_ERRORS: "have errors", FindingKind.LINK_SLOW: "have a low speed"}
GONE = (FindingKind.LINK_DOWN, FindingKind.LINK_FLAPPING)  # a device that restarts damages what it sends, too
BOUNCED = FindingKind.LINK_BOUNCED  # what trains again at a low speed does, too
# As long as for versions: of 24 links three fail by themselves within an hour once in 5,000 years, within a day once
# in eight (``years_by_chance``); and that is for one lot of many.
OF_LOT_NS = to_ns(3600.0)


def propose(view: CorrelationView) -> Iterable[Cause]:
    """Switches and lots of which several links stay up and show the same since the same moment, or within an hour."""
    link_of = view.graph.link_of
    gone = {link_of[each.object] for each in view.of(*GONE) if each.object in link_of}
    damaged: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in view.of(*DAMAGED, BOUNCED):
        link = link_of.get(finding.object)
        if link is not None and link not in gone:
            damaged[link.name].append(finding)
    for kind in DAMAGED:
        onsets_ns = {
            name: min(each.onset_ns for each in found if each.kind is kind)
            for name, found in damaged.items()
            if any(each.kind is kind for each in found)
        }
        for common in _in_common(view, kind, onsets_ns):
            if common.noun == LOT:
                yield _of_lot(view, kind, common, damaged)
            else:
                yield from _of_switch(view, kind, common, damaged)


def _in_common(view: CorrelationView, kind: FindingKind, onsets_ns: Mapping[str, int]) -> Iterator[Shared]:
    """What took each link: a switch at once, a lot at once or within an hour, in which more of it may have failed."""
    if len(onsets_ns) < LINKS_MIN:
        return
    lots = links_by_lot(view, onsets_ns)
    at_once = list(shared(view, onsets_ns, [links_of_switches(view, kind, onsets_ns), lots], LINKS_MIN))
    of_switches = {name for found in at_once if found.noun != LOT for name in found.failed}
    left = {name: at_ns for name, at_ns in onsets_ns.items() if name not in of_switches}
    within = list(shared(view, left, [lots], LINKS_MIN, OF_LOT_NS))
    named = {found.name for found in within}
    yield from (*within, *(found for found in at_once if found.name not in named))


def _of_switch(
    view: CorrelationView, kind: FindingKind, common: Shared, damaged: Mapping[str, Sequence[Finding]]
) -> Iterator[Cause]:
    on = [each for name in common.failed for each in damaged[name] if each.kind is kind]
    ends = {end for each in on for end in view.graph.ends(view.graph.link_of[each.object])}
    if len(ends - {common.name}) < NEIGHBOURS_MIN:
        return
    share = f"{len(common.failed)} of {common.of} links of {common.name} {DAMAGED[kind]}"
    reason = f"{share} since the same moment, {common.chance}: a part that these have in common fails"
    primary = frozenset(each.id for name in common.failed for each in damaged[name] if each.kind in (kind, BOUNCED))
    yield cause_of(
        IncidentKind.LINK_DEGRADED,
        device(common.name),
        primary,
        reason,
        headline=share,
        action=f"Look at what these links of {common.name} have in common before any optic: line card, ASIC, air.",
        part=frozenset(ObjectRef(ObjectKind.LINK, name) for name in common.failed),
    )


def _of_lot(
    view: CorrelationView, kind: FindingKind, common: Shared, damaged: Mapping[str, Sequence[Finding]]
) -> Cause:
    links = [ObjectRef(ObjectKind.LINK, name) for name in common.failed]
    root = view.root(IncidentKind.LINK_DEGRADED, links)
    share = f"{len(links)} of {common.of} links with modules of lot {common.name} {DAMAGED[kind]}"
    return cause_of(
        IncidentKind.LINK_DEGRADED,
        root,
        frozenset(each.id for name in common.failed for each in damaged[name]),
        f"{share} that began within an hour, {common.chance}: that lot is what they have in common",
        links=frozenset(links) - {root},
        headline=share,
        action=f"Have all modules of lot {common.name} exchanged, these links first; keep none of them as a spare.",
    )
