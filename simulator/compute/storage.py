"""The parallel file system: hosts read from and write to storage targets in 1 MiB RPCs, eight in flight each.

The server schedules bulk transfers (Lustre servers pull writes and push reads), so a target never floods its server's
NIC: what it can serve is shared evenly by the clients with requests.
"""

import numpy as np

from common.jit import compiled
from simulator.fabric.routing import Routes
from simulator.fabric.state import Fabric, Floats, Ints
from simulator.layout import Layout

RPC_BYTES = 2.0**20
RPCS_IN_FLIGHT = 8.0
TARGET_BYTES_PER_S = 10e9
SERVICE_S = 1e-3  # one RPC on an idle target
CAPACITY_BYTES = 700e12
READ, WRITE = 0, 1
WAITING_BYTES = 0.5  # less is rounding


@compiled
def _any_waiting(backlog: Floats, rows: Ints) -> bool:
    for row in rows.flat:
        if backlog[row] > WAITING_BYTES:
            return True
    return False


class Storage:
    """Traffic between H hosts and T targets, [2, H, T] (read, write) in bytes.

    speed: part of a target's rated throughput that it reaches, [T] (a fault lowers it).
    client_speed: bytes per second that a host itself can write, [H] (inf: as fast as the targets).
    """

    def __init__(self, layout: Layout, fabric: Fabric, routes: Routes, rng: np.random.Generator) -> None:
        hosts, targets = len(layout.hosts), len(layout.targets)
        self._fabric, self._rng = fabric, rng
        self.speed, self.client_speed = np.ones(targets), np.full(hosts, np.inf)
        self.rows = _flows(layout, fabric)
        routes.route(fabric, self.rows.ravel())
        self._delivered: Floats = np.zeros((2, hosts, targets))
        self.target_bytes, self.target_seconds = np.zeros((2, targets)), np.zeros((2, targets))
        self.host_bytes = np.zeros((2, hosts))
        self.depth = np.zeros(targets)
        self._busy = False
        self._below_share = np.zeros((hosts, targets), dtype=np.bool_)
        self.used = rng.uniform(0.35, 0.5, targets) * CAPACITY_BYTES

    def request(self, kind: int, hosts: list[int], each: float) -> None:
        """Queues ``each`` bytes for every host, striped over all targets. kind: READ or WRITE."""
        rows = self.rows[kind, hosts]
        self._fabric.flows.backlog[rows] += each / rows.shape[1]

    def cancel(self, hosts: list[int]) -> None:
        """Drops what these hosts still had to transfer."""
        self._fabric.flows.backlog[self.rows[:, hosts]] = 0.0

    def pending(self, kind: int, hosts: list[int]) -> bool:
        """Whether any of these hosts still has data of the kind (READ, WRITE) queued or in flight."""
        rows = self.rows[kind, hosts]
        flows = self._fabric.flows
        return bool((flows.backlog[rows] > 1.0).any() or (flows.inside[rows] > 1.0).any())

    def set_limits(self) -> None:
        """Sets the rate limit of each client in the next step: an even share of what its target can serve."""
        flows = self._fabric.flows
        self._busy = self._busy or _any_waiting(flows.backlog, self.rows)
        if not self._busy:
            return
        waiting = flows.backlog[self.rows] > WAITING_BYTES
        clients = waiting.sum(axis=(0, 1))
        jitter = self._rng.normal(1.0, 0.02, len(self.speed))
        limit = np.broadcast_to(TARGET_BYTES_PER_S * self.speed * jitter / np.maximum(1, clients), waiting.shape).copy()
        own = self.client_speed[:, None] / len(self.speed)
        self._below_share = own < limit[WRITE]
        limit[WRITE] = np.minimum(limit[WRITE], own)
        flows.limit[self.rows] = limit

    def count(self, dt: float) -> None:
        """Counts what the last step delivered, and the service time of RPCs (Little's law: time = queue x dt)."""
        flows = self._fabric.flows
        if not self._busy:
            return
        delivered = flows.delivered[self.rows]
        moved = delivered - self._delivered
        self._delivered = delivered
        queue = np.minimum(RPCS_IN_FLIGHT, np.floor(flows.backlog[self.rows] + moved * 0.5) / RPC_BYTES)
        served = moved[WRITE] / RPC_BYTES * SERVICE_S / dt  # a client below its share never has an RPC waiting
        queue[WRITE] = np.where(self._below_share, served, queue[WRITE])
        self.target_bytes += moved.sum(axis=1)
        self.host_bytes += moved.sum(axis=2)
        self.target_seconds += queue.sum(axis=1) * dt
        self.depth = queue.sum(axis=(0, 1))
        self.used += moved[WRITE].sum(axis=0)
        self._busy = bool(moved.any() or self.depth.any())


def _flows(layout: Layout, fabric: Fabric) -> Ints:
    """Flow rows [2, H, T]; a host talks to target t over rail (host + t) modulo its NICs."""
    hosts = [layout.device_nics[name] for name in layout.hosts]
    servers = [layout.device_nics[target.server] for target in layout.targets]
    client = np.array([[nics[(h + t) % len(nics)] for t in range(len(servers))] for h, nics in enumerate(hosts)])
    server = np.array([[nics[t % len(nics)] for t, nics in enumerate(servers)] for _ in hosts])
    spread = np.add.outer(np.arange(len(hosts)), np.arange(len(servers)))
    reads = fabric.add_flows(server.ravel(), client.ravel(), spread.ravel())
    writes = fabric.add_flows(client.ravel(), server.ravel(), spread.ravel())
    return np.stack([reads, writes]).reshape(2, len(hosts), len(servers))
