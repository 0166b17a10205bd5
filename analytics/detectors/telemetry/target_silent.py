"""Target silent: nothing comes of it, or its collections fail, for longer than its cadence and its losses explain."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import Detector, Verdicts, computed_evidence
from analytics.detectors.telemetry.gpu_memory import METRIC, last_memory
from analytics.state.lookup import worst_of_each
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind
from telemetry.series import series_key

_FAILED_MAX = 2  # collections in a row: one may be a lost packet
# Of the silence that is news. Who fails says more than who is not heard of: where nothing was ever lost, two failures
# are enough, the second of which may come a little early.
_FAILING = 0.7
_PARTIAL = 0.5  # confidence when another target of the same device still answers: it is not the device
_ALL = 0.95


@dataclass(frozen=True, kw_only=True)
class TargetSilent(Detector):
    """Judges targets; a device with several by the worst, with full confidence only when all are silent."""

    name: str = "target_silent"
    kind: FindingKind = FindingKind.TARGET_SILENT
    metrics: tuple[str, ...] = (METRIC,)
    by_targets: bool = True
    clear_intervals: float = 0.0
    light: bool = True

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        score, devices = _score(view), view.index.device_objects
        rows = worst_of_each(devices, score)
        objects = devices[rows]  # ascending, each once
        at = np.searchsorted(objects, devices)
        answering = np.bincount(at, weights=score < 1.0, minlength=rows.size)
        confidence = np.where(answering > 0, _PARTIAL, _ALL)

        def up(row: int) -> str:
            target = int(rows[row])
            labels = {"device": view.index.devices[target], "target": view.index.targets.names[target]}
            return series_key("up", labels)

        answers = np.where(score[rows] >= 1.0, 0.0, 1.0)
        evidence = computed_evidence(answers, 1.0, "state", up)
        times_ns = np.where(score >= 1.0, view.end_ns, view.targets["seen_ns"])[rows]
        breached = score[rows] >= 1.0
        onsets_ns, cadence_s = _onsets_ns(view)[rows], view.target_cadence_s[rows]
        shown = (evidence, last_memory(view, objects)) if breached.any() else (evidence,)
        return [Verdicts(objects, times_ns, breached, score[rows], shown, confidence, onsets_ns, cadence_s)]


def _score(view: TickView) -> NDArray[np.float64]:
    targets = view.targets
    limit_s = targets["silent_after_s"]
    quiet = (view.end_ns - targets["quiet_ns"]) * 1e-9 / limit_s
    failing_s = (view.end_ns - targets["down_ns"].clip(0)) * 1e-9 + view.target_cadence_s
    failing = np.minimum(targets["down_count"] / _FAILED_MAX, failing_s / (_FAILING * limit_s))
    return np.asarray(np.maximum(quiet, failing))


def _onsets_ns(view: TickView) -> NDArray[np.int64]:
    """The first collection that failed or is missing."""
    due_ns = view.targets["quiet_ns"] + (view.target_cadence_s * 1e9).astype(np.int64)
    return np.where(view.targets["down_count"] > 0, view.targets["down_ns"], due_ns)
