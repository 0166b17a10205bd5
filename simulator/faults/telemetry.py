"""Faults of the telemetry itself."""

from simulator.faults.base import Fault
from simulator.layout import Exporter, Layout
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef, device


class ExporterFrozen(Fault):
    """An exporter keeps answering with the same values."""

    name = "exporter-frozen"
    kind = IncidentKind.TELEMETRY_LOST
    target_form = "exporter/device"
    exporter, host = Exporter.DCGM, ""

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return [f"{e.exporter}/{e.device}" for e in layout.endpoints if e.device]

    @property
    def root(self) -> ObjectRef:
        return device(self.host)

    def begin(self) -> None:
        endpoints = self.machine.layout.endpoints
        among = [e for e in endpoints if e.device and (self.target or e.exporter is Exporter.DCGM)]
        chosen = self.choose(among, [f"{e.exporter}/{e.device}" for e in among])
        self.exporter, self.host = chosen.exporter, chosen.device
        self.machine.freeze(self.exporter, self.host, True)

    def end(self) -> None:
        self.machine.freeze(self.exporter, self.host, False)
