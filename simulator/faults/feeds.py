"""Faults of the power feeds beyond a rack: one phase of it, and a row of racks."""

from simulator.faults.base import Fault
from simulator.faults.power import hosts_of, racks
from simulator.layout import Layout
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectKind, ObjectRef, device


class PduPhaseLoss(Fault):
    """A rack's PDU loses one of three phases. Outlets take the phases in turns, so every third host is on it.

    strength 1: that was their only feed, they are off. Below 1 they lose that part of their power supplies: from a
    third on (four of the six of a DGX H100 must work) the board brakes all GPUs, which halves their clock at least
    (NVML: HW power brake slowdown); with less the host has only lost its spare.
    """

    name = "pdu-phase-loss"
    kind = IncidentKind.RACK_POWER
    accepted = (IncidentKind.ENVIRONMENT, IncidentKind.DEVICE_DOWN)
    target_form = "rack/phase"
    strengths = (0.1, 1.0)
    PHASES, SPARE, BRAKED = 3, 1.0 / 3.0, 0.5
    rack = ""
    hosts: tuple[str, ...] = ()

    @property
    def root(self) -> ObjectRef:
        return ObjectRef(ObjectKind.RACK, self.rack)

    @property
    def roots(self) -> tuple[ObjectRef, ...]:
        return tuple(device(host) for host in self.hosts)

    @property
    def reach(self) -> tuple[str, ...]:
        return self.hosts

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return list(cls._phases(layout))

    @classmethod
    def _phases(cls, layout: Layout) -> dict[str, tuple[str, ...]]:
        """Hosts by rack and phase, where there are any."""
        pairs = [(rack, phase) for rack in racks(layout) for phase in range(cls.PHASES)]
        hosts = {f"{rack}/L{phase + 1}": tuple(hosts_of(layout, rack)[phase :: cls.PHASES]) for rack, phase in pairs}
        return {name: members for name, members in hosts.items() if members}

    def begin(self) -> None:
        phases = self._phases(self.machine.layout)
        self.hosts = self.choose(list(phases.values()), list(phases))
        self.rack = self.target.partition("/")[0]
        if self.strength == 1.0:
            _switch(self, self.hosts, on=False)
        elif self.strength > self.SPARE:
            gpus = self.machine.gpus
            for gpu in (gpu for host in self.hosts for gpu in self.machine.layout.host_gpus[host]):
                self.hold(gpus.stuck, gpu, self.BRAKED, min)
                self.hold(gpus.braked, gpu, True, max)

    def end(self) -> None:
        self.release()
        if self.strength == 1.0:
            _switch(self, self.hosts, on=True)


class RowPowerLoss(Fault):
    """A busway fails: the racks on it, side by side, lose power at once."""

    name = "row-power-loss"
    kind = IncidentKind.RACK_POWER
    target_form = "first rack of the row"
    RACKS = 4  # on one busway: 4 x 4 hosts of 10 kW are 160 kW, about what 250 A at 415 V carry (assumption)
    racks: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()

    @property
    def root(self) -> ObjectRef:
        return ObjectRef(ObjectKind.RACK, self.racks[0])

    @property
    def roots(self) -> tuple[ObjectRef, ...]:
        return tuple(ObjectRef(ObjectKind.RACK, rack) for rack in self.racks[1:])

    @property
    def reach(self) -> tuple[str, ...]:
        return self.hosts

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return list(cls._rows(layout))

    @classmethod
    def _rows(cls, layout: Layout) -> dict[str, tuple[str, ...]]:
        """A cluster of fewer than eight racks has two rows, of two racks at least."""
        names = racks(layout)
        size = min(cls.RACKS, max(2, len(names) // 2))
        return {names[first]: tuple(names[first : first + size]) for first in range(0, len(names), size)}

    def begin(self) -> None:
        layout = self.machine.layout
        rows = self._rows(layout)
        self.racks = self.choose(list(rows.values()), list(rows))
        self.hosts = tuple(host for rack in self.racks for host in hosts_of(layout, rack))
        _switch(self, self.hosts, on=False)

    def end(self) -> None:
        _switch(self, self.hosts, on=True)


def _switch(fault: Fault, hosts: tuple[str, ...], *, on: bool) -> None:
    """Hosts lose their power, or get it back and take jobs again once they have booted."""
    if not on:
        for host in hosts:
            fault.machine.drain(host, True)
    fault.machine.power(list(hosts), on, "lost power")
    if on:
        for host in hosts:
            fault.machine.drain(host, False)
