"""Inlet air: the air at the inlet of a host or switch is too warm, or far warmer than its own normal."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind
from telemetry.limits import INLET_ALLOWED_CELSIUS, INLET_RECOMMENDED_CELSIUS

_RISE_KELVIN = 6.0  # above its own normal, where that leaves the recommended range
_INLET = re.compile("inlet|intake|ambient", re.IGNORECASE)


def of_inlet(labels: Mapping[str, str]) -> bool:
    return _INLET.search(labels.get("sensor", "")) is not None


@dataclass(frozen=True, kw_only=True)
class InletHot(Detector):
    """Judges the sensors whose name says that they are at the inlet."""

    name: str = "inlet_hot"
    kind: FindingKind = FindingKind.OVERHEATED
    metrics: tuple[str, ...] = ("node_temperature_celsius", "fabric_device_temperature_celsius")
    persist: int = 3
    clear_intervals: float = 6.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        air = view.joined([view.column(metric, of_inlet) for metric in self.metrics])
        rise = np.nan_to_num((air.values - air.level) / _RISE_KELVIN)
        score = np.fmax(air.values / INLET_ALLOWED_CELSIUS, np.minimum(rise, air.values / INLET_RECOMMENDED_CELSIUS))
        return [verdicts_of(air, score)]
