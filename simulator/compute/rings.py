"""Ring all-reduce, one ring a rail: each member forwards only what it has received, so the slowest link limits all.

In a ring of n each member sends 2 (n - 1)/n of the gradient to the next one (Patarasu and Yuan 2009). A member may run
ahead of its predecessor by the send window only (NCCL's buffers and the model's step).
"""

import numpy as np

from common.jit import compiled
from simulator.fabric.routing import Routes
from simulator.fabric.state import Fabric, Flags, Floats, Ints
from simulator.layout import Layout

COMPLETE_BYTES = 64.0  # rounding: sums of a few thousand steps
QUEUE_PAIRS = 4  # NCCL_IB_QPS_PER_CONNECTION: each takes another spine


@compiled
def _release(
    delivered: Floats, backlog: Floats, rows: Ints, released: Floats, offered: Floats, size: float, window: float
) -> bool:
    members, rails, pairs = rows.shape
    received = np.zeros((members, rails))
    complete = True
    for i in range(members):
        for rail in range(rails):
            for pair in range(pairs):
                received[i, rail] += delivered[rows[i, rail, pair]]
            complete = complete and received[i, rail] >= size - COMPLETE_BYTES
    if complete:
        return True
    for i in range(members):
        for rail in range(rails):
            more = min(offered[i, rail], received[i - 1, rail] + window) - released[i, rail]
            if more <= 0.0:
                continue
            released[i, rail] += more
            for pair in range(pairs):
                backlog[rows[i, rail, pair]] += more / pairs
    return False


def nics_of_gpus(layout: Layout, hosts: list[int]) -> Ints:
    """[n, R] NIC of every GPU of ``hosts``: one each, or the same for all where hosts have one."""
    return np.array([[layout.gpus[gpu].nic for gpu in layout.host_gpus[layout.hosts[h]]] for h in hosts])


class Rings:
    """The rings of one job over ``hosts`` (in ring order). Columns are rails, rows the members: [n, R]."""

    def __init__(self, layout: Layout, fabric: Fabric, routes: Routes, hosts: list[int], window: float) -> None:
        self._fabric, self._window = fabric, window
        nics = nics_of_gpus(layout, hosts).tolist()
        members, rails = len(hosts), len(nics[0])
        stride = max(1, len(layout.cores) // QUEUE_PAIRS)
        source, destination, spread = [], [], []
        for i in range(members):
            for rail in range(rails):
                nic = nics[i][rail]
                place = layout.ports[layout.nics[nic].port].number
                for pair in range(QUEUE_PAIRS):
                    source.append(nic)
                    destination.append(nics[(i + 1) % members][rail])
                    spread.append(place + pair * stride)
        self.rows: Ints = fabric.add_flows(np.array(source), np.array(destination), np.array(spread)).reshape(
            members, rails, QUEUE_PAIRS
        )
        routes.route(fabric, self.rows.ravel())
        self._size = 0.0
        self._released: Floats = np.zeros((members, rails))

    def begin(self, gradient: float) -> None:
        """Starts an all-reduce of ``gradient`` bytes a rail."""
        members = self._released.shape[0]
        self._size = 2.0 * (members - 1) / members * gradient
        self._released[:] = 0.0
        self._fabric.flows.delivered[self.rows] = 0.0

    def step(self, ready: Flags) -> bool:
        """Queues what the members ``ready`` [n, R] may send; True once every member has received everything."""
        return self.offer(ready.astype(np.float64))

    def offer(self, computed: Floats) -> bool:
        """The same with the part of its gradient that each member has computed, [n, R] of 0..1."""
        flows, offered = self._fabric.flows, self._size * computed
        return bool(
            _release(flows.delivered, flows.backlog, self.rows, self._released, offered, self._size, self._window)
        )

    def close(self) -> None:
        """Removes the flows."""
        self._fabric.remove_flows(self.rows.ravel())
