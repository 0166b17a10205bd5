"""What is left between a switch and the tier above it where links, sessions or switches are lost."""

from collections.abc import Mapping
from dataclasses import dataclass

from analytics.correlate.cluster.graph import Graph
from analytics.correlate.sessions import other_ends
from analytics.correlate.tracks import Track
from analytics.correlate.view import CorrelationView
from telemetry.findings import FindingKind
from telemetry.kinds import incident_kinds
from telemetry.objects import ObjectKind

_LEAF = 1


@dataclass(frozen=True, slots=True)
class Paths:
    """left: of the ``of`` links of a switch to the tier above, those that are up and have their session. jobs: that
    depend on it. tier: 1 of a leaf."""

    left: int
    of: int
    jobs: frozenset[str]
    tier: int


def paths(view: CorrelationView) -> Mapping[str, Paths]:
    """By switch that has lost one, whichever incident that is."""
    return view.once(_paths)


def paths_left(view: CorrelationView, track: Track) -> str:
    """``3 of 4 paths of leaf1 left, 1 job behind it``; '' where it is over, or of no switch or link of two."""
    found = _of(view, track)
    if not found:
        return ""
    least = min(found.values(), key=lambda known: (known.left, -known.of))
    jobs = len(frozenset[str]().union(*(known.jobs for known in found.values())))
    behind = f"{jobs or 'no'} job{'' if jobs == 1 else 's'} behind {'it' if len(found) == 1 else 'them'}"
    noun = "leaves" if all(known.tier == _LEAF for known in found.values()) else "switches"
    switches = next(iter(found)) if len(found) == 1 else f"each of {len(found)} {noun}"
    alike = len({(known.left, known.of) for known in found.values()}) == 1
    return f"{'' if alike else 'at least '}{least.left or 'none'} of {least.of} paths of {switches} left, {behind}"


def is_spare(view: CorrelationView, track: Track) -> bool:
    """Whether nobody depends on what is lost, or bad, between switches: each of them below it has another path, and no
    job is behind them."""
    if not view.cluster.nodes.jobs_known or not incident_kinds()[track.cause.kind].disturbs_fabric:
        return False
    if track.cause.root.kind is ObjectKind.PORT or any(not known.left for known in _of(view, track).values()):
        return False
    below = _below(view, track)
    return bool(below) and not any(below.values())


def jobs_behind(view: CorrelationView, track: Track) -> str:
    """``2 jobs behind leaf1``: behind what is wrong between switches and takes no path away; '' where it is over, of no
    switch or link of two, or nobody says which jobs run."""
    below = _below(view, track, apart=1) if track.primary and view.cluster.nodes.jobs_known else {}
    if not below:
        return ""
    jobs = len(frozenset[str]().union(*below.values()))
    where = next(iter(below)) if len(below) == 1 else f"{len(below)} switches"
    return f"{jobs or 'no'} job{'' if jobs == 1 else 's'} behind {where}"


def _below(view: CorrelationView, track: Track, apart: int = 0) -> Mapping[str, frozenset[str]]:
    """The jobs behind each switch at the lower end of the links between switches that a cause concerns; empty where
    they lead to something else too, or their ends are not so many tiers apart."""
    graph, root = view.graph, track.cause.root
    root = graph.link_of.get(root, root)
    links = sorted(track.cause.part) or ([root] if root.kind is ObjectKind.LINK else graph.links(root.name))
    ends = [graph.ends(link) for link in links]
    if not ends or not all(len(each) > 1 and all(map(graph.is_switch, each)) for each in ends):
        return {}
    tier = _Tiers(graph)
    if any(abs(tier[a] - tier[b]) < apart for a, b in ends):
        return {}
    lower = sorted({min(each, key=tier.__getitem__) for each in ends})
    return {name: _jobs(view, name, tier) for name in lower}


def _of(view: CorrelationView, track: Track) -> Mapping[str, Paths]:
    """Those of the switches that the root of an incident connects; none of a switch with hosts of its own."""
    root = track.cause.root if track.primary else None
    if root is None or root.kind not in (ObjectKind.LINK, ObjectKind.DEVICE):
        return {}
    ends = view.graph.ends(root) if root.kind is ObjectKind.LINK else (root.name,)
    if not all(map(view.graph.is_switch, ends)):
        return {}
    names = {*ends, *view.graph.neighbours(root.name)}
    found = {name: known for name in sorted(names) if (known := paths(view).get(name))}
    below = {name: known for name, known in found.items() if known.left or name != root.name}
    return below or found  # what is left of a dead switch itself says nothing


def _paths(view: CorrelationView) -> Mapping[str, Paths]:
    graph = view.graph
    dark = {graph.link_of[each.object] for each in view.of(FindingKind.LINK_DOWN) if each.object in graph.link_of}
    for finding in view.of(FindingKind.BGP_SESSION):
        ends = other_ends(view)[finding.id]
        dark |= {link for link in graph.links(finding.object.device) if not ends.isdisjoint(graph.ends(link))}
    tier = _Tiers(graph)
    within = [graph.ends(link) for link in dark if all(map(graph.is_switch, graph.ends(link)))]
    found: dict[str, Paths] = {}
    for name in sorted({min(ends, key=tier.__getitem__) for ends in within}):
        up = [link for link in graph.links(name) if max(map(tier.__getitem__, graph.ends(link))) > tier[name]]
        if not dark.isdisjoint(up):
            found[name] = Paths(sum(link not in dark for link in up), len(up), _jobs(view, name, tier), tier[name])
    return found


def _jobs(view: CorrelationView, name: str, tier: "_Tiers") -> frozenset[str]:
    """Jobs of the hosts below a switch, and those that mount a file system of a storage server there."""
    graph = view.graph
    leaves = [name] if tier[name] == _LEAF else sorted(each for each in graph.neighbours(name) if tier[each] == _LEAF)
    targets = (graph.targets_of(server) for leaf in leaves for server in sorted(graph.neighbours(leaf)))
    using = (view.jobs.using(target) for of_server in targets for target in of_server)
    return frozenset[str]().union(*map(view.jobs.behind, leaves), *using)


class _Tiers(dict[str, int]):
    """0 of a host, 1 of a leaf, which hosts are connected to, 2 of what is connected to leaves, 3 above."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __missing__(self, name: str) -> int:
        graph, above = self._graph, 0
        near = graph.neighbours(name) if graph.is_switch(name) else set[str]()
        if near:
            above = 1 if any(map(graph.is_edge, near)) else 2 if any(map(self._is_leaf, near)) else 3
        self[name] = above
        return above

    def _is_leaf(self, name: str) -> bool:
        return self._graph.is_switch(name) and any(map(self._graph.is_edge, self._graph.neighbours(name)))
