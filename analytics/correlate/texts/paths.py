"""What is left between a leaf and the rest of the fabric where links, sessions or switches are lost."""

from collections.abc import Mapping
from dataclasses import dataclass

from analytics.correlate.sessions import other_ends
from analytics.correlate.tracks import Track
from analytics.correlate.view import CorrelationView
from telemetry.findings import FindingKind
from telemetry.objects import ObjectKind


@dataclass(frozen=True, slots=True)
class Paths:
    """left: of the ``of`` links of a leaf to other switches, those that are up and have their session."""

    left: int
    of: int


def paths(view: CorrelationView) -> Mapping[str, Paths]:
    """By leaf that has lost one, whichever incident that is."""
    return view.once(_paths)


def paths_left(view: CorrelationView, track: Track) -> str:
    """``3 of 4 paths of leaf1 left, 1 job behind it``; '' where it is over, or of no switch or link of two."""
    root = track.cause.root if track.primary else None
    if root is None or root.kind not in (ObjectKind.LINK, ObjectKind.DEVICE):
        return ""
    ends = view.graph.ends(root) if root.kind is ObjectKind.LINK else (root.name,)
    if not all(map(view.graph.is_switch, ends)):
        return ""
    names = {*ends, *view.graph.neighbours(root.name)}
    found = {name: known for name in sorted(names) if (known := paths(view).get(name))}
    if not found:
        return ""
    least = min(found.values(), key=lambda known: (known.left, -known.of))
    jobs = len(frozenset[str]().union(*map(view.jobs.behind, found)))
    behind = f"{jobs or 'no'} job{'' if jobs == 1 else 's'} behind {'it' if len(found) == 1 else 'them'}"
    leaves = next(iter(found)) if len(found) == 1 else f"each of {len(found)} leaves"
    alike = len(set(found.values())) == 1
    return f"{'' if alike else 'at least '}{least.left or 'none'} of {least.of} paths of {leaves} left, {behind}"


def _paths(view: CorrelationView) -> Mapping[str, Paths]:
    graph = view.graph
    dark = {graph.link_of[each.object] for each in view.of(FindingKind.LINK_DOWN) if each.object in graph.link_of}
    for finding in view.of(FindingKind.BGP_SESSION):
        ends = other_ends(view)[finding.id]
        dark |= {link for link in graph.links(finding.object.device) if not ends.isdisjoint(graph.ends(link))}
    leaves = {name for link in dark for name in graph.ends(link) if any(map(graph.is_edge, graph.neighbours(name)))}
    found: dict[str, Paths] = {}
    for leaf in filter(graph.is_switch, leaves):
        up = [link for link in graph.links(leaf) if all(map(graph.is_switch, graph.ends(link)))]
        if not dark.isdisjoint(up):
            found[leaf] = Paths(sum(link not in dark for link in up), len(up))
    return found
