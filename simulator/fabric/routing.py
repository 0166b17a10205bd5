"""Routes: up to a switch that both leaves reach and down again, over one of the ways of equal length that work.

A flow picks its way by its ``spread`` number modulo the ways that are left. Jobs number their queue pairs so that
those of one leaf spread evenly, as clusters with enhanced ECMP do (Gangidi et al., SIGCOMM 2024); when switches fail,
the modulo changes and loads become uneven, as with any hash.
"""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from common.jit import compiled
from simulator.fabric import parameters as par
from simulator.fabric.forwarding import Tables, build_tables, find_beside
from simulator.fabric.state import OUT_OF_SEQUENCE, Fabric, Flags, Floats, Flows, Ints
from simulator.layout import Layout


class Routes:
    """The forwarding tables; ``route`` sets the paths of flows over the links that are up."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._tables = build_tables(layout)
        self.daemons_down: Counter[str] = Counter()  # reasons why a spine announces no routes though its links are up

    def route(self, fabric: Fabric, rows: Ints) -> None:
        """Sets the paths of ``rows``. Bytes on a path that is abandoned are lost and retransmitted."""
        capacity = self._announced(fabric)
        whole = _whole(self._tables, capacity)
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        _route(self._tables, capacity, *whole, rows, fabric.flows, fabric.queues.dropped, fabric.events)

    def exchange_cables(self, one: int, other: int) -> None:
        """From now on each of two NICs is at the leaf port that was the other's."""
        tables, nics = self._tables, [one, other]
        for column in (tables.leaf_of, tables.port_of):
            column[nics] = column[nics[::-1]]
        tables.beside[:] = find_beside(self._layout, tables.leaf_of)

    def load_background(self, fabric: Fabric, pairs: Iterable[tuple[int, int]]) -> None:
        """Loads the paths of NIC pairs with the priority 0 traffic of one host each."""
        fabric.background[:] = 0.0
        capacity = self._announced(fabric)
        ends = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
        _load(self._tables, capacity, *_whole(self._tables, capacity), ends, fabric.levels, fabric.background)

    def beside(self, nics: Ints, others: Ints) -> Ints:
        """The NICs of the devices of ``nics`` that reach ``others`` where rails are separate networks, else ``nics``.

        Traffic between rails goes over NVLink to the GPU of the other rail first (Wang et al., How to Build Low-cost
        Networks for Large Language Models, 2023).
        """
        tables = self._tables
        if tables.beside.shape[1] == 0:
            return nics
        found: Ints = tables.beside[nics, tables.leaf_of[others]]
        return np.where(found >= 0, found, nics)

    def _announced(self, fabric: Fabric) -> Floats:
        """[Q] capacity of the queues that routes may use: none between switches where a routing daemon is down."""
        capacity = fabric.queues.capacity
        dead = [name for name, reasons in self.daemons_down.items() if reasons > 0]
        if not dead:
            return capacity
        usable = capacity.copy()
        for i in (i for name in dead for i in self._layout.switch_ports[name]):
            peer = self._layout.ports[i].peer_port
            if peer >= 0:
                usable[[i, peer]] = 0.0
        return usable


@compiled
def _whole(tables: Tables, capacity: Floats) -> tuple[Flags, Flags]:
    """Leaves, and pods, all of whose links to the switches above work."""
    leaves = np.ones(tables.up.shape[0], dtype=np.bool_)
    for leaf in range(leaves.size):
        for slot in range(tables.up.shape[1]):
            if capacity[tables.up[leaf, slot]] <= 0.0 or capacity[tables.down[leaf, slot]] <= 0.0:
                leaves[leaf] = False
    pods = np.ones(tables.rise.shape[0], dtype=np.bool_)
    for pod in range(pods.size):
        for core in range(tables.rise.shape[1]):
            if capacity[tables.rise[pod, core]] <= 0.0 or capacity[tables.fall[pod, core]] <= 0.0:
                pods[pod] = False
    return leaves, pods


