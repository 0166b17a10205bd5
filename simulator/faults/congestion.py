"""Faults that fill queues: a receiver that is slower than its traffic, and many senders to one receiver."""

import numpy as np

from simulator.fabric.state import Ints
from simulator.faults.base import Fault, host_nics
from simulator.layout import Layout
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef, port


class _AtHostPort(Fault):
    """Root: the leaf port that faces the host."""

    target_form = "host/NIC"
    nic = -1

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return list(host_nics(layout))

    @property
    def root(self) -> ObjectRef:
        layout = self.machine.layout
        leaf = layout.ports[layout.nics[self.nic].port]
        return port(leaf.device, leaf.name)

    @property
    def reach(self) -> tuple[str, ...]:
        return (self.machine.layout.nics[self.nic].device,)


class SlowReceiver(_AtHostPort):
    """PCIe of a host stalls for tens of milliseconds at a time: the NIC's buffer fills and the NIC pauses its leaf.

    Guo et al., SIGCOMM 2016, section 4.4: NICs that cannot receive at line rate pause their switch. Times: assumption.
    """

    name = "slow-receiver"
    kind = IncidentKind.SLOW_RECEIVER
    STALL_S, RUN_S = (0.020, 0.050), (0.015, 0.035)

    def begin(self) -> None:
        self.nic = self.choose_nic()
        self._stalls, self._until_s = False, 0.0

    def step(self, elapsed_s: float) -> None:
        while elapsed_s >= self._until_s:
            self._stalls = not self._stalls
            lasts_s = self.rng.uniform(*(self.STALL_S if self._stalls else self.RUN_S))
            self._until_s += lasts_s * (self.strength if self._stalls else 1.0)
        self.hold(self.machine.stalled, self.nic, 1.0 if self._stalls else 0.0, max)

    def end(self) -> None:
        self.release()


class Incast(_AtHostPort):
    """Many hosts send to one NIC at once, over so many queue pairs that even their minimum rates overload it.

    Senders and excess: assumption.
    """

    name = "incast"
    kind = IncidentKind.INCAST
    SENDERS, PERIOD_S, EXCESS = 12, 0.1, 0.25

    def begin(self) -> None:
        self.nic = self.choose_nic()
        machine = self.machine
        layout, nic = machine.layout, machine.layout.nics[self.nic]
        others = [h for h in layout.hosts if h != nic.device]
        chosen = self.rng.permutation(len(others))[: self.SENDERS]
        senders = np.array([layout.device_nics[others[k]][nic.rail] for k in chosen])
        self._each = (1.0 + self.EXCESS * self.strength) * nic.bits_per_second / 8 / len(senders)
        self._rows: Ints = machine.fabric.add_flows(
            senders, np.full(len(senders), self.nic), np.arange(len(senders)), floor=self._each
        )
        machine.routes.route(machine.fabric, self._rows)
        self._next_s = 0.0

    def step(self, elapsed_s: float) -> None:
        if elapsed_s >= self._next_s:
            self._next_s += self.PERIOD_S
            backlog = self.machine.fabric.flows.backlog
            backlog[self._rows] = np.minimum(backlog[self._rows] + self._each * self.PERIOD_S, 10 * self._each)

    def end(self) -> None:
        self.machine.fabric.remove_flows(self._rows)
