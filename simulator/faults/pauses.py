"""Faults of flow control: pauses that never end, and a hop that drops instead of pausing."""

from simulator.faults.base import Fault, port_names
from simulator.layout import Layout
from simulator.shapes.shape import Shape
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef, port

Cycle = tuple[int, int, int, int]


class PfcDeadlock(Fault):
    """Four switches pause each other in a cycle, leaf to spine to leaf to spine, and none can drain: nothing moves
    through these four queues until somebody breaks the cycle, and the pauses spread to all who send through them.

    Up-and-down routes alone cannot close a cycle; flooding or routes that bounce after a failure do (Guo et al., RDMA
    over Commodity Ethernet at Scale, SIGCOMM 2016, section 4.2; Hu et al., Deadlocks in Datacenter Networks, HotNets
    2016). The bytes that closed it are not modelled, only that the far ends pause for ever.
    """

    name = "pfc-deadlock"
    kind = IncidentKind.PAUSE_LOOP
    target_form = "leaf/uplink"
    ports: tuple[int, ...] = ()

    @property
    def root(self) -> ObjectRef:
        return self._port(self.ports[0])

    @property
    def roots(self) -> tuple[ObjectRef, ...]:
        return tuple(self._port(i) for i in self.ports[1:])

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return list(_cycles(layout))

    def begin(self) -> None:
        cycles = _cycles(self.machine.layout)
        self.ports = self.choose(list(cycles.values()), list(cycles))
        for queue in self.ports:
            self.hold(self.machine.fabric.queues.held, queue, 1.0, max)

    def end(self) -> None:
        self.release()

    def _port(self, at: int) -> ObjectRef:
        p = self.machine.layout.ports[at]
        return port(p.device, p.name)


def _cycles(layout: Layout) -> dict[str, Cycle]:
    """The cycle that begins at each uplink: over its spine to the next leaf, and over the next spine back."""
    between = {(p.device, p.peer_device): i for i, p in enumerate(layout.ports) if p.nic < 0}
    cycles = {}
    for (leaf, spine), first in between.items():
        if leaf not in layout.leaves or spine not in layout.spines:
            continue
        other_leaf, other_spine = _next(layout.leaves, leaf), _next(layout.spines, spine)
        hops = ((leaf, spine), (spine, other_leaf), (other_leaf, other_spine), (other_spine, leaf))
        if len(set(hops)) == len(hops) and all(hop in between for hop in hops) and leaf != other_leaf:
            cycles[f"{leaf}/{layout.ports[first].name}"] = tuple(between[hop] for hop in hops)
    return cycles  # type: ignore[return-value]  # four hops


def _next(names: tuple[str, ...], name: str) -> str:
    return names[(names.index(name) + 1) % len(names)]


class LosslessMisconfigured(Fault):
    """The queue of RDMA on one port has the buffer profile of a lossy queue: above a small static limit it drops,
    where all others pause their senders; go-back-N repeats a window for every drop.

    Guo et al., SIGCOMM 2016, report an incident by a buffer parameter that one model of switch had otherwise.
    InfiniBand has no such profile: a sender without credits sends nothing.
    """

    name = "lossless-misconfigured"
    kind = IncidentKind.CONGESTION
    target_form = "Ethernet switch/port"
    strengths = (0.25, 4.0)
    LIMIT_BYTES = 1e6  # assumption: a static limit of one megabyte, of the 64 that are shared
    at = -1

    @property
    def root(self) -> ObjectRef:
        p = self.machine.layout.ports[self.at]
        return port(p.device, p.name)

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return [] if layout.shape is Shape.INFINIBAND else port_names(layout)

    def begin(self) -> None:
        names = self.targets(self.machine.layout)
        self.at = self.choose(range(len(names)), names)
        self.hold(self.machine.fabric.queues.tail_drop, self.at, self.LIMIT_BYTES / self.strength, max)

    def end(self) -> None:
        self.release()
