"""Faults of many hosts at once: a rack without power or cooling, and a wave of planned reboots."""

from common.units import NS_PER_S
from simulator.faults.base import Fault
from simulator.layout import Layout
from telemetry.changes import Change, ChangeKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectKind, ObjectRef, device
from telemetry.topology import Role


class OnRack(Fault):
    """A fault of one rack of hosts."""

    target_form = "rack"
    rack = ""

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return racks(layout)

    @property
    def root(self) -> ObjectRef:
        return ObjectRef(ObjectKind.RACK, self.rack)

    def choose_rack(self) -> list[str]:
        """The hosts of the rack that the target names, or of a random one."""
        layout = self.machine.layout
        names = racks(layout)
        self.rack = self.choose(names, names)
        return hosts_of(layout, self.rack)


def racks(layout: Layout) -> list[str]:
    """Racks with hosts, in order."""
    return sorted({d.rack for d in layout.devices if d.role is Role.HOST}, key=lambda name: (len(name), name))


def hosts_of(layout: Layout, rack: str) -> list[str]:
    """The hosts of a rack, in order."""
    return [d.name for d in layout.devices if d.role is Role.HOST and d.rack == rack]


class RackPowerLoss(OnRack):
    """A rack loses both feeds: its hosts are off, their leaf ports go dark, their jobs die."""

    name = "rack-power-loss"
    kind = IncidentKind.RACK_POWER
    hosts: tuple[str, ...] = ()

    @property
    def reach(self) -> tuple[str, ...]:
        return self.hosts

    def begin(self) -> None:
        self.hosts = tuple(self.choose_rack())
        for host in self.hosts:
            self.machine.drain(host, True)
        self.machine.power(list(self.hosts), False, "lost power")

    def end(self) -> None:
        self.machine.power(list(self.hosts), True, "")
        for host in self.hosts:
            self.machine.drain(host, False)


class RackCooling(OnRack):
    """A rack's cooling fails: the inlet air of its hosts gets warmer within a minute, and so do their GPUs.

    12 K: assumption.
    """

    name = "rack-cooling"
    kind = IncidentKind.ENVIRONMENT
    WARMER_C, RAMP_S = 12.0, 60.0
    gpus: tuple[int, ...] = ()
    hosts: tuple[int, ...] = ()
    warmer_c = 0.0

    @property
    def reach(self) -> tuple[str, ...]:
        return tuple(self.machine.layout.hosts[host] for host in self.hosts)

    def begin(self) -> None:
        layout = self.machine.layout
        names = self.choose_rack()
        self.hosts = tuple(layout.hosts.index(name) for name in names)
        self.gpus = tuple(gpu for name in names for gpu in layout.host_gpus[name])

    def step(self, elapsed_s: float) -> None:
        self._warm(self.WARMER_C * self.strength * min(1.0, elapsed_s / self.RAMP_S))

    def end(self) -> None:
        self._warm(0.0)

    def _warm(self, by_c: float) -> None:
        more, self.warmer_c = by_c - self.warmer_c, by_c
        self.machine.gpus.inlet[list(self.gpus)] += more
        self.machine.hosts.inlet[list(self.hosts)] += more


class PlannedRebootWave(OnRack):
    """Announced maintenance: the hosts of a rack are drained and rebooted one after the other.

    Times: assumption, short so that a wave fits a campaign.
    """

    name = "planned-reboot-wave"
    kind = IncidentKind.DEVICE_REBOOTED
    planned = True
    intermittent = False
    lasts_s = 120.0
    FIRST_S, EVERY_S, OFF_S = 5.0, 12.0, 20.0
    hosts: tuple[str, ...] = ()

    @property
    def root(self) -> ObjectRef:
        return device(self.hosts[0])

    @property
    def reach(self) -> tuple[str, ...]:
        return self.hosts

    def begin(self) -> None:
        self.hosts = tuple(self.choose_rack())
        self._off: set[str] = set()
        self._announce()
        for host in self.hosts:
            self.machine.drain(host, True)
            self.machine.stop_jobs(host, "stopped for maintenance")

    def _announce(self) -> None:
        machine, now_ns = self.machine, self.machine.now_ns
        ends_ns = now_ns + int((self.lasts_s + machine.config.boot_s[1]) * NS_PER_S)
        what = (self.root, *(device(host) for host in self.hosts[1:]))
        summary = f"Firmware update of rack {self.rack}: reboot one host after the other"
        machine.jobs.changes.append(
            Change(f"maintenance/{self.rack}/{now_ns}", ChangeKind.MAINTENANCE, what, now_ns, ends_ns, "carol", summary)
        )

    def step(self, elapsed_s: float) -> None:
        for k, host in enumerate(self.hosts):
            off = 0.0 <= elapsed_s - self.FIRST_S - k * self.EVERY_S < self._takes_s(k)
            if off != (host in self._off):
                (self._off.add if off else self._off.discard)(host)
                self.machine.power([host], not off, "stopped for maintenance")

    def end(self) -> None:
        self.machine.power(sorted(self._off), True, "")
        for host in self.hosts:
            self.machine.drain(host, False)

    def _takes_s(self, k: int) -> float:
        """How long the host at a place in the order is off."""
        return self.OFF_S


class RollingReboot(PlannedRebootWave):
    """The same without a word to anybody: the hosts of a rack are drained, and rebooted one after the other as soon as
    their jobs are gone. Each takes a time of its own.

    FIRST_S, EVERY_S, TAKES_S: assumptions, short against the minutes of a real boot so that a wave fits a campaign.
    """

    name = "rolling-reboot"
    lasts_s = 240.0
    FIRST_S, EVERY_S, TAKES_S = 30.0, 45.0, (20.0, 40.0)

    def begin(self) -> None:
        super().begin()
        self._each_s = self.rng.uniform(*self.TAKES_S, len(self.hosts))

    def _announce(self) -> None:
        """Nobody says anything."""

    def _takes_s(self, k: int) -> float:
        return float(self._each_s[k])
