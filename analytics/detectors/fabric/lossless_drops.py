"""Drops on a lossless queue: with PFC there are none, so the first one is a finding."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from analytics.detectors.spec import Verdicts, verdicts_of
from analytics.state.view import Accept, View
from telemetry.findings import FindingKind

_PER_SECOND = 100.0  # drops a second that double the score: one go-back-N recovery a collective


@dataclass(frozen=True)
class LosslessDrops:
    """queues: the queues and priority groups that must not drop."""

    queues: tuple[str, ...]
    name: str = "lossless_drops"
    kind: FindingKind = FindingKind.LOSSLESS_DROPS
    metrics: tuple[str, ...] = ("fabric_queue_dropped_packets_total", "fabric_pg_dropped_packets_total")
    persist: int = 1
    sure: float = math.inf
    clear_intervals: float = 3.0
    _accept: list[Accept] = field(default_factory=list)

    def __post_init__(self) -> None:
        def lossless(labels: Mapping[str, str]) -> bool:
            return (labels.get("queue") or labels.get("pg")) in self.queues

        self._accept.append(lossless)

    def judge(self, view: View) -> list[Verdicts]:
        drops = view.joined([view.column(metric, self._accept[0]) for metric in self.metrics])
        score = np.where(drops.values > 0, 1.0 + drops.values / _PER_SECOND, 0.0)
        return [verdicts_of(drops, score, normals=np.zeros(len(drops)))]
