"""Who sent to whom, and over which ports: what the flows of a cluster did, not what its cables would allow."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from analytics.correlate.cluster.graph import Graph
from evaluation.families.counterfactual.log import Route
from simulator.layout import Layout
from telemetry.objects import ObjectRef, port
from telemetry.topology import Job, Role

Pair = tuple[ObjectRef, ObjectRef]
Ports = frozenset[ObjectRef]


class Traffic:
    """Ports by pair of NICs, sender first: those of all ways that its bytes took, both ends of each link included."""

    def __init__(self, graph: Graph, ways: Mapping[Pair, Ports]) -> None:
        self.graph, self._ways = graph, ways

    @cached_property
    def servers(self) -> list[str]:
        """Storage servers."""
        return sorted(name for name, each in self.graph.devices.items() if each.role is Role.STORAGE)

    @cached_property
    def _of_host(self) -> dict[str, list[Pair]]:
        found: dict[str, list[Pair]] = {}
        for pair in self._ways:
            for name in {nic.device for nic in pair}:
                found.setdefault(name, []).append(pair)
        return found

    def nics(self, device: str) -> set[ObjectRef]:
        """Ports of a host or server with a cable."""
        ports = (port for link in self.graph.links(device) for port in self.graph.ports(link))
        return {port for port in ports if port.device == device}

    def crossing(self, ports: Ports) -> tuple[Pair, ...]:
        """Pairs whose bytes went over one of these ports."""
        return tuple(pair for pair, way in self._ways.items() if not way.isdisjoint(ports))

    def pairs(self, job: Job) -> Iterator[Pair]:
        """Pairs that sent for a job: between its hosts, and between them and storage."""
        ends = {*job.nodes, *self.servers}
        own = dict.fromkeys(pair for host in job.nodes for pair in self._of_host.get(host, ()))
        return (pair for pair in own if all(nic.device in ends for nic in pair))

    def union(self, pairs: Iterable[Pair]) -> Ports:
        """Ports on the ways of all pairs."""
        return frozenset().union(*(self._ways[pair] for pair in pairs))


def ways(layout: Layout, graph: Graph, routes: Iterable[Route]) -> dict[Pair, Ports]:
    """Ports by pair of NICs, of ways that were used. A port stands for both directions of its link."""
    nics = [port(nic.device, nic.name) for nic in layout.nics]
    queues = [*(port(each.device, each.name) for each in layout.ports), *nics, *nics]
    found: dict[Pair, set[ObjectRef]] = {}
    for route in routes:
        on_way = {queues[queue] for queue in route.path if queue >= 0}
        on_way |= {graph.peers[each] for each in on_way if each in graph.peers}
        found.setdefault((nics[route.source], nics[route.destination]), set()).update(on_way)
    return {pair: frozenset(ports) for pair, ports in found.items()}
