"""Faults of a whole switch."""

from simulator.faults.base import Fault
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef, device


class SpineDown(Fault):
    """A spine fails: its links go dark, the other spines carry its traffic."""

    name = "spine-down"
    kind = IncidentKind.DEVICE_DOWN
    target_form = "spine"
    switch = ""

    @property
    def root(self) -> ObjectRef:
        return device(self.switch)

    def begin(self) -> None:
        spines = self.machine.layout.spines
        self.switch = self.choose(spines, spines)
        self.machine.power([self.switch], False, "lost its fabric")

    def end(self) -> None:
        self.machine.power([self.switch], True, "")


class SwitchReboot(Fault):
    """A switch restarts: it is unreachable for a while, and its counters restart at 0."""

    name = "switch-reboot"
    kind = IncidentKind.DEVICE_REBOOTED
    target_form = "switch"
    lasts_s = 25.0
    switch = ""

    @property
    def root(self) -> ObjectRef:
        return device(self.switch)

    def begin(self) -> None:
        layout = self.machine.layout
        among = layout.switches if self.target else layout.spines
        self.switch = self.choose(among, among)
        self.machine.power([self.switch], False, "lost its fabric")

    def end(self) -> None:
        self.machine.power([self.switch], True, "")
