"""The parallel file system: hosts read from and write to storage targets in 1 MiB RPCs, eight in flight each.

The server schedules bulk transfers (Lustre servers pull writes and push reads), so a target never floods its server's
NIC: what it can serve is shared evenly by the clients with requests.
"""

from collections.abc import Callable

import numpy as np

from common.jit import compiled
from simulator.fabric.routing import Routes
from simulator.fabric.state import Fabric, Flags, Floats, Ints
from simulator.layout import Layout

RPC_BYTES = 2.0**20
RPCS_IN_FLIGHT = 8.0
TARGET_BYTES_PER_S = 10e9
SERVICE_S = 1e-3  # one RPC on an idle target
CAPACITY_BYTES = 700e12
READ, WRITE = 0, 1
WIDE_HOSTS, STRIPES = 1024, 16  # assumption: more hosts stripe their files over 16 targets each, fewer over all
WAITING_BYTES = 0.5  # less is rounding


@compiled
def _any_waiting(backlog: Floats, rows: Ints) -> bool:
    for row in rows.flat:  # noqa: SIM110  # what is compiled has no any()
        if backlog[row] > WAITING_BYTES:
            return True
    return False


class Storage:
    """Traffic between H hosts and the targets that their files are striped over, [2, H, S] (read, write) in bytes.

    Up to ``WIDE_HOSTS`` hosts S is T, all targets.

    speed: part of a target's rated throughput that it reaches, [T] (a fault lowers it).
    free: part of its throughput that is not taken by others, [T].
    in_flight: RPCs that one client has in flight to a target, [T]; client_limit: bytes per second that these give, [T].
    stripes: where n files lie, [n, S] parts of a file; None: on all of them evenly.
    opening: called with each request (kind, hosts). unopened: hosts that still wait for their files to open, [2, H].
    client_speed: bytes per second that a host itself can write, [H] (inf: as fast as the targets).
    """

    def __init__(self, layout: Layout, fabric: Fabric, routes: Routes, rng: np.random.Generator) -> None:
        hosts, targets = len(layout.hosts), len(layout.targets)
        self._fabric, self._rng = fabric, rng
        self.speed, self.client_speed = np.ones(targets), np.full(hosts, np.inf)
        self._targets = _striping(hosts, targets)
        self.free, self.client_limit = np.ones(targets), np.full(targets, np.inf)
        self.in_flight = np.full(targets, RPCS_IN_FLIGHT)
        self.stripes: Callable[[int], Floats] | None = None
        self.opening: Callable[[int, list[int]], None] | None = None
        self.unopened = np.zeros((2, hosts), dtype=np.bool_)
        self.rows = _flows(layout, fabric, routes, self._targets)
        routes.route(fabric, self.rows.ravel())
        self._delivered: Floats = np.zeros(self.rows.shape)
        self.target_bytes, self.target_seconds = np.zeros((2, targets)), np.zeros((2, targets))
        self.host_bytes = np.zeros((2, hosts))
        self.depth = np.zeros(targets)
        self._busy = False
        self._below_share = np.zeros(self._targets.shape, dtype=np.bool_)
        self.used = rng.uniform(0.35, 0.5, targets) * CAPACITY_BYTES

    def request(self, kind: int, hosts: list[int], each: float) -> None:
        """Queues ``each`` bytes for every host, on the targets where its file lies. kind: READ or WRITE."""
        rows = self.rows[kind, hosts]
        striped = each / rows.shape[1] if self.stripes is None else each * self.stripes(len(hosts))
        self._fabric.flows.backlog[rows] += striped
        if self.opening is not None:
            self.opening(kind, hosts)

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
        waiting &= ~self.unopened[:, :, None]
        clients = self._by_target(waiting)
        jitter = self._rng.normal(1.0, 0.02, len(self.speed))
        share = TARGET_BYTES_PER_S * self.speed * jitter * self.free / np.maximum(1, clients)
        limit = np.broadcast_to(np.minimum(share, self.client_limit)[self._targets], waiting.shape).copy()
        own = self.client_speed[:, None] / self._targets.shape[1]
        self._below_share = own < limit[WRITE]
        limit[WRITE] = np.minimum(limit[WRITE], own)
        limit[self.unopened] = 0.0
        flows.limit[self.rows] = limit

    def count(self, dt: float) -> None:
        """Counts what the last step delivered, and the service time of RPCs (Little's law: time = queue x dt)."""
        flows = self._fabric.flows
        if not self._busy:
            return
        delivered = flows.delivered[self.rows]
        moved = delivered - self._delivered
        self._delivered = delivered
        queue = np.minimum(self.in_flight[self._targets], np.floor(flows.backlog[self.rows] + moved * 0.5) / RPC_BYTES)
        served = moved[WRITE] / RPC_BYTES * SERVICE_S / dt  # a client below its share never has an RPC waiting
        queue[WRITE] = np.where(self._below_share, served, queue[WRITE])
        queue[self.unopened] = 0.0
        self.host_bytes += moved.sum(axis=2)
        for kind in (READ, WRITE):
            self.target_bytes[kind] += self._by_target(moved[kind])
            self.target_seconds[kind] += self._by_target(queue[kind]) * dt
        self.depth = self._by_target(queue)
        self.used += self._by_target(moved[WRITE])
        self._busy = bool(moved.any() or self.depth.any())

    def _by_target(self, values: Floats | Flags) -> Floats:
        """[T] sums of ``values`` [H, S] or [2, H, S]."""
        targets, stripes = len(self.speed), self._targets.shape[1]
        if stripes == targets:
            sums: Floats = values.reshape(-1, targets).sum(axis=0)
            return sums
        where = np.broadcast_to(self._targets, values.shape).ravel()
        return np.asarray(np.bincount(where, values.ravel(), targets), dtype=np.float64)


def flow_rows(layout: Layout) -> int:
    """Flows that a file system of this layout needs."""
    return 2 * _striping(len(layout.hosts), len(layout.targets)).size


def _striping(hosts: int, targets: int) -> Ints:
    """[H, S] targets of each host; where files are not striped over all, hosts take them in turn (round robin)."""
    stripes = targets if hosts <= WIDE_HOSTS else min(targets, STRIPES)
    if stripes == targets:
        return np.tile(np.arange(targets), (hosts, 1))
    return np.arange(hosts * stripes).reshape(hosts, stripes) % targets


def _flows(layout: Layout, fabric: Fabric, routes: Routes, targets: Ints) -> Ints:
    """Flow rows [2, H, S]; a host talks to target t over rail (host + t) modulo its NICs."""
    hosts = [layout.device_nics[name] for name in layout.hosts]
    servers = [layout.device_nics[target.server] for target in layout.targets]
    places = np.arange(len(hosts))[:, None] + targets
    client = np.array([nics.start for nics in hosts])[:, None] + places % len(hosts[0])
    server = np.array([nics[t % len(nics)] for t, nics in enumerate(servers)])[targets]
    client, server, spread = routes.beside(client.ravel(), server.ravel()), server.ravel(), places.ravel()
    reads = fabric.add_flows(server, client, spread)
    writes = fabric.add_flows(client, server, spread)
    return np.stack([reads, writes]).reshape(2, *targets.shape)
