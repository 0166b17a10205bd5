"""Target frozen: it answers, but repeats itself bit by bit although its counters must have moved."""

from dataclasses import dataclass

import numpy as np

from analytics.detectors.spec import Detector, EvidenceColumns, Verdicts
from analytics.state.lookup import worst_of_each
from analytics.state.memory import Memory
from analytics.state.rates import NEVER
from analytics.state.view import TickView
from telemetry.findings import FindingKind
from telemetry.series import series_key


@dataclass(frozen=True, kw_only=True)
class TargetFrozen(Detector):
    """What counts as frozen is decided in ``analytics.state.quality``, because all detectors abstain on it."""

    name: str = "target_frozen"
    kind: FindingKind = FindingKind.TARGET_FROZEN
    clear_intervals: float = 0.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        index, targets = view.index, view.targets
        objects = index.device_objects
        heard = targets["moved_ns"] != NEVER
        frozen = targets["frozen"] & heard
        still_ns = np.where(heard, targets["seen_ns"] - targets["moved_ns"], 0)
        score = np.where(frozen, np.maximum(1.0, still_ns / (3 * view.config.interval_ns)), 0.0)
        rows = np.flatnonzero(heard)
        rows = rows[worst_of_each(objects[rows], score[rows])]

        def unchanged(row: int) -> str:
            labels = {"device": index.devices[int(rows[row])], "target": index.targets.names[int(rows[row])]}
            return series_key("unchanged", labels)

        evidence = EvidenceColumns(
            np.full(rows.size, -1), still_ns[rows] * 1e-9, np.zeros(rows.size), "seconds", unchanged
        )
        times_ns, onsets_ns = targets["seen_ns"][rows], targets["moved_ns"][rows] + view.config.interval_ns
        return [Verdicts(objects[rows], times_ns, frozen[rows], score[rows], (evidence,), 0.9, onsets_ns)]
