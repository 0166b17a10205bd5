"""Which links are up, and at what speed: devices that are on, cables that are not cut."""

import numpy as np

from simulator.fabric.routing import Routes
from simulator.fabric.state import Fabric, Flags, Floats, Ints
from simulator.layout import Layout
from telemetry.topology import Link


class Links:
    """State of every link. A link is named by one of its switch ports (position in ``Layout.ports``)."""

    def __init__(self, layout: Layout, fabric: Fabric, routes: Routes, now_ns: int) -> None:
        self._layout, self._fabric, self._routes = layout, fabric, routes
        n_ports, n_nics = len(layout.ports), len(layout.nics)
        self.device_on: Flags = np.ones(len(layout.devices), dtype=np.bool_)
        self.cuts: Ints = np.zeros(n_ports, dtype=np.int64)  # active faults that keep the cable of this port dark
        self.speed_factor: Floats = np.ones(n_ports)
        self.port_up: Flags = np.ones(n_ports, dtype=np.bool_)
        self.flaps: Floats = np.zeros(n_ports)
        self.nic_flaps: Floats = np.zeros(n_nics)
        self.changed_ns: Ints = np.full(n_ports, now_ns, dtype=np.int64)
        index = layout.device_index
        self._here = np.array([index[p.device] for p in layout.ports])
        self._there = np.array([index[p.peer_device] for p in layout.ports])
        self._port_of_nic = np.array([nic.port for nic in layout.nics])
        self._hosts = [layout.device_nics[name] for name in layout.hosts]
        self._servers = [layout.device_nics[name] for name in layout.servers]

    @property
    def nic_up(self) -> Flags:
        """Whether the link of each NIC is up, [N]."""
        up: Flags = self.port_up[self._port_of_nic]
        return up

    @property
    def without_daemon(self) -> Flags:
        """Whether the routing daemon at either end of each port is down, [P]: no BGP session, whatever the link."""
        dead = [self._layout.device_index[name] for name in self._routes.daemons_down.elements()]
        return np.isin(self._here, dead) | np.isin(self._there, dead)

    def cable(self, nic: int) -> Link:
        """What LLDP reports about the link of a NIC."""
        unit, leaf = self._layout.nics[nic], self._layout.ports[self._port_of_nic[nic]]
        ends = sorted([(unit.device, unit.name), (leaf.device, leaf.name)], key="/".join)
        return Link(*ends[0], *ends[1], bits_per_second=leaf.bits_per_second)

    def ends(self, port: int) -> list[int]:
        """The switch ports of the link: both ends of a leaf–spine link, the leaf port of a NIC's link."""
        peer = self._layout.ports[port].peer_port
        return [port] if peer < 0 else [port, peer]

    def exchange_cables(self, one: int, other: int) -> None:
        """Plugs each of two NICs into the leaf port that was the other's; the caller refreshes."""
        ports = self._port_of_nic[[one, other]]
        self._port_of_nic[[one, other]] = ports[::-1]
        self._there[ports] = self._there[ports[::-1]]

    def refresh(self, now_ns: int) -> None:
        """Updates link states, capacities and routes after a change of ``device_on``, ``cuts`` or ``speed_factor``."""
        up = self.device_on[self._here] & self.device_on[self._there] & (self.cuts == 0)
        changed = up != self.port_up
        self.flaps[changed] += 1
        self.changed_ns[changed] = now_ns
        self.nic_flaps[changed[self._port_of_nic]] += 1
        self.port_up = up
        fabric, n = self._fabric, len(up)
        queues = fabric.queues
        queues.capacity[:n] = queues.rated[:n] * self.speed_factor * up
        nics = slice(n, n + fabric.nics)
        queues.capacity[nics] = queues.rated[nics] * (self.speed_factor * up)[self._port_of_nic]
        self._routes.route(fabric, np.flatnonzero(fabric.flows.used))
        self.background()

    def background(self) -> None:
        """Loads the routes with the priority 0 traffic of every host to a storage server (logs, metrics)."""
        pairs = [(nics[0], self._servers[k % len(self._servers)][0]) for k, nics in enumerate(self._hosts)]
        self._routes.load_background(self._fabric, pairs)
