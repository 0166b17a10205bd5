"""Drops on a lossless queue: with PFC there are none, so the first one is a finding."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind

_PER_SECOND = 100.0  # drops a second that double the score: one go-back-N recovery a collective


@dataclass(frozen=True)
class _InQueues:
    """Selects the series of these queues and priority groups."""

    queues: tuple[str, ...]

    def __call__(self, labels: Mapping[str, str]) -> bool:
        return (labels.get("queue") or labels.get("pg")) in self.queues


@dataclass(frozen=True, kw_only=True)
class LosslessDrops(Detector):
    """queues: the queues and priority groups that must not drop."""

    queues: tuple[str, ...]
    name: str = "lossless_drops"
    kind: FindingKind = FindingKind.LOSSLESS_DROPS
    metrics: tuple[str, ...] = ("fabric_queue_dropped_packets_total", "fabric_pg_dropped_packets_total")

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        drops = view.joined([view.column(metric, _InQueues(self.queues)) for metric in self.metrics])
        score = np.where(drops.values > 0, 1.0 + drops.values / _PER_SECOND, 0.0)
        return [verdicts_of(drops, score, normals=np.zeros(len(drops)))]
