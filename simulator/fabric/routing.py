"""Routes: up to a spine and down again, over the spines that both leaves reach.

A flow picks its spine by its ``spread`` number modulo the spines that are left. Jobs number their queue pairs so that
those of one leaf spread evenly, as clusters with enhanced ECMP do (Gangidi et al., SIGCOMM 2024); when spines fail, the
modulo changes and loads become uneven, as with any hash.
"""

import numpy as np

from simulator.fabric import parameters as par
from simulator.fabric.state import OUT_OF_SEQUENCE, Fabric, Ints
from simulator.layout import Layout


class Routes:
    """The forwarding tables; ``route`` sets the paths of flows over the links that are up."""

    def __init__(self, layout: Layout) -> None:
        self._leaf_of = [layout.ports[nic.port].device for nic in layout.nics]
        self._port_of = [nic.port for nic in layout.nics]
        self._between = {
            (p.device, p.peer_device): i for i, p in enumerate(layout.ports) if p.nic < 0
        }  # one link between two switches
        self._spines = layout.spines
        self._by_leaves: dict[tuple[str, str], list[tuple[int, int]]] = {}

    def route(self, fabric: Fabric, rows: Ints) -> None:
        """Sets the paths of ``rows``. Bytes on a path that is abandoned are lost and retransmitted."""
        flows, queues = fabric.flows, fabric.queues
        self._by_leaves.clear()
        for row in rows.tolist():
            path = self._path(fabric, int(flows.source[row]), int(flows.destination[row]), int(flows.spread[row]))
            old = flows.path[row]
            if (old == path).all():
                continue
            waiting = flows.inside[row]
            lost = float(waiting.sum())
            if lost > 0.0:
                held = old >= 0
                queues.dropped[old[held]] += waiting[held]
                flows.backlog[row] += lost
                waiting[:] = 0.0
                fabric.events[OUT_OF_SEQUENCE, flows.destination[row]] += 1
            flows.path[row] = path

    def load_background(self, fabric: Fabric, pairs: list[tuple[int, int]]) -> None:
        """Loads the paths of NIC pairs with the priority 0 traffic of one host each."""
        fabric.background[:] = 0.0
        self._by_leaves.clear()
        for spread, (source, destination) in enumerate(pairs):
            path = self._path(fabric, source, destination, spread)
            fabric.background[path[path >= 0]] += par.BACKGROUND_BYTES_PER_S

    def _path(self, fabric: Fabric, source: int, destination: int, spread: int) -> Ints:
        path = np.full(5, -1, dtype=np.int64)
        capacity = fabric.queues.capacity
        first, last = fabric.egress(source), self._port_of[destination]
        if capacity[first] <= 0.0 or capacity[last] <= 0.0:
            return path
        here, there = self._leaf_of[source], self._leaf_of[destination]
        if here != there:
            paths = self._spine_paths(fabric, here, there)
            if not paths:
                return path
            path[1], path[2] = paths[spread % len(paths)]
        path[0], path[3], path[4] = first, last, fabric.receive(destination)
        return path

    def _spine_paths(self, fabric: Fabric, here: str, there: str) -> list[tuple[int, int]]:
        """Uplink and downlink over each spine that works for this pair of leaves."""
        paths = self._by_leaves.get((here, there))
        if paths is None:
            capacity = fabric.queues.capacity
            both = [(self._between[here, spine], self._between[spine, there]) for spine in self._spines]
            paths = [(up, down) for up, down in both if capacity[up] > 0.0 and capacity[down] > 0.0]
            self._by_leaves[here, there] = paths
        return paths
