"""Faults of one link: dirt, breaks, flaps, and a speed below the rating."""

from simulator.faults.base import Fault
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef, link, port


class _OnLink(Fault):
    """Breaks a leaf–spine link by default, or that of the named port. at: its switch port, which receives the light."""

    target_form = "switch/port or host/NIC"
    at = -1

    @property
    def root(self) -> ObjectRef:
        p = self.machine.layout.ports[self.at]
        return link(port(p.device, p.name), port(p.peer_device, p.peer_name))

    def choose_link(self) -> int:
        layout = self.machine.layout
        if not self.target:
            pods = {d.name for d in layout.devices if d.pod.startswith("pod")}
            return self.choose([i for i, p in enumerate(layout.ports) if p.nic < 0 and p.device in pods], [])
        ends = {f"{device}/{name}": i for (device, name), i in layout.port_index.items()}
        ends |= {f"{device}/{name}": layout.nics[i].port for (device, name), i in layout.nic_index.items()}
        return self.choose(list(ends.values()), list(ends))

    def cut(self, reasons: int) -> None:
        for end in self.machine.links.ends(self.at):
            self.machine.links.cuts[end] += reasons
        self.machine.links.refresh(self.machine.now_ns)


class DirtyOptic(_OnLink):
    """Dirt on a connector attenuates the light more and more: bit errors, then codewords that cannot be corrected."""

    name = "dirty-optic"
    kind = IncidentKind.LINK_DEGRADED
    ATTENUATION_DB, RAMP_S = 2.75, 40.0

    def begin(self) -> None:
        self.at = self.choose_link()

    def step(self, elapsed_s: float) -> None:
        grown = min(1.0, elapsed_s / self.RAMP_S)
        self.machine.optics.attenuation_db[self.at] = self.ATTENUATION_DB * self.strength * grown

    def end(self) -> None:
        self.machine.optics.attenuation_db[self.at] = 0.0


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
    """The link goes down for a second every few seconds."""

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
        self._set(max(0.1, 1.0 - self.LOST * self.strength))

    def end(self) -> None:
        self._set(1.0)

    def _set(self, factor: float) -> None:
        links = self.machine.links
        for end in links.ends(self.at):
            links.speed_factor[end] = factor
        self.cut(1)
        self.cut(-1)
