"""Faults of a whole switch: it is off, and boots when the fault ends."""

from simulator.faults.base import Fault
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef, device


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
        return self.machine.layout.spines


class SpineDown(_OnSwitch):
    """A spine fails: its links go dark, the other spines carry its traffic."""

    name = "spine-down"
    kind = IncidentKind.DEVICE_DOWN
    target_form = "spine"


class SwitchReboot(_OnSwitch):
    """A switch restarts: it is unreachable for a while, and its counters restart at 0."""

    name = "switch-reboot"
    kind = IncidentKind.DEVICE_REBOOTED
    target_form = "switch"
    lasts_s = 25.0

    def candidates(self) -> tuple[str, ...]:
        layout = self.machine.layout
        return layout.switches if self.target else layout.spines
