"""Series vanished: a target still answers, but without a port, GPU or storage target, or without some of its series.

Where the others keep theirs, absence is no gap in the telemetry but a symptom of the object. A GPU without any series
is ``gpu_lost``.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import Detector, EvidenceColumns, Verdicts
from analytics.state.memory import Memory
from analytics.state.series_index import SeriesIndex
from analytics.view.tick_view import TickView
from common.jit import compiled
from telemetry.findings import FindingKind
from telemetry.objects import ObjectKind

_KINDS = (ObjectKind.PORT, ObjectKind.GPU, ObjectKind.STORAGE_TARGET)
_MISSED_GAPS = 1.5  # usual ones of the series
_RECENT_GAPS = 2.0  # usual ones of the target
_SERIES_MIN = 3  # that vanish together; a single one may be a quirk of the exporter
_SHARE_MAX = 1 / 3  # of a target's series, or of a metric's: more of either is the exporter and not the object


@dataclass(frozen=True, kw_only=True)
class SeriesVanished(Detector):
    """Judges when each series was last collected, against the newest collection of its target."""

    name: str = "series_vanished"
    kind: FindingKind = FindingKind.DEVIATION
    clear_intervals: float = 1.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        parts, columns = view.data.per_series(_parts), view.index.columns
        targets, answered_ns, answers = parts.targets, view.targets["seen_ns"], _answers(view)
        seen_ns, cadence_s = columns["seen_ns"], view.cadence_s
        missing = np.empty(parts.sids.size, np.bool_)
        _miss(parts.sids, targets, answers, answered_ns, seen_ns, view.series["gaps_s"], cadence_s, missing)
        rows = parts.first.copy()
        vanished = np.zeros(parts.first.size)
        if missing.any():
            missing &= ~_mostly(missing, targets)
            missing &= ~_mostly(missing, parts.metrics)
            rows[parts.part[missing]] = np.flatnonzero(missing)
            vanished = np.bincount(parts.part, missing).astype(np.float64)
            vanished[parts.gpu & (vanished == parts.sizes)] = 0.0
        elif not view.watching:
            return []
        judged = answers[targets[rows]] & ((vanished > 0) | view.watched[columns["object"][parts.sids[rows]]])
        rows, score = rows[judged], vanished[judged] / _SERIES_MIN
        sids, times_ns = parts.sids[rows], answered_ns[targets[rows]]
        gone_s = (times_ns - seen_ns[sids]) * 1e-9
        evidence = EvidenceColumns(sids, gone_s, np.zeros(rows.size), unit="seconds without a sample")
        onsets_ns = seen_ns[sids] + (cadence_s[sids] * 1e9).astype(np.int64)  # the first collection without it
        return [Verdicts(columns["object"][sids], times_ns, score >= 1.0, score, (evidence,), 0.6, onsets_ns)]


def _answers(view: TickView) -> NDArray[np.bool_]:
    """Targets with a new collection that is not a repetition of an old one."""
    recent = view.end_ns - view.targets["seen_ns"].clip(0) <= _RECENT_GAPS * 1e9 * view.target_cadence_s
    return np.asarray(recent & ~view.targets["frozen"])


@compiled
def _miss(
    sids: NDArray[np.int64],
    targets: NDArray[np.int64],
    answers: NDArray[np.bool_],
    answered_ns: NDArray[np.int64],
    seen_ns: NDArray[np.int64],
    gaps_s: NDArray[np.float64],
    cadence_s: NDArray[np.float64],
    missing: NDArray[np.bool_],
) -> None:
    """Whether each of the series has missed collections of its target; seen_ns, gaps_s, cadence_s: of all series."""
    for i in range(sids.size):
        s, target = sids[i], targets[i]
        known = answers[target] and gaps_s[s, -1] > 0
        missing[i] = known and answered_ns[target] - seen_ns[s] >= _MISSED_GAPS * np.int64(cadence_s[s] * 1e9)


def _mostly(missing: NDArray[np.bool_], groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Rows of whose group too many are missing."""
    return np.asarray((np.bincount(groups, weights=missing) > _SHARE_MAX * np.bincount(groups))[groups])


@dataclass(frozen=True)
class _Parts:
    """Series of objects that exist independently of the workload: ports, GPUs, storage targets.

    targets, metrics: of each series. part: of each the number of its object, below k. first: int64[k], a row of each
    object. sizes: int64[k], series of each object. gpu: bool[k].
    """

    sids: NDArray[np.int64]
    targets: NDArray[np.int64]
    metrics: NDArray[np.int64]
    part: NDArray[np.int64]
    first: NDArray[np.int64]
    sizes: NDArray[np.int64]
    gpu: NDArray[np.bool_]


def _parts(index: SeriesIndex) -> _Parts:
    kinds = [name.partition(":")[0] for name in index.objects.names]
    lasting = np.array([kind in _KINDS for kind in kinds], bool)
    objects = index.columns["object"]
    sids = np.flatnonzero(lasting[objects]) if kinds else np.zeros(0, np.int64)
    numbers, first, part = np.unique(objects[sids], return_index=True, return_inverse=True)
    gpu = np.array([kinds[number] == ObjectKind.GPU for number in numbers.tolist()], bool)
    targets, metrics = (index.columns[name][sids].astype(np.int64) for name in ("target", "metric"))
    return _Parts(sids, targets, metrics, part, first, np.bincount(part, minlength=first.size), gpu)
