"""Deviation from the own baseline, for a few metrics that support other evidence; by itself it proves little."""

import math
from dataclasses import dataclass

import numpy as np

from analytics.detectors.base import Verdicts, verdicts_of
from analytics.scored import LEAST
from analytics.view import View
from telemetry.findings import FindingKind


@dataclass(frozen=True)
class Deviation:
    """Judges both the anomaly score of the series and an absolute least value."""

    name: str = "deviation"
    kind: FindingKind = FindingKind.DEVIATION
    metrics: tuple[str, ...] = tuple(LEAST)
    persist: int = 2
    sure: float = math.inf
    clear_intervals: float = 3.0

    def judge(self, view: View) -> list[Verdicts]:
        columns = [view.column(metric) for metric in LEAST]
        least = np.concatenate([c.values / limit for c, limit in zip(columns, LEAST.values(), strict=True)])
        column = view.joined(columns)
        return [verdicts_of(column, np.minimum(column.anomaly, least), confidence=0.3)]
