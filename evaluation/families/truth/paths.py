"""Who talks to whom, and over which ports: the routes that the cables allow."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import combinations

from analytics.correlate.cluster.graph import Graph
from telemetry.objects import ObjectRef
from telemetry.topology import Job, Role

Pair = tuple[ObjectRef, ObjectRef]


class Paths:
    """Ports by pair of NICs: all shortest ways through the switches, as equal-cost routing uses them.

    Which of them one flow takes depends on a hash, and a failure changes it; all of them are possible.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._between: dict[tuple[str, str], frozenset[ObjectRef]] = {}
        self._distances: dict[str, dict[str, int]] = {}
        self._nics: dict[str, dict[str, ObjectRef]] = {}

    @cached_property
    def servers(self) -> list[str]:
        """Storage servers."""
        return sorted(name for name, each in self.graph.devices.items() if each.role is Role.STORAGE)

    def nics(self, host: str) -> dict[str, ObjectRef]:
        """Ports of a host with a cable, by name."""
        known = self._nics.get(host)
        if known is None:
            ports = (port for link in self.graph.links(host) for port in self.graph.ports(link))
            known = {port.name.partition("/")[2]: port for port in ports if port.device == host}
            self._nics[host] = known
        return known

    def pairs(self, job: Job) -> Iterator[Pair]:
        """NICs that exchange bytes for a job: those of a rail between its hosts, and each with storage."""
        for one, other in combinations(job.nodes, 2):
            there = self.nics(other)
            yield from ((nic, there[name]) for name, nic in self.nics(one).items() if name in there)
        for host in job.nodes:
            yield from self.storage_pairs(host)

    def storage_pairs(self, host: str) -> Iterator[Pair]:
        for server in self.servers:
            yield from ((nic, far) for nic in self.nics(host).values() for far in self.nics(server).values())

    def ports(self, pair: Pair) -> frozenset[ObjectRef]:
        """Ports on every route of a pair, both NICs included; only these two where no way leads through."""
        near, far = (self.graph.peers[nic] for nic in pair)
        return self.between(near.device, far.device) | {*pair, near, far}

    def union(self, pairs: Iterable[Pair]) -> frozenset[ObjectRef]:
        """Ports on the routes of all pairs."""
        return frozenset().union(*(self.ports(pair) for pair in pairs))

    def between(self, one: str, other: str) -> frozenset[ObjectRef]:
        """Ports on the shortest ways between two switches, in both directions."""
        key = (min(one, other), max(one, other))
        if key not in self._between:
            self._between[key] = frozenset(self._on_shortest(*key))
        return self._between[key]

    def _on_shortest(self, one: str, other: str) -> Iterator[ObjectRef]:
        near, far = self._from(one), self._from(other)
        length = near.get(other)
        if length is None:
            return
        for name, at in near.items():
            if at + far[name] != length:
                continue
            for link in self.graph.links(name):
                next_name = next(end for end in self.graph.ends(link) if end != name)
                if near.get(next_name) == at + 1 and at + 1 + far[next_name] == length:
                    yield from self.graph.ports(link)

    def _from(self, switch: str) -> dict[str, int]:
        """Links to every switch that can be reached over switches."""
        known = self._distances.get(switch)
        if known is None:
            known, edge = {switch: 0}, [switch]
            while edge:
                found = [far for name in edge for far in self.graph.neighbours(name) if not self.graph.is_edge(far)]
                edge = sorted({far for far in found if far not in known})
                known.update(dict.fromkeys(edge, max(known.values()) + 1))
            self._distances[switch] = known
        return known
