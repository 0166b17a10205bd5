"""Faults of links: dirt, breaks, flaps, a speed below the rating, and cables in each other's place."""

from simulator.faults.base import Fault, host_nics, port_names
from simulator.layout import Layout
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef, link, port


class _OnLink(Fault):
    """Breaks a leaf–spine link by default, one of a host where there are no spines, or that of the named port.

    at: its switch port, which receives the light.
    """

    target_form = "switch/port or host/NIC"
    at = -1

    @property
    def root(self) -> ObjectRef:
        p = self.machine.layout.ports[self.at]
        return link(port(p.device, p.name), port(p.peer_device, p.peer_name))

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return port_names(layout)

    def choose_link(self) -> int:
        layout = self.machine.layout
        if not self.target:
            pods = {d.name for d in layout.devices if d.pod.startswith("pod")}
            ours = [i for i, p in enumerate(layout.ports) if p.device in pods]
            among = [i for i in ours if layout.ports[i].nic < 0] or ours
            names = port_names(layout)
            return self.choose(among, [names[i] for i in among])
        ends = {f"{device}/{name}": i for (device, name), i in layout.port_index.items()}
        ends |= {f"{device}/{name}": layout.nics[i].port for (device, name), i in layout.nic_index.items()}
        return self.choose(list(ends.values()), list(ends))

    def cut(self, reasons: int) -> None:
        for end in self.machine.links.ends(self.at):
            self.machine.links.cuts[end] += reasons
        self.machine.links.refresh(self.machine.now_ns)


class DirtyOptic(_OnLink):
    """Dirt on a connector attenuates the light more and more: bit errors, then codewords that cannot be corrected.

    2.75 dB (assumption) is beyond what RS(544,514) corrects in the model of ``fabric/optics.py``.
    """

    name = "dirty-optic"
    kind = IncidentKind.LINK_DEGRADED
    ATTENUATION_DB, RAMP_S = 2.75, 40.0

    def begin(self) -> None:
        self.at = self.choose_link()

    def step(self, elapsed_s: float) -> None:
        grown = min(1.0, elapsed_s / self.RAMP_S)
        self.hold(self.machine.optics.attenuation_db, self.at, self.ATTENUATION_DB * self.strength * grown, sum)

    def end(self) -> None:
        self.release()


class LinkDown(_OnLink):
    """The cable breaks."""

    name = "link-down"
    kind = IncidentKind.LINK_DOWN

    def begin(self) -> None:
        self.at = self.choose_link()
        self.cut(1)

    def end(self) -> None:
        self.cut(-1)


class LinkFlap(_OnLink):
    """The link goes down for a second every few seconds (assumption)."""

    name = "link-flap"
    kind = IncidentKind.LINK_FLAPPING
    DOWN_S, UP_S = (0.6, 1.4), (2.0, 5.0)

    def begin(self) -> None:
        self.at = self.choose_link()
        self._down, self._until_s = False, 0.0

    def step(self, elapsed_s: float) -> None:
        if elapsed_s >= self._until_s:
            self._down = not self._down
            self._until_s = elapsed_s + self.rng.uniform(*(self.DOWN_S if self._down else self.UP_S))
            self.cut(1 if self._down else -1)

    def end(self) -> None:
        if self._down:
            self.cut(-1)


class SpeedDowngrade(_OnLink):
    """The link comes up again with a quarter of its lanes."""

    name = "speed-downgrade"
    kind = IncidentKind.LINK_DEGRADED
    LOST = 0.75

    def begin(self) -> None:
        self.at = self.choose_link()
        links = self.machine.links
        for end in links.ends(self.at):
            self.hold(links.speed_factor, end, max(0.1, 1.0 - self.LOST * self.strength), min)
        self._train()

    def end(self) -> None:
        self.release()
        self._train()

    def _train(self) -> None:
        self.cut(1)
        self.cut(-1)


class CableSwap(Fault):
    """Somebody swaps the cables of two NICs of a host: both links are dark for a while and come up in each other's leaf
    port. LLDP then reports other neighbours than the inventory, and what was one hop on a rail crosses the spines.

    That they are down is as right: they are, when somebody can first know of it.
    """

    name = "cable-swap"
    kind = IncidentKind.UNEXPLAINED
    accepted = (IncidentKind.LINK_DEGRADED, IncidentKind.LINK_DOWN)
    target_form = "host/NIC"
    PULLED_S = 20.0
    nics: tuple[int, int] = (-1, -1)

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return list(host_nics(layout))

    @property
    def root(self) -> ObjectRef:
        return self._link(self.nics[0])

    @property
    def roots(self) -> tuple[ObjectRef, ...]:
        one, other = self.nics
        return self._link(other), self._link(one, other), self._link(other, one)

    @property
    def reach(self) -> tuple[str, ...]:
        nics = self.machine.layout.nics
        return tuple(dict.fromkeys(nics[n].device for n in self.nics))

    def begin(self) -> None:
        one = self.choose_nic()
        self.nics = one, self._partner(one)
        self._swapped = False
        self._cut(1)

    def step(self, elapsed_s: float) -> None:
        if elapsed_s >= self.PULLED_S and not self._swapped:
            self._swapped = True
            self.machine.swap_cables(*self.nics)
            self._cut(-1)

    def end(self) -> None:
        if self._swapped:
            self._cut(1)
            self.machine.restore_cables(*self.nics)
        self._cut(-1)

    def _partner(self, one: int) -> int:
        """The next NIC of the host that is at another leaf; else the next one."""
        layout = self.machine.layout
        here = layout.device_nics[layout.nics[one].device]
        after: list[int] = [*range(one + 1, here.stop), *range(here.start, one)] or [(one + 1) % len(host_nics(layout))]
        leaf_of = {n: layout.ports[layout.nics[n].port].device for n in (one, *after)}
        return next((n for n in after if leaf_of[n] != leaf_of[one]), after[0])

    def _cut(self, reasons: int) -> None:
        links, layout = self.machine.links, self.machine.layout
        links.cuts[[layout.nics[n].port for n in self.nics]] += reasons
        links.refresh(self.machine.now_ns)

    def _link(self, nic: int, at: int = -1) -> ObjectRef:
        """The link of a NIC, or what it becomes when the NIC is where the NIC ``at`` belongs."""
        layout = self.machine.layout
        unit, p = layout.nics[nic], layout.ports[layout.nics[nic if at < 0 else at].port]
        return link(port(p.device, p.name), port(unit.device, unit.name))
