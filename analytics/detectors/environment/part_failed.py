"""Power and cooling parts: a power supply, fan or sensor of a host or switch reports a failure that is new."""

from dataclasses import dataclass

import numpy as np

from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory
from analytics.state.rates import NEVER
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind

_FAILED, _WARNING = 2.0, 1.0  # IPMI 2.0 has non-critical and critical; SONiC only ok or not


@dataclass(frozen=True, kw_only=True)
class PartFailed(Detector):
    """A failure that is there when first seen is how the site runs it (an empty bay, a second feed without a cable)."""

    name: str = "part_failed"
    kind: FindingKind = FindingKind.PART_FAILED
    metrics: tuple[str, ...] = ("fabric_device_part_ok", "node_sensor_severity")
    persist: int = 2
    clear_intervals: float = 1.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        switches, hosts = (view.column(metric) for metric in self.metrics)
        bad = np.concatenate(
            [np.where(switches.values < 1.0, _FAILED, 0.0), np.minimum(hosts.values / _WARNING, _FAILED)]
        )
        parts = view.joined([switches, hosts])
        changed = view.series["moved_ns"][parts.sids] != NEVER
        normals = np.concatenate([np.ones(len(switches)), np.zeros(len(hosts))])
        return [verdicts_of(parts, np.where(changed, bad, 0.0), normals=normals)]
