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
WHOLE_BYTE = 1.0


@compiled
def _any_waiting(backlog: Floats, rows: Ints) -> bool:
    for row in rows.flat:  # noqa: SIM110  # what is compiled has no any()
        if backlog[row] > WAITING_BYTES:
            return True
    return False


@compiled
def _any_left(backlog: Floats, inside: Floats, rows: Ints, hosts: Ints) -> bool:
    """Whether flows of these hosts have bytes to send or in flight. inside: [F, L]. rows: [H, S]."""
    for host in hosts:
        for row in rows[host]:
            if backlog[row] > WHOLE_BYTE or (inside[row] > WHOLE_BYTE).any():
                return True
    return False


@compiled
def _count_clients(backlog: Floats, rows: Ints, unopened: Flags, targets: Ints, clients: Floats) -> None:
    """Adds to ``clients`` [T] those that wait for each target. rows: [2, H, S]. unopened: [2, H]. targets: [H, S]."""
    for kind in range(rows.shape[0]):
        for host in range(rows.shape[1]):
            for stripe in range(0 if unopened[kind, host] else rows.shape[2]):
                if backlog[rows[kind, host, stripe]] > WAITING_BYTES:
                    clients[targets[host, stripe]] += 1.0


@compiled
def _limit(
    share: Floats, client_speed: Floats, rows: Ints, unopened: Flags, targets: Ints, below_share: Flags, limit: Floats
) -> None:
    """Sets the ``limit`` of each flow: what its target gives one client, and what its host itself can write.

    share: [T] bytes per second. below_share: [H, S] set where the host writes less than its share.
    """
    for host in range(rows.shape[1]):
        own = client_speed[host] / rows.shape[2]
        for stripe in range(rows.shape[2]):
            most = share[targets[host, stripe]]
            below_share[host, stripe] = own < most
            limit[rows[READ, host, stripe]] = 0.0 if unopened[READ, host] else most
            limit[rows[WRITE, host, stripe]] = 0.0 if unopened[WRITE, host] else min(most, own)


@compiled
def _serve(
    dt: float,
    delivered: Floats,
    backlog: Floats,
    rows: Ints,
    targets: Ints,
    in_flight: Floats,
    unopened: Flags,
    below_share: Flags,
    before: Floats,
    moved: Floats,
    served: Floats,
    waiting: Floats,
    depth: Floats,
) -> None:
    """What was moved since the last step, and the RPCs in the queue of each target.

    before: [2, H, S] what was delivered up to the last step, and then up to this one. moved: [2, H, S] bytes.
    served, waiting: [2, T] bytes, and RPCs in flight; depth: [T] the latter together; all three are added to.
    """
    for kind in range(rows.shape[0]):
        for host in range(rows.shape[1]):
            for stripe in range(rows.shape[2]):
                row, target = rows[kind, host, stripe], targets[host, stripe]
                step = delivered[row] - before[kind, host, stripe]
                before[kind, host, stripe] = delivered[row]
                moved[kind, host, stripe] = step
                if step == 0.0 and 0.0 <= backlog[row] < WHOLE_BYTE:
                    continue
                queue = min(in_flight[target], np.floor(backlog[row] + step * 0.5) / RPC_BYTES)
                if kind == WRITE and below_share[host, stripe]:
                    queue = step / RPC_BYTES * SERVICE_S / dt  # it never has an RPC waiting
                if unopened[kind, host]:
                    queue = 0.0
                served[kind, target] += step
                waiting[kind, target] += queue
                depth[target] += queue


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
        flows = self._fabric.flows
        return bool(_any_left(flows.backlog, flows.inside, self.rows[kind], np.array(hosts, dtype=np.int64)))

    def set_limits(self) -> None:
        """Sets the rate limit of each client in the next step: an even share of what its target can serve."""
        flows = self._fabric.flows
        self._busy = self._busy or _any_waiting(flows.backlog, self.rows)
        if not self._busy:
            return
        clients = np.zeros(len(self.speed))
        _count_clients(flows.backlog, self.rows, self.unopened, self._targets, clients)
        jitter = self._rng.normal(1.0, 0.02, len(self.speed))
        share = TARGET_BYTES_PER_S * self.speed * jitter * self.free / np.maximum(1, clients)
        _limit(
            np.minimum(share, self.client_limit),
            self.client_speed,
            self.rows,
            self.unopened,
            self._targets,
            self._below_share,
            flows.limit,
        )

    def count(self, dt: float) -> None:
        """Counts what the last step delivered, and the service time of RPCs (Little's law: time = queue x dt)."""
        flows = self._fabric.flows
        if not self._busy:
            return
        moved = np.empty(self.rows.shape)
        served, waiting = np.zeros((2, len(self.speed))), np.zeros((2, len(self.speed)))
        self.depth = np.zeros(len(self.speed))
        _serve(
            dt,
            flows.delivered,
            flows.backlog,
            self.rows,
            self._targets,
            self.in_flight,
            self.unopened,
            self._below_share,
            self._delivered,
            moved,
            served,
            waiting,
            self.depth,
        )
        self.host_bytes += moved.sum(axis=2)
        self.target_bytes += served
        self.target_seconds += waiting * dt
        self.used += served[WRITE]
        self._busy = bool(moved.any() or self.depth.any())


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
