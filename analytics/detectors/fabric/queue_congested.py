"""Queue congestion: a buffer that is near the level at which the switch sends PFC pause."""

from collections.abc import Mapping
from dataclasses import dataclass

from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind

_NEAR = 0.8  # of the pause threshold: above that one burst of a round-trip time crosses it


def cleared_by_itself(labels: Mapping[str, str]) -> bool:
    """Peaks since the last poll or interval; one that only an operator clears may be of any time in the past."""
    return labels.get("reset", "interval") in ("read", "interval")


@dataclass(frozen=True, kw_only=True)
class QueueCongested(Detector):
    """Judges occupancy and its peaks against ``threshold_bytes``, the buffer use at which the switch pauses."""

    threshold_bytes: float
    name: str = "queue_congested"
    kind: FindingKind = FindingKind.QUEUE_CONGESTED
    metrics: tuple[str, ...] = ("fabric_queue_occupancy_peak_bytes", "fabric_queue_occupancy_bytes")
    persist: int = 2
    fire_immediately_score: float = 3.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        peaks = view.column(self.metrics[0], cleared_by_itself)
        column = peaks if peaks.fresh.any() else view.column(self.metrics[1])
        return [verdicts_of(column, column.values / (_NEAR * self.threshold_bytes), confidence=0.7)]