@compiled
def _works(tables: Tables, capacity: Floats, here: int, there: int, way: int) -> bool:
    """Whether every link of a way between two leaves is up."""
    slot = way
    if tables.pod_of[here] != tables.pod_of[there]:
        slot = tables.slot_of[way]
        rise, fall = tables.rise[tables.pod_of[here], way], tables.fall[tables.pod_of[there], way]
        if capacity[rise] <= 0.0 or capacity[fall] <= 0.0:
            return False
    works: bool = capacity[tables.up[here, slot]] > 0.0 and capacity[tables.down[there, slot]] > 0.0
    return works


@compiled
def _way(tables: Tables, capacity: Floats, leaves: Flags, pods: Flags, here: int, there: int, spread: int) -> int:
    """Number of the way that ``spread`` picks among those that work, -1 if there is none.

    Within a pod a way is a switch above its leaves; between pods it is a core.
    """
    a, b = tables.pod_of[here], tables.pod_of[there]
    ways = tables.up.shape[1] if a == b else tables.slot_of.size
    if ways == 0:
        return -1
    if leaves[here] and leaves[there] and (a == b or (pods[a] and pods[b])):
        return spread % ways
    count = 0
    for way in range(ways):
        count += _works(tables, capacity, here, there, way)
    if count == 0:
        return -1
    left = spread % count
    for way in range(ways):
        if _works(tables, capacity, here, there, way):
            if left == 0:
                return way
            left -= 1
    return -1


@compiled
def _find(
    tables: Tables, capacity: Floats, leaves: Flags, pods: Flags, source: int, destination: int, spread: int, path: Ints
) -> None:
    """Fills ``path`` [L] with the queues from NIC to NIC; -1 at levels that it skips, and everywhere without a way."""
    path[:] = -1
    ports, nics = tables.ports, tables.port_of.size
    first, last = ports + source, tables.port_of[destination]
    if capacity[first] <= 0.0 or capacity[last] <= 0.0:
        return
    here, there = tables.leaf_of[source], tables.leaf_of[destination]
    if here != there:
        way = _way(tables, capacity, leaves, pods, here, there, spread)
        if way < 0:
            return
        slot = way
        if tables.pod_of[here] != tables.pod_of[there]:
            slot = tables.slot_of[way]
            path[2] = tables.rise[tables.pod_of[here], way]
            path[3] = tables.fall[tables.pod_of[there], way]
        path[1], path[-3] = tables.up[here, slot], tables.down[there, slot]
    path[0], path[-2], path[-1] = first, last, ports + nics + destination


@compiled
def _route(
    tables: Tables,
    capacity: Floats,
    leaves: Flags,
    pods: Flags,
    rows: Ints,
    flows: Flows,
    dropped: Floats,
    events: Floats,
) -> None:
    path = np.empty(flows.path.shape[1], dtype=np.int64)
    for row in rows:
        destination = flows.destination[row]
        _find(tables, capacity, leaves, pods, flows.source[row], destination, flows.spread[row], path)
        old, waiting = flows.path[row], flows.inside[row]
        if (old == path).all():
            continue
        lost = 0.0
        for level in range(path.size):
            lost += waiting[level]
        if lost > 0.0:
            for level in range(path.size):
                if old[level] >= 0:
                    dropped[old[level]] += waiting[level]
            flows.backlog[row] += lost
            waiting[:] = 0.0
            events[OUT_OF_SEQUENCE, destination] += 1
        old[:] = path


@compiled
def _load(
    tables: Tables, capacity: Floats, leaves: Flags, pods: Flags, pairs: Ints, levels: int, background: Floats
) -> None:
    path = np.empty(levels, dtype=np.int64)
    for spread in range(pairs.shape[0]):
        _find(tables, capacity, leaves, pods, pairs[spread, 0], pairs[spread, 1], spread, path)
        for queue in path:
            if queue >= 0:
                background[queue] += par.BACKGROUND_BYTES_PER_S
