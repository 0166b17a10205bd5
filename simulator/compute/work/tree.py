"""Training with a tree all-reduce: two binary trees a rail, each of which reduces and broadcasts half of the gradient.

NCCL prefers trees on many hosts because their latency grows with log n only (Jeaugey, Massively Scale Your Deep
Learning Training with NCCL 2.4, 2019; Sanders, Speck and Träff 2009). Inner members receive from two children at once,
so their leaf ports mark packets in health. The trees are those of NCCL's ``ncclGetBtree`` and ``ncclGetDtree``.
"""

import numpy as np

from common.jit import compiled
from simulator.compute.jobs import Collective, JobRun
from simulator.compute.rings import COMPLETE_BYTES, QUEUE_PAIRS, nics_of_gpus
from simulator.compute.work.base import Resources
from simulator.fabric.state import Flags, Floats, Flows, Ints

TREES = 2


def parents(members: int) -> Ints:
    """[2, n] parent of each member in both trees, -1 for the root.

    >>> parents(4).tolist()
    [[-1, 2, 0, 2], [1, 3, 1, -1]]
    """
    first = [_parent(rank, members) for rank in range(members)]
    if members % 2:  # shifted by one
        second = [_shifted(first[(rank - 1) % members], members) for rank in range(members)]
    else:  # mirrored
        second = [-1 if (up := first[members - 1 - rank]) < 0 else members - 1 - up for rank in range(members)]
    return np.array([first, second])


def _shifted(parent: int, members: int) -> int:
    return -1 if parent < 0 else (parent + 1) % members


def _parent(rank: int, members: int) -> int:
    """In NCCL's binary tree, in which leaves and inner members alternate."""
    if rank == 0:
        return -1
    bit = rank & -rank
    up = (rank ^ bit) | (bit << 1)
    return up if up < members else rank ^ bit


@compiled
def _release(
    flows: Flows, rows: Ints, parent: Ints, released: Floats, ready: Flags, size: float, window: float
) -> bool:
    """rows: [2 (up, down), 2 trees, n, R, pairs]. parent: [2, n]. released: [2, 2, n, R]. True once all is received."""
    trees, members, rails, pairs = rows.shape[1:]
    complete = True
    for tree in range(trees):
        for rail in range(rails):
            reduced = np.full(members, size)  # bytes that all children have sent up
            arrived = np.zeros((2, members))  # by the direction, on the edge to the parent
            for i in range(members):
                if parent[tree, i] < 0:
                    continue
                for way in range(2):
                    for pair in range(pairs):
                        arrived[way, i] += flows.delivered[rows[way, tree, i, rail, pair]]
                    complete = complete and arrived[way, i] >= size - COMPLETE_BYTES
                up = parent[tree, i]
                reduced[up] = min(reduced[up], arrived[0, i] + window)
            for i in range(members):
                up = parent[tree, i]
                if up < 0:
                    continue
                at_root = parent[tree, up] < 0
                below = reduced[i] if ready[i, rail] else 0.0
                above = (reduced[up] if ready[up, rail] else 0.0) if at_root else arrived[1, up] + window
                for way, allowed in enumerate((below, above)):
                    more = min(size, allowed) - released[way, tree, i, rail]
                    if more <= 0.0:
                        continue
                    released[way, tree, i, rail] += more
                    for pair in range(pairs):
                        flows.backlog[rows[way, tree, i, rail, pair]] += more / pairs
    return complete


class Trees:
    """The trees of one job over ``hosts`` (in rank order). A member may run ahead by the send window only."""

    def __init__(self, resources: Resources, hosts: list[int]) -> None:
        layout, self._fabric, self._window = resources.layout, resources.fabric, resources.window
        nics = nics_of_gpus(layout, hosts)
        members, rails = nics.shape
        self.parent = parents(members)
        pairs = QUEUE_PAIRS // TREES
        stride = max(1, len(layout.cores) // pairs)
        self.rows: Ints = np.full((2, TREES, members, rails, pairs), -1, dtype=np.int64)
        for tree in range(TREES):
            children = np.flatnonzero(self.parent[tree] >= 0)
            low, high = nics[children], nics[self.parent[tree, children]]
            place = np.array([layout.ports[layout.nics[nic].port].number for nic in low.ravel()], dtype=np.int64)
            spread = place.reshape(low.shape)[..., None] + np.arange(pairs) * stride + tree
            ends = [np.repeat(low, pairs), np.repeat(high, pairs)]
            for way, (source, destination) in enumerate((ends, ends[::-1])):
                found = self._fabric.add_flows(source, destination, spread.ravel())
                self.rows[way, tree, children] = found.reshape(spread.shape)
        self._used: Ints = self.rows[self.rows >= 0]
        resources.routes.route(self._fabric, self._used)
        self._released: Floats = np.zeros(self.rows.shape[:-1])
        self._size = 0.0

    def begin(self, gradient: float) -> None:
        """Starts an all-reduce of ``gradient`` bytes a rail, half of it over each tree."""
        self._size = gradient / TREES
        self._released[:] = 0.0
        self._fabric.flows.delivered[self._used] = 0.0

    def step(self, ready: Flags) -> bool:
        """Queues what the members ``ready`` [n, R] may send; True once every member has received everything."""
        return bool(
            _release(self._fabric.flows, self.rows, self.parent, self._released, ready, self._size, self._window)
        )

    def close(self) -> None:
        """Removes the flows."""
        self._fabric.remove_flows(self._used)


class TreeTraining(JobRun):
    """Data-parallel training that reduces over trees."""

    flows_per_gpu = 2 * QUEUE_PAIRS

    def _connect(self) -> Collective:
        return Trees(self._resources, self.members.hosts)
