"""Deviation from the own baseline, for a few metrics that support other evidence; by itself it proves little."""

import math
from dataclasses import dataclass

import numpy as np

from analytics.detectors.base import Verdicts, verdicts_of
from analytics.view import View
from telemetry.findings import FindingKind

_SIGMAS = 10.0
# Metric -> the least value that matters, whatever the baseline says.
_LEAST = {
    "nic_pcie_stalled_ratio": 0.1,
    "rdma_out_of_sequence_total": 10.0,
    "rdma_packet_sequence_errors_total": 10.0,
    "rdma_ack_timeouts_total": 1.0,
    "gpu_pcie_replays_total": 1.0,
    "gpu_nvlink_errors_total": 1.0,
}


@dataclass(frozen=True)
class Deviation:
    """Judges both the distance from the baseline and an absolute least value."""

    name: str = "deviation"
    kind: FindingKind = FindingKind.DEVIATION
    metrics: tuple[str, ...] = tuple(_LEAST)
    persist: int = 2
    sure: float = math.inf
    clear_intervals: float = 3.0

    def judge(self, view: View) -> list[Verdicts]:
        columns = [view.column(metric) for metric in _LEAST]
        least = np.concatenate([c.values / limit for c, limit in zip(columns, _LEAST.values(), strict=True)])
        column = view.joined(columns)
        return [verdicts_of(column, np.minimum(column.score / _SIGMAS, least), confidence=0.3)]
