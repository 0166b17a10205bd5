"""ECN marking out of proportion: a queue marks far more of its packets than it normally does."""

from dataclasses import dataclass

import numpy as np

from analytics.detectors.base import Verdicts, verdicts_of
from analytics.view import View
from telemetry.findings import FindingKind

# Vendors count marks differently (some include packets that arrived marked), so the own baseline decides, and the
# share only keeps a handful of marks on a quiet queue from mattering.
_SHARE_MIN = 0.02
_SIGMAS = 8.0
_MARKS_PER_SECOND_MIN = 100.0


@dataclass(frozen=True)
class EcnMarking:
    """Judges marks per second against the queue's own baseline, and against the packets that it sent."""

    name: str = "ecn_marking"
    kind: FindingKind = FindingKind.ECN_MARKING
    metrics: tuple[str, ...] = ("fabric_queue_ecn_marked_packets_total", "fabric_queue_transmit_packets_total")
    persist: int = 2
    sure: float = 3.0
    clear_intervals: float = 3.0

    def judge(self, view: View) -> list[Verdicts]:
        marks, packets = view.column(self.metrics[0]), view.column(self.metrics[1])
        sent = dict(zip(_places(view, packets.sids), packets.values.tolist(), strict=True)) if len(packets) else {}
        sent_by_row = np.array([sent.get(place, np.nan) for place in _places(view, marks.sids)], np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(sent_by_row > 0, marks.values / sent_by_row, np.nan)
        by_share = np.where(np.isnan(share), np.inf, share / _SHARE_MIN)
        by_count = marks.values / _MARKS_PER_SECOND_MIN
        score = np.minimum(np.minimum(by_share, by_count), marks.score / _SIGMAS)
        return [verdicts_of(marks, score, confidence=0.6)]


def _places(view: View, sids: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[tuple[int, int]]:
    """Object and labels of each series: the same for the two counters of one queue."""
    columns = view.registry.columns
    return list(zip(columns["object"][sids].tolist(), columns["variant"][sids].tolist(), strict=True))
