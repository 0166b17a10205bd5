"""Target frozen: it answers, but all its values are unchanged although its counters must have moved."""

from dataclasses import dataclass

import numpy as np

from analytics.detectors.spec import Detector, Verdicts, computed_evidence
from analytics.state.lookup import worst_of_each
from analytics.state.memory import Memory
from analytics.state.rates import NEVER
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind
from telemetry.series import series_key


@dataclass(frozen=True, kw_only=True)
class TargetFrozen(Detector):
    """Frozen targets are found in ``analytics.view.quality``, because all detectors abstain on them."""

    name: str = "target_frozen"
    kind: FindingKind = FindingKind.TARGET_FROZEN
    clear_intervals: float = 0.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        index, targets = view.index, view.targets
        objects = index.device_objects
        known = targets["moved_ns"] != NEVER
        frozen = targets["frozen"] & known
        unchanged_ns = np.where(known, targets["seen_ns"] - targets["moved_ns"], 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.where(frozen, np.maximum(1.0, unchanged_ns * 1e-9 / targets["repeats_s"]), 0.0)
        rows = np.flatnonzero(known)
        rows = rows[worst_of_each(objects[rows], score[rows])]

        def unchanged(row: int) -> str:
            labels = {"device": index.devices[int(rows[row])], "target": index.targets.names[int(rows[row])]}
            return series_key("unchanged", labels)

        evidence = computed_evidence(unchanged_ns[rows] * 1e-9, 0.0, "seconds", unchanged)
        times_ns, gaps_ns = targets["seen_ns"][rows], (view.target_cadence_s[rows] * 1e9).astype(np.int64)
        onsets_ns = targets["moved_ns"][rows] + gaps_ns
        cadence_s = view.target_cadence_s[rows]
        return [Verdicts(objects[rows], times_ns, frozen[rows], score[rows], (evidence,), 0.9, onsets_ns, cadence_s)]
