"""ECN marking out of proportion: a queue marks far more of its packets than it normally does."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.detectors.usual_heights import (
    USUAL_HEIGHTS,
    USUAL_HEIGHTS_FORMAT,
    USUAL_HEIGHTS_MIGRATIONS,
    unusual,
)
from analytics.snapshot.block import Migration
from analytics.state.lookup import lookup
from analytics.state.memory import Memory, MemoryColumn
from analytics.state.series_index import SeriesIndex
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind

# Vendors count marks differently (some include packets that arrived marked), so the queue's own baseline decides; the
# share only makes a few marks on a quiet queue irrelevant.
_SHARE_MIN = 0.02
_SIGMAS = 8.0
_MARKS_PER_SECOND_MIN = 100.0


@dataclass(frozen=True, kw_only=True)
class EcnMarking(Detector):
    """Judges marks per second against the queue's own baseline, against the packets that it sent, and against how often
    it marked as many; see ``usual_heights``."""

    name: str = "ecn_marking"
    kind: FindingKind = FindingKind.ECN_MARKING
    metrics: tuple[str, ...] = ("fabric_queue_ecn_marked_packets_total", "fabric_queue_transmit_packets_total")
    memory: tuple[MemoryColumn, ...] = USUAL_HEIGHTS
    memory_format: int = USUAL_HEIGHTS_FORMAT
    memory_migrations: Mapping[int, Migration] = field(default_factory=lambda: USUAL_HEIGHTS_MIGRATIONS, hash=False)

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        marks, packets = view.column(self.metrics[0]), view.column(self.metrics[1])
        sent = np.append(packets.values, np.nan)[view.data.per_series(_sent_by)]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(sent > 0, marks.values / sent, np.nan)
        by_share = np.where(np.isnan(share), np.inf, share / _SHARE_MIN)
        by_count = marks.values / _MARKS_PER_SECOND_MIN
        score = np.minimum(np.minimum(by_share, by_count), marks.score / _SIGMAS)
        score, onsets = unusual(view, memory, marks, score)
        return [verdicts_of(marks, score, confidence=0.6, onsets_ns=onsets)]


def _sent_by(index: SeriesIndex) -> NDArray[np.int64]:
    """int64[k]: for each counter of marks the row of the packets of the same queue, -1 where they are not counted."""
    marks, packets = (_queues(index, metric) for metric in EcnMarking.metrics)
    return lookup(packets, marks)


def _queues(index: SeriesIndex, metric: str) -> NDArray[np.int64]:
    """Object and labels of each series as one number: the same for the two counters of one queue."""
    sids = index.select(metric)
    return np.asarray(index.columns["object"][sids] * len(index.variants) + index.columns["variant"][sids])
