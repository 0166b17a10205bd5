"""Device rebooted: most of its counters were reset, or its boot time changed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import Detector, Verdicts, computed_evidence, verdicts_of
from analytics.state.lookup import worst_of_each
from analytics.state.memory import Memory, MemoryColumn
from analytics.state.rates import NEVER
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind
from telemetry.series import series_key

SAME_BOOT_S = 20.0
"""A boot time that moves by less is that of the same boot: it is worked out from a clock, and clocks are set."""

_RECENT_INTERVALS = 1.5


@dataclass(frozen=True, kw_only=True)
class DeviceRebooted(Detector):
    """A finding about a moment: it clears some intervals later."""

    name: str = "device_rebooted"
    kind: FindingKind = FindingKind.DEVICE_REBOOTED
    metrics: tuple[str, ...] = ("node_boot_time_seconds",)
    by_targets: bool = True
    clear_intervals: float = 6.0
    light: bool = True
    memory: tuple[MemoryColumn, ...] = (MemoryColumn("boot_s"), MemoryColumn("booted_ns", dtype="i8"))
    memory_format: int = 2

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        since_ns = view.end_ns - round(_RECENT_INTERVALS * view.config.interval_ns)
        boots = view.column(self.metrics[0])
        booted = np.where(_booted_ns(view, boots, memory) >= since_ns, 1.0, 0.0)
        return [self._resets(view, since_ns), verdicts_of(boots, booted, confidence=1.0)]

    def _resets(self, view: TickView, since_ns: int) -> Verdicts:
        index, targets = view.index, view.targets
        objects = index.device_objects
        score = np.where(targets["reset_ns"] >= since_ns, 1.0, 0.0)
        known = np.flatnonzero(targets["seen_ns"] != NEVER)
        rows = known[worst_of_each(objects[known], score[known])]

        def counters(row: int) -> str:
            target = int(rows[row])
            return series_key("resets", {"device": index.devices[target], "target": index.targets.names[target]})

        resets = targets["reset_count"][rows].astype(np.float64)
        evidence = computed_evidence(resets, 0.0, "counters", counters)
        times_ns, breached, cadence_s = targets["seen_ns"][rows], score[rows] >= 1.0, view.target_cadence_s[rows]
        return Verdicts(objects[rows], times_ns, breached, score[rows], (evidence,), 0.85, cadence_s=cadence_s)


def _booted_ns(view: TickView, boots: Column, memory: Memory) -> NDArray[np.int64]:
    """When each host was first seen with another boot than before; 0 where it never was."""
    rows, at_ns = memory.rows(boots.sids), view.series["raw_ns"][boots.sids]
    before, now = memory["boot_s"][rows], view.series["raw"][boots.sids]
    memory["boot_s"][rows] = now
    other = (before > 0) & (np.abs(now - before) > SAME_BOOT_S)
    memory["booted_ns"][rows[other]] = at_ns[other]
    return np.asarray(memory["booted_ns"][rows], np.int64)
