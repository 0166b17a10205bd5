"""The fabric's state as arrays: queues of every port, and the flows that fill them.

Queue ids: 0..P-1 egress of switch ports, P..P+N-1 egress of NICs, P+N..P+2N-1 receive buffers of NICs.
A path has a level for each hop up, each hop down, and the receive buffer: in two tiers of switches NIC, leaf up, spine
down, leaf down, receive buffer.
A link is named by the queue that sends into it; ``at[q]`` is the port at its far end (P + n for NIC n).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.fabric import parameters as par
from simulator.layout import Layout

CNP_SENT, CNP_HANDLED, CE_RECEIVED, OUT_OF_SEQUENCE, SEQUENCE_ERRORS = range(5)  # rows of Fabric.events
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Queues(NamedTuple):
    """One row a queue id. Rates in bytes per second, amounts in bytes; the last block are counters and peaks."""

    rated: Floats
    capacity: Floats  # now; 0 while down
    paused: Floats  # part of the step that the far end stops this queue, warm start of the next step
    content: Floats
    burst: Floats  # mean of the queue that bursts make below full load
    ingress: Floats  # bytes that came over this link and wait in the device at its far end
    switch_behind: Ints  # switch at the far end of the link, -1 a NIC
    at: Ints
    loss: Floats  # part of the packets that the far end discards for bad FCS
    held: Floats  # 1 where the far end pauses this queue for ever (a deadlock)
    tail_drop: Floats  # bytes above which this queue drops instead of pausing its senders; 0: lossless

    sent: Floats
    marked: Floats
    pause_s: Floats
    pause_frames: Floats
    pause_cycles: Floats
    dropped: Floats
    lost: Floats  # packets with bad FCS at the far end
    peak: Floats
    ingress_peak: Floats
    headroom_peak: Floats


class Flows(NamedTuple):
    """One row a flow (a queue pair, or a bundle of them); rows are reused. Amounts in bytes, rates in bytes/s."""

    used: Flags
    source: Ints
    destination: Ints
    spread: Ints  # picks the spine
    path: Ints  # [F, L] queue ids, -1 where a level is skipped; path[f, 0] = -1: no route
    backlog: Floats
    rate: Floats
    floor: Floats
    limit: Floats  # what the application lets it send
    last_active: Ints  # step
    inside: Floats  # [F, L] bytes waiting at each hop
    in_flight: Flags  # whether more than half a byte is inside
    delivered: Floats


class Fabric:
    """All queues and flows, and what the NICs counted. ``routing`` fills the paths, ``kernel`` moves the bytes."""

    def __init__(self, layout: Layout, flows_max: int) -> None:
        self.layout = layout
        self.ports, self.nics = len(layout.ports), len(layout.nics)
        self.queues = _queues(layout)
        self.levels = 2 * layout.tiers + 1
        self.flows = _flows(flows_max, self.levels)
        self._free = list(range(flows_max - 1, -1, -1))
        self.spread_by: Callable[[Ints], Ints] | None = (
            None  # of the ``spread`` of new flows; None: spread as asked for
        )
        n = self.nics
        self.events = np.zeros((5, n))  # by NIC
        self.timeouts = np.zeros(n)
        self.background = np.zeros(len(self.queues.rated))  # bytes per second of priority 0, by queue
        self.background_sent = np.zeros(len(self.queues.rated))

    def egress(self, nic: int) -> int:
        """Queue id of a NIC's egress queue."""
        return self.ports + nic

    def receive(self, nic: int) -> int:
        """Queue id of a NIC's receive buffer."""
        return self.ports + self.nics + nic

    def exchange_cables(self, one: int, other: int) -> None:
        """Plugs each of two NICs into the leaf port that was the other's."""
        queues = self.queues
        ends = [self.egress(one), self.egress(other)]
        ports = queues.at[ends]
        queues.at[ends], queues.at[ports] = ports[::-1], ends[::-1]
        queues.switch_behind[ends] = queues.switch_behind[ends[::-1]]

    def add_flows(self, source: Ints, destination: Ints, spread: Ints, floor: float = par.MIN_RATE_BYTES_PER_S) -> Ints:
        """Rows of new, idle flows without a path; the caller routes them."""
        flows = self.flows
        if len(self._free) < len(source):
            raise ValueError(f"flow table: {len(source)} more rows do not fit into {len(flows.used)}")
        rows = np.array([self._free.pop() for _ in range(len(source))], dtype=np.int64)
        flows.used[rows] = True
        flows.source[rows], flows.destination[rows] = source, destination
        flows.spread[rows] = spread if self.spread_by is None else self.spread_by(spread)
        flows.floor[rows] = floor
        flows.limit[rows] = np.inf
        flows.last_active[rows] = -1_000_000
        for column in (flows.backlog, flows.delivered, flows.inside, flows.in_flight):
            column[rows] = 0.0
        return rows

    def remove_flows(self, rows: Ints) -> None:
        """Removes flows; their bytes in queues count as dropped there."""
        flows = self.flows
        for level in range(self.levels):
            at = flows.path[rows, level]
            np.add.at(self.queues.dropped, at[at >= 0], flows.inside[rows, level][at >= 0])
        flows.used[rows] = False
        flows.backlog[rows] = 0.0
        flows.inside[rows] = 0.0
        flows.path[rows] = -1
        self._free.extend(int(row) for row in rows[::-1])


def _queues(layout: Layout) -> Queues:
    ports, nics = len(layout.ports), len(layout.nics)
    n = ports + 2 * nics
    rated = np.empty(n)
    rated[:ports] = [p.bits_per_second / 8 for p in layout.ports]
    rated[ports : ports + nics] = [k.bits_per_second / 8 for k in layout.nics]
    rated[ports + nics :] = par.PCIE_BYTES_PER_S
    switch = {name: i for i, name in enumerate(layout.switches)}
    at, behind = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    for i, p in enumerate(layout.ports):
        at[i] = ports + p.nic if p.nic >= 0 else p.peer_port
        behind[i] = -1 if p.nic >= 0 else switch[p.peer_device]
    for i, k in enumerate(layout.nics):
        at[ports + i] = k.port
        behind[ports + i] = switch[layout.ports[k.port].device]
    zeros = {name: np.zeros(n) for name in Queues._fields if name not in ("rated", "capacity", "switch_behind", "at")}
    return Queues(rated=rated, capacity=rated.copy(), switch_behind=behind, at=at, **zeros)


def _flows(rows: int, levels: int) -> Flows:
    def whole(fill: int = 0) -> Ints:
        return np.full(rows, fill, dtype=np.int64)

    return Flows(
        used=np.zeros(rows, dtype=np.bool_),
        source=whole(),
        destination=whole(),
        spread=whole(),
        path=np.full((rows, levels), -1, dtype=np.int64),
        backlog=np.zeros(rows),
        rate=np.zeros(rows),
        floor=np.zeros(rows),
        limit=np.zeros(rows),
        last_active=whole(-1_000_000),
        inside=np.zeros((rows, levels)),
        in_flight=np.zeros(rows, dtype=np.bool_),
        delivered=np.zeros(rows),
    )
