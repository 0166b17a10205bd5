"""Row remapping: a GPU replaced rows of its memory, waits for a reset to do it, or has no spare row left."""

from dataclasses import dataclass

import numpy as np

from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind

# NVIDIA, "GPU Memory Error Management" (A100 and later): a failed remapping is a reason to return the board; a pending
# one takes effect with the next reset, and until then the row stays in use.
_SCORES = {"gpu_row_remap_failed": 4.0, "gpu_row_remap_pending": 2.0}
_REMAPPED = 1.5  # a new row: remapping worked, but the memory gets worse
_RECENT_NS = 900 * 10**9


@dataclass(frozen=True, kw_only=True)
class GpuRowRemap(Detector):
    """States count for as long as they are reported; a count only when it grows."""

    name: str = "gpu_row_remap"
    kind: FindingKind = FindingKind.GPU_ROW_REMAP
    metrics: tuple[str, ...] = (*_SCORES, "gpu_remapped_rows_total")
    fire_immediately_score: float = 1.0
    clear_intervals: float = 1.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        states = [view.column(metric) for metric in _SCORES]
        rows = view.column(self.metrics[-1])
        count, moved_ns = view.series["raw"][rows.sids], view.series["moved_ns"][rows.sids]
        grew = (count > 0) & (moved_ns >= view.end_ns - _RECENT_NS)
        series = view.joined([*states, rows])
        score = [column.values * weight for column, weight in zip(states, _SCORES.values(), strict=True)]
        score.append(np.where(grew, _REMAPPED, 0.0))
        values = np.concatenate([*(column.values for column in states), count])
        return [verdicts_of(series, np.concatenate(score), values=values, normals=np.zeros(len(series)), unit="rows")]
