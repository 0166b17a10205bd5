"""Deviation from a series' own past, for metrics that support other evidence; alone it is weak evidence."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind


@dataclass(frozen=True, kw_only=True)
class Deviation(Detector):
    """Judges both the anomaly score of the series and an absolute minimum, by metric."""

    least: Mapping[str, float]
    name: str = "deviation"
    kind: FindingKind = FindingKind.DEVIATION
    persist: int = 2

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        if not self.least:
            return []
        columns = [view.column(metric) for metric in self.least]
        least = np.concatenate([c.values / limit for c, limit in zip(columns, self.least.values(), strict=True)])
        column = view.joined(columns)
        return [verdicts_of(column, np.minimum(column.anomaly, least), confidence=0.3)]
