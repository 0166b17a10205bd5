"""Deviation from the own past, for metrics that support other evidence; by itself it proves little."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analytics.detectors.spec import Verdicts, verdicts_of
from analytics.state.view import View
from telemetry.findings import FindingKind


@dataclass(frozen=True)
class Deviation:
    """Judges both the anomaly score of the series and an absolute least value, by metric."""

    least: Mapping[str, float]
    name: str = "deviation"
    kind: FindingKind = FindingKind.DEVIATION
    persist: int = 2
    sure: float = math.inf
    clear_intervals: float = 3.0

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(self.least)

    def judge(self, view: View) -> list[Verdicts]:
        if not self.least:
            return []
        columns = [view.column(metric) for metric in self.least]
        least = np.concatenate([c.values / limit for c, limit in zip(columns, self.least.values(), strict=True)])
        column = view.joined(columns)
        return [verdicts_of(column, np.minimum(column.anomaly, least), confidence=0.3)]
