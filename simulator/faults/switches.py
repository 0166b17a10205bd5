"""Faults of a whole switch, of a line card in it, and of its routing."""

from simulator.faults.base import Fault
from simulator.layout import Layout
from simulator.shapes.shape import Shape
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef, device, link, port


class _OnSwitch(Fault):
    switch = ""

    @property
    def root(self) -> ObjectRef:
        return device(self.switch)

    def begin(self) -> None:
        candidates = self.candidates()
        self.switch = self.choose(candidates, candidates)
        self.machine.power([self.switch], False, "lost its fabric")

    def end(self) -> None:
        self.machine.power([self.switch], True, "")

    def candidates(self) -> tuple[str, ...]:
        """Switches that the seed chooses among; a target names one of them."""
        return tuple(self.targets(self.machine.layout))


class SpineDown(_OnSwitch):
    """A spine fails: its links go dark, the other spines carry its traffic."""

    name = "spine-down"
    kind = IncidentKind.DEVICE_DOWN
    target_form = "spine"

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return list(layout.spines)


class LeafDown(_OnSwitch):
    """A leaf fails: the NICs of its rails are dark on every host of the pod, and no other path leads to them. Jobs
    wait in their next collective; with a storage leaf every second server NIC is gone.

    Switch failures stop jobs at Meta (Llama 3 report 2024, table 5: 8.4 % of interruptions by network switch or cable).
    """

    name = "leaf-down"
    kind = IncidentKind.DEVICE_DOWN
    target_form = "leaf"

    @property
    def reach(self) -> tuple[str, ...]:
        layout = self.machine.layout
        peers = {layout.ports[i].peer_device for i in layout.switch_ports[self.switch]}
        return tuple(host for host in layout.hosts if host in peers)

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return list(layout.leaves)


class SwitchReboot(_OnSwitch):
    """A switch restarts: it is unreachable for a while (25 s: assumption), and its counters restart at 0."""

    name = "switch-reboot"
    kind = IncidentKind.DEVICE_REBOOTED
    target_form = "switch"
    lasts_s = 25.0

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return list(layout.switches)

    def candidates(self) -> tuple[str, ...]:
        layout = self.machine.layout
        return layout.switches if self.target else layout.spines or layout.leaves


class LineCardDown(Fault):
    """A line card of a modular spine fails: a range of its ports is dark at both ends, the spine itself answers.

    36 ports a card (800G cards of Arista's 7800R4 and Cisco's 8800); a spine with fewer ports has two halves.
    """

    name = "line-card-down"
    kind = IncidentKind.DEVICE_DOWN
    accepted = (IncidentKind.LINK_DOWN,)
    target_form = "spine/number of the card"
    PORTS = 36
    ports: tuple[int, ...] = ()
    spine = ""

    @property
    def root(self) -> ObjectRef:
        return device(self.spine)

    @property
    def roots(self) -> tuple[ObjectRef, ...]:
        ports = [self.machine.layout.ports[i] for i in self.ports]
        return tuple(link(port(p.device, p.name), port(p.peer_device, p.peer_name)) for p in ports)

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return list(cls._cards(layout))

    @classmethod
    def _cards(cls, layout: Layout) -> dict[str, tuple[int, ...]]:
        cards = {}
        for spine in layout.spines:
            ports = tuple(layout.switch_ports[spine])
            size = min(cls.PORTS, max(1, len(ports) // 2))
            for number, first in enumerate(range(0, len(ports), size), 1):
                cards[f"{spine}/{number}"] = ports[first : first + size]
        return cards

    def begin(self) -> None:
        cards = self._cards(self.machine.layout)
        self.ports = self.choose(list(cards.values()), list(cards))
        self.spine = self.target.partition("/")[0]
        self._cut(1)

    def end(self) -> None:
        self._cut(-1)

    def _cut(self, reasons: int) -> None:
        links = self.machine.links
        for at in self.ports:
            links.cuts[links.ends(at)] += reasons
        links.refresh(self.machine.now_ns)


class RoutingDaemonDown(Fault):
    """The routing daemon of a spine dies: its links stay up and light is good, but its neighbours drop all routes
    through it, so that the other spines carry its traffic (RFC 4271, section 6.5: hold timer expired). InfiniBand has
    none: the subnet manager sets all tables.
    """

    name = "routing-daemon-down"
    kind = IncidentKind.BGP_DOWN
    target_form = "spine that speaks BGP"
    spine = ""

    @property
    def root(self) -> ObjectRef:
        return device(self.spine)

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return [] if layout.shape is Shape.INFINIBAND else list(layout.spines)

    def begin(self) -> None:
        spines = self.targets(self.machine.layout)
        self.spine = self.choose(spines, spines)
        self._count(1)

    def end(self) -> None:
        self._count(-1)

    def _count(self, reasons: int) -> None:
        self.machine.routes.daemons_down[self.spine] += reasons
        self.machine.links.refresh(self.machine.now_ns)
