"""Faults of a host, and of a change that reaches many of them."""

import numpy as np

from common.units import NS_PER_S
from simulator.fabric.state import Ints
from simulator.faults.base import Fault
from simulator.faults.power import hosts_of, racks
from simulator.layout import Layout
from telemetry.changes import Change, ChangeKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef, device, port


class _OnHost(Fault):
    target_form = "host"
    host = ""

    @property
    def root(self) -> ObjectRef:
        return device(self.host)

    @property
    def reach(self) -> tuple[str, ...]:
        return (self.host,)

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return list(layout.hosts)

    def choose_host(self) -> None:
        hosts = self.machine.layout.hosts
        self.host = self.choose(hosts, hosts)


class FanWallFailure(_OnHost):
    """Fans of one host fail: less air passes all its heat sinks, its GPUs get warmer side by side and throttle. The air
    that comes in is as cool as its neighbours'.

    strength 1: three of five fans, so each sink has 2.5 times its thermal resistance (assumption: it is in proportion
    to 1/flow). Up to 0.4 the GPUs are warmer and none throttles.
    """

    name = "fan-wall-failure"
    kind = IncidentKind.ENVIRONMENT
    MORE_RESISTANCE = 1.5

    def begin(self) -> None:
        self.choose_host()
        for unit in self.machine.layout.host_gpus[self.host]:
            self.hold(self.machine.gpus.cooling, unit, self.MORE_RESISTANCE * self.strength, sum)

    def end(self) -> None:
        self.release()


class RdmaOverSockets(_OnHost):
    """NCCL finds no usable RDMA device on a host and takes TCP sockets, without an error: its connections carry a
    fraction, over priority 0 and without one RDMA counter, and cores copy what NICs did. The other end of each has it
    in its kernel too, so the interfaces of both hosts count it. The job is slow, all links are good. File system
    traffic goes on over RDMA.

    42 Gb/s a core: Cai et al., Understanding Host Network Stack Overheads, SIGCOMM 2021. One core each for sending and
    receiving of a NIC (assumption: NCCL_SOCKET_NTHREADS 1); those of its neighbours are left out. strength 2: half of
    that rate.
    """

    name = "rdma-over-sockets"
    kind = IncidentKind.TCP_FALLBACK
    strengths = (0.5, 2.0)
    BYTES_PER_S = 42e9 / 8

    def begin(self) -> None:
        self.choose_host()
        layout = self.machine.layout
        nics = layout.device_nics[self.host]
        self._own = np.zeros(len(layout.nics), dtype=np.bool_)
        self._own[nics.start : nics.stop] = True
        self._host = layout.hosts.index(self.host)
        self._over_rdma = np.zeros(len(self.machine.fabric.flows.used), dtype=np.bool_)
        self._over_rdma[self.machine.storage.rows.ravel()] = True

    def step(self, elapsed_s: float) -> None:
        """The kernel moves nothing of these flows; what TCP carries is moved here."""
        fabric, dt = self.machine.fabric, self.machine.dt
        flows, rows = fabric.flows, self._rows()
        flows.limit[rows] = 0.0
        waiting = rows[(flows.backlog[rows] > 0.0) & (flows.path[rows, 0] >= 0)]
        each = self.BYTES_PER_S / self.strength * dt
        moved, cores = np.zeros(waiting.size), 0
        for ends in (flows.source[waiting], flows.destination[waiting]):
            sharing = np.bincount(ends, minlength=self._own.size)
            share = np.minimum(flows.backlog[waiting], each / sharing[ends])
            moved = share if not moved.any() else np.minimum(moved, share)
            cores += int(np.count_nonzero(sharing[self._own]))
        flows.backlog[waiting] -= moved
        flows.delivered[waiting] += moved
        for hops in flows.path[waiting].T[:-1]:  # the receive buffer is the kernel's memory now
            np.add.at(fabric.background_sent, hops[hops >= 0], moved[hops >= 0])
        self.hold(self.machine.hosts.network_cores, self._host, float(cores), sum)

    def end(self) -> None:
        self.release()
        self.machine.fabric.flows.limit[self._rows()] = np.inf

    def _rows(self) -> Ints:
        """Flows from and to the host, but those of the file system."""
        flows = self.machine.fabric.flows
        ours = self._own[flows.source] | self._own[flows.destination]
        return np.flatnonzero(flows.used & ours & ~self._over_rdma)


class NicDriverPush(Fault):
    """A new NIC driver with a bad PCIe setting is rolled out, host by host through a rack: every NIC that has it takes
    less than its line rate, and pauses its leaf port as soon as a job sends at full speed. Rolling it back ends it.

    A ``firmware`` Change says so beforehand; the target ``r1/unannounced`` has none. Guo et al., SIGCOMM 2016, section
    4.4: NICs were slow receivers while their cache of address translations was too small for the page size in use.
    """

    name = "nic-driver-push"
    kind = IncidentKind.SLOW_RECEIVER
    target_form = "rack or rack/unannounced"
    strengths = (0.4, 1.8)
    EVERY_S, STALLED = 15.0, 0.5  # of the time PCIe takes nothing: 27 of 55 GB/s are left for a line of 50
    hosts: tuple[str, ...] = ()

    @property
    def root(self) -> ObjectRef:
        return self._ports()[0]

    @property
    def roots(self) -> tuple[ObjectRef, ...]:
        return (*self._ports()[1:], *(device(host) for host in self.hosts))

    @property
    def reach(self) -> tuple[str, ...]:
        return self.hosts

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        names = racks(layout)
        return [*names, *(f"{rack}/unannounced" for rack in names)]

    def begin(self) -> None:
        names = self.targets(self.machine.layout)
        rack, _, hidden = self.choose(names, names).partition("/")
        self.hosts = tuple(hosts_of(self.machine.layout, rack))
        self._done = 0
        if not hidden:
            self._announce(rack)

    def step(self, elapsed_s: float) -> None:
        while self._done < len(self.hosts) and elapsed_s >= self._done * self.EVERY_S:
            for nic in self.machine.layout.device_nics[self.hosts[self._done]]:
                self.hold(self.machine.stalled, nic, self.STALLED * self.strength, max)
            self._done += 1

    def end(self) -> None:
        self.release()

    def _announce(self, rack: str) -> None:
        now_ns = self.machine.now_ns
        ends_ns = now_ns + int(len(self.hosts) * self.EVERY_S * NS_PER_S)
        what = tuple(device(host) for host in self.hosts)
        summary = f"New NIC driver for rack {rack}, one host after the other"
        change = Change(f"driver/{rack}/{now_ns}", ChangeKind.FIRMWARE, what, now_ns, ends_ns, "dave", summary)
        self.machine.jobs.changes.append(change)

    def _ports(self) -> list[ObjectRef]:
        """The leaf ports of the hosts, in the order in which they get the driver."""
        layout = self.machine.layout
        nics = [layout.nics[i] for host in self.hosts for i in layout.device_nics[host]]
        return [port(layout.ports[nic.port].device, layout.ports[nic.port].name) for nic in nics]
