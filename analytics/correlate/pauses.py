"""Where back-pressure comes from: the walk along pauses, per priority, towards the congested port.

A port that *receives* pause frames must stop sending: its **peer** is congested. So the pause edge of a port P leads
from P to the paused ports of the peer's device, because a switch pauses its senders when one of its own egress ports
cannot send. The walk ends where nothing pauses further (direction as in IEEE 802.1Qbb, seen from the port that counts):

- at a host: the host does not accept its traffic. Root: the leaf port P that it pauses.
- at a switch none of whose egress ports is paused: more comes in than one of its ports can send (incast).
- nowhere: the pauses form a cycle.

A port that stands still waits for ports that stand still, where there are any: what sends now and then would let it go
on now and then. So a host that pauses a leaf for a moment is no way out of a deadlock. Of a port that has nothing to
send nobody can see that it stands still. It does where no other one of its device may be paused all the time.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import chain

import rustworkx as rx

from analytics.correlate.cluster.graph import Graph
from telemetry.findings import Finding, FindingKind
from telemetry.objects import ObjectRef

_PRIORITY = re.compile(r'priority="(\d)"')
_ALWAYS = 0.99  # of the time, as a storm is judged (``pause_storm``)
# Of a port that stands still is known that it is paused before any pauses of it are unusual for long enough.
_RECEIVED = frozenset({FindingKind.PFC_PAUSE_RECEIVED, FindingKind.PAUSE_STORM})
Paused = tuple[ObjectRef, str]  # a port that must not send, and the priority ("" where it is not known)


class End(Enum):
    EDGE = "edge"  # a host pauses
    SWITCH = "switch"  # a switch pauses and is not paused
    CYCLE = "cycle"


@dataclass(frozen=True, slots=True)
class Origin:
    """One end of the walk: the last paused port, its peer's device, and all findings and devices that lead there.

    ports: the last paused port, or all those of a cycle.
    """

    end: End
    port: ObjectRef
    ports: frozenset[ObjectRef]
    device: str
    findings: frozenset[str]
    devices: frozenset[str]


def origins(
    findings: Iterable[Finding], graph: Graph, standing: Set[ObjectRef] = frozenset[ObjectRef]()
) -> list[Origin]:
    """Every origin of back-pressure, by port. findings: those of pauses, in a fixed order. standing: ports that are
    paused all the time and send nothing."""
    paused = _paused(findings, graph)
    keys = sorted(paused, key=_by_name)
    by_device: defaultdict[tuple[str, str], list[Paused]] = defaultdict(list)
    sides = {port: _Sides.of(port, graph) for port, _ in keys}
    for port, priority in keys:
        by_device[sides[port].device, priority].append((port, priority))
    always = {key for key in keys if max(map(_share_at_most, paused[key])) >= _ALWAYS} if standing else set[Paused]()
    standing = _all_standing(keys, by_device, sides, standing, always)
    leads = {key: onward for key in keys if (onward := list(_towards(key, by_device, sides, standing, always)))}
    walked = leads.keys() | set(chain.from_iterable(leads.values()))
    found = [_alone(key, sides[key[0]], paused[key]) for key in keys if key not in walked]
    walk: rx.PyDiGraph[Paused, None] = rx.PyDiGraph()
    index = dict(zip(ordered := sorted(walked, key=_by_name), walk.add_nodes_from(ordered), strict=True))
    walk.add_edges_from_no_data([(index[key], index[towards]) for key in leads for towards in leads[key]])
    ends = [_end(walk, component, graph) for component in rx.strongly_connected_components(walk)]
    found += [_origin(walk, end, paused, graph) for end in ends if end is not None]
    return sorted(found, key=lambda origin: (*_by_name((origin.port, origin.end.value)), sorted(origin.findings)))


def _alone(key: Paused, sides: "_Sides", about: Iterable[Finding]) -> Origin:
    """A paused port that no other one leads to or from, as most of many hosts: the walk ends where it began."""
    end = End.SWITCH if sides.to_switch else End.EDGE
    devices = frozenset({sides.device, sides.peer}) if sides.peer else frozenset({sides.device})
    return Origin(end, key[0], frozenset({key[0]}), sides.peer, frozenset([each.id for each in about]), devices)


def _by_name(key: Paused) -> tuple[str, str, str]:
    """The order of ports and priorities, without a call of Python for each comparison."""
    port, priority = key
    return port.kind, port.name, priority


def _paused(findings: Iterable[Finding], graph: Graph) -> dict[Paused, list[Finding]]:
    """Ports that must not send, by findings about either end of the link."""
    ports: list[tuple[ObjectRef, Finding]] = []
    for finding in findings:
        if finding.kind in _RECEIVED:
            ports.append((finding.object, finding))
        elif peer := graph.peers.get(finding.object):
            ports.append((peer, finding))
    priorities = {finding.id: _priorities(finding) for _, finding in ports}
    if not all(priorities.values()):  # a finding without a priority may be about any: keep them together
        priorities = dict.fromkeys(priorities, ("",))
    paused: defaultdict[Paused, list[Finding]] = defaultdict(list)
    for port, finding in ports:
        for priority in priorities[finding.id]:
            paused[port, priority].append(finding)
    return paused


def _priorities(finding: Finding) -> tuple[str, ...]:
    return tuple(sorted({match for evidence in finding.evidence for match in _named(evidence.series)}))


@lru_cache(16_384)
def _named(series: str) -> tuple[str, ...]:
    """Priorities in the name of a series, which a finding has for as long as it is active."""
    return tuple(_PRIORITY.findall(series))


@dataclass(frozen=True, slots=True)
class _Sides:
    """The devices of a port and of its peer ("" without one), which of them are switches, and ``Graph.faces_edge``.

    Looked up once for each port: in a storm every port is compared with all others of its peer's device.
    """

    device: str
    peer: str
    of_switch: bool
    to_switch: bool
    faces_edge: bool

    @classmethod
    def of(cls, port: ObjectRef, graph: Graph) -> "_Sides":
        peer = graph.peers.get(port)
        there = peer.device if peer else ""
        here = port.device
        of_switch = graph.is_switch(here)
        return cls(here, there, of_switch, graph.is_switch(there), of_switch and (not peer or graph.is_edge(there)))


def _share_at_most(pause: Finding) -> float:
    """The share of time that a pause took, or can have taken where frames alone are counted; 1 if not known."""
    return max((each.value for each in pause.evidence if each.unit.startswith("ratio")), default=1.0)


def _all_standing(
    keys: Sequence[Paused],
    by_device: Mapping[tuple[str, str], list[Paused]],
    sides: Mapping[ObjectRef, _Sides],
    standing: Set[ObjectRef],
    always: Set[Paused],
) -> Set[ObjectRef]:
    """Ports that are known to stand still, and those that must: nothing else of their device can hold such a port up.

    always: ports that may be paused all the time.
    """
    found, left = set(standing), [key for key in keys if key[0] in standing]
    while left:
        onward = _onward(left.pop(), by_device, sides)
        holding = [other for other in onward if other in always]
        if len(holding) == 1 and found.isdisjoint(port for port, _ in onward):
            found.add(holding[0][0])
            left += holding
    return found


def _onward(
    key: Paused, by_device: Mapping[tuple[str, str], list[Paused]], sides: Mapping[ObjectRef, _Sides]
) -> list[Paused]:
    """The paused ports of the switch that pauses ``key``, except back to where the traffic came from."""
    port, priority = key
    here = sides[port]
    if not here.to_switch:
        return []
    return [other for other in by_device.get((here.peer, priority), ()) if sides[other[0]].peer != here.device]


def _towards(
    key: Paused,
    by_device: Mapping[tuple[str, str], list[Paused]],
    sides: Mapping[ObjectRef, _Sides],
    standing: Set[ObjectRef],
    always: Set[Paused],
) -> Iterable[Paused]:
    """Where the walk goes on from ``key``.

    Traffic that reaches a leaf from the fabric leaves it towards a host, so host-facing ports come first; ports back
    into the fabric count only without them, for a loop. What stands still waits for what stands still, or may.
    """
    port = key[0]
    onward = _onward(key, by_device, sides)
    if port in standing:
        onward = (
            [other for other in onward if other[0] in standing]
            or [other for other in onward if other in always]
            or onward
        )
    down = [other for other in onward if sides[other[0]].faces_edge] if sides[port].of_switch else []
    return down or onward


def _end(walk: "rx.PyDiGraph[Paused, None]", component: list[int], graph: Graph) -> tuple[End, list[int]] | None:
    """Which end a strongly connected component of the walk is; None where the walk continues."""
    inside = set(component)
    if any(after not in inside for node in component for after in walk.successor_indices(node)):
        return None
    if len(component) > 1:
        return End.CYCLE, sorted(component)
    peer = graph.peers.get(walk[component[0]][0])
    at_switch = peer is not None and graph.is_switch(peer.device)
    return (End.SWITCH if at_switch else End.EDGE), component


def _origin(
    walk: "rx.PyDiGraph[Paused, None]", end: tuple[End, list[int]], paused: dict[Paused, list[Finding]], graph: Graph
) -> Origin:
    kind, component = end
    behind = set(component)
    if walk.in_degree(component[0]):
        behind |= rx.ancestors(walk, component[0])
    ports = [walk[node] for node in behind]
    first = component[0]
    if len(component) > 1:
        first = min(component, key=lambda node: (min(f.onset_ns for f in paused[walk[node]]), walk[node]))
    port = walk[first][0]
    peer = graph.peers.get(port)
    devices = {port.device for port, _ in ports} | ({peer.device} if peer else set())
    findings = {finding.id for key in ports for finding in paused[key]}
    ends = frozenset(walk[node][0] for node in component)
    return Origin(kind, port, ends, peer.device if peer else "", frozenset(findings), frozenset(devices))
