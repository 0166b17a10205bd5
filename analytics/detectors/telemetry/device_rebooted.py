"""Device rebooted: most of its counters started again, or its boot time moved."""

import math
from dataclasses import dataclass

import numpy as np

from analytics.detectors.spec import Evidence, Verdicts, verdicts_of
from analytics.state.rates import NEVER
from analytics.state.view import View, worst_of_each
from telemetry.findings import FindingKind
from telemetry.series import series_key

_RECENT_INTERVALS = 1.5


@dataclass(frozen=True)
class DeviceRebooted:
    """A finding for a moment: it clears by itself some intervals later."""

    name: str = "device_rebooted"
    kind: FindingKind = FindingKind.DEVICE_REBOOTED
    metrics: tuple[str, ...] = ("node_boot_time_seconds",)
    persist: int = 1
    sure: float = math.inf
    clear_intervals: float = 6.0

    def judge(self, view: View) -> list[Verdicts]:
        since_ns = view.end_ns - round(_RECENT_INTERVALS * view.config.interval_ns)
        boots = view.column(self.metrics[0])
        booted = np.where(view.series["moved_ns"][boots.sids] >= since_ns, 1.0, 0.0)
        return [self._resets(view, since_ns), verdicts_of(boots, booted, confidence=1.0)]

    def _resets(self, view: View, since_ns: int) -> Verdicts:
        registry, targets = view.registry, view.targets
        objects = registry.device_numbers()
        score = np.where(targets["reset_ns"] >= since_ns, 1.0, 0.0)
        heard = np.flatnonzero(targets["seen_ns"] != NEVER)
        rows = heard[worst_of_each(objects[heard], score[heard])]

        def counters(row: int) -> str:
            target = int(rows[row])
            return series_key("resets", {"device": registry.devices[target], "target": registry.targets.names[target]})

        resets = targets["reset_count"][rows].astype(np.float64)
        evidence = Evidence(np.full(rows.size, -1), resets, np.zeros(rows.size), "counters", counters)
        return Verdicts(objects[rows], targets["seen_ns"][rows], score[rows] >= 1.0, score[rows], (evidence,), 0.85)
