"""GPU lost: its series vanished while the exporter of its host still answers (fallen off the bus).

One collection is enough where it has no series of a GPU that is in every collection as a rule, and has those of another
GPU: the exporter works, and nothing is late.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import NO_VERDICTS, Detector, EvidenceColumns, Verdicts
from analytics.state.lookup import worst_of_each
from analytics.state.memory import Memory
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind

_MISSED_GAPS, _RECENT_GAPS = 1.5, 2.0  # usual gaps of the series, of its target
_AT_ONCE = 1.0


@dataclass(frozen=True, kw_only=True)
class GpuLost(Detector):
    """Judges when a GPU was last collected, against the newest collection of that exporter."""

    name: str = "gpu_lost"
    kind: FindingKind = FindingKind.GPU_LOST
    metrics: tuple[str, ...] = ("gpu_power_watts", "gpu_temperature_celsius")
    clear_intervals: float = 1.0
    light: bool = True

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        column = view.joined([view.column(metric) for metric in self.metrics])
        seen_ns = view.index.columns["seen_ns"][column.sids]
        if not view.watching and (seen_ns >= view.targets["seen_ns"][column.targets]).all():
            return [NO_VERDICTS]  # none is missing in the newest collection
        rows = worst_of_each(column.objects, seen_ns.astype(np.float64))  # the series that was seen last
        column, seen_ns = column.only(rows), seen_ns[rows]
        answered_ns = view.targets["seen_ns"][column.targets]
        recent_ns = _RECENT_GAPS * 1e9 * view.target_cadence_s[column.targets]
        answers = (view.end_ns - answered_ns <= recent_ns) & (view.targets["usual_s"][column.targets] > 0)
        column, seen_ns, answered_ns = column.only(answers), seen_ns[answers], answered_ns[answers]
        gone_s = (answered_ns - seen_ns) * 1e-9
        if not view.watching and not (gone_s > 0).any():
            return [NO_VERDICTS]
        gap_s = view.cadence_of(column.sids)
        score = gone_s / (_MISSED_GAPS * gap_s)
        score[_alone(view, column, gone_s, (gone_s > 0) & (score < _AT_ONCE))] = _AT_ONCE
        onsets_ns = seen_ns + (gap_s * 1e9).astype(np.int64)  # the first collection without it
        evidence = EvidenceColumns(column.sids, gone_s, np.zeros(len(column)), unit="seconds without a sample")
        return [Verdicts(column.objects, answered_ns, score >= 1.0, score, (evidence,), 0.95, onsets_ns)]


def _alone(
    view: TickView, column: Column, gone_s: NDArray[np.float64], missing: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """bool[GPUs]: which of those that have just gone missing did so alone, and as a whole."""
    if not missing.any():
        return missing
    size = view.targets["seen_ns"].size
    others = np.bincount(column.targets[gone_s <= 0], minlength=size)[column.targets] > 0
    always = view.cadence_of(column.sids) <= _MISSED_GAPS * view.target_cadence_s[column.targets]
    found = np.asarray(missing & others & always)
    if found.any():
        objects, seen_ns = view.index.columns["object"], view.index.columns["seen_ns"]
        newest_ns = np.zeros(len(view.index.objects), np.int64)
        part = np.flatnonzero(np.isin(objects, column.objects[found]))
        np.maximum.at(newest_ns, objects[part], seen_ns[part])
        found &= newest_ns[column.objects] < view.targets["seen_ns"][column.targets]
    return found
