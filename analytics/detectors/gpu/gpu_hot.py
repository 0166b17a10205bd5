"""Cooling of one GPU: in the air of its host it alone has got so warm that heat will slow it.

Once settled, a GPU is warmer than its air by its power times a thermal resistance: that of its heat sink and what is
between. The others of its host breathe the same air. So one that gets warmer than the power explains, and they do not,
has more resistance than before (a heat sink that lost contact), and at the power that it may draw it is warmer still by
as much. It is named where it slows down there, before it does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.environment import gpu_heat
from analytics.detectors.spec import Detector, EvidenceColumns, Scope, Verdicts, computed_evidence
from analytics.models import thermal
from analytics.models.group_medians import group_medians
from analytics.snapshot.block import Migration
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind

_KELVIN_MAX = 8.0  # above the others of its host, as for a whole host: half of what an H100 at 70 C has left
_GPUS_MIN = 4  # of a host: the others show the air
# Of the power that it may draw: less says too little about how much that warms it. A neighbour that works warms it too.
_WORKS_SHARE = 0.5
_ROUNDS = 2.0  # values in a row: sensors err
_NEARLY = 0.99
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class GpuHot(Detector):
    """Judges each GPU against the median of its host's, each by its own normal temperature at its power."""

    name: str = "gpu_hot"
    kind: FindingKind = FindingKind.GPU_HOT
    scope: Scope = Scope.CLUSTER  # the line of each GPU is drawn towards that of all
    metrics: tuple[str, ...] = gpu_heat.METRICS
    clear_intervals: float = 6.0
    memory: tuple[MemoryColumn, ...] = (*gpu_heat.MEMORY, MemoryColumn("seen_s"), MemoryColumn("rounds"))
    memory_format: int = 3
    memory_migrations: Mapping[int, Migration] = field(
        default_factory=lambda: {1: gpu_heat.sums_of_means, 2: gpu_heat.without_moments}, hash=False
    )

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        heat, watts = gpu_heat.readings(view)
        hosts = heat.targets.astype(np.int64)
        above = gpu_heat.kelvin_above(view, memory, heat, watts, ())
        rise = above - np.maximum(group_medians(hosts, above), 0.0)
        least = gpu_heat.least_kelvin(memory, heat, watts)
        at_once = gpu_heat.at_once_kelvin(view, memory, heat, watts)
        warm = rise / np.maximum(least, _KELVIN_MAX + at_once)
        warm[np.bincount(hosts, minlength=1)[hosts] < _GPUS_MIN] = 0.0
        at_limit, slowdown = _at_limit(view, memory, heat, watts, least), gpu_heat.slowdown_celsius(view, heat)
        score = np.nan_to_num(np.minimum(warm, at_limit / (slowdown - gpu_heat.NEAR_KELVIN)))
        score = np.where(_rounds(memory, heat, warm >= 1.0) >= _ROUNDS, score, np.minimum(score, _NEARLY))
        evidence, breached = _evidence(view, heat, rise, at_limit), score >= 1.0
        draws = np.where(np.isnan(at_limit), 0.0, watts)  # who draws too little to be judged shows no repair
        unknown = np.full(len(heat), np.nan)
        return [Verdicts(heat.objects, heat.times_ns, breached, score, evidence, 0.8, load=draws, usual_load=unknown)]


def _at_limit(view: TickView, memory: Memory, heat: Column, watts: Floats, least: Floats) -> Floats:
    """Temperature of each GPU at the power that it may draw, float64[n]; NaN where it draws too little to say that.

    As far as its readings lie apart at the same power (least), what is to come may be in the newest one already.
    """
    line = memory["line"][memory.rows(heat.sids)]
    draws, limit = gpu_heat.draws_and_limit(view, memory, heat, watts)
    air = line[:, thermal.CELSIUS] - line[:, thermal.RESISTANCE] * line[:, thermal.WATTS]
    works = thermal.learned(line) & (draws >= _WORKS_SHARE * limit)
    more = (heat.values - air) * (limit / np.maximum(draws, 1.0) - 1.0) - least
    return np.where(works, heat.values + np.maximum(more, 0.0), np.nan)


def _rounds(memory: Memory, heat: Column, warm: NDArray[np.bool_]) -> Floats:
    """How many values in a row of each GPU were warm, float64[n]."""
    rows, at_s = memory.rows(heat.sids), heat.times_ns / 1e9
    new = at_s > memory["seen_s"][rows]
    memory["rounds"][rows] = np.where(new, np.where(warm, memory["rounds"][rows] + 1.0, 0.0), memory["rounds"][rows])
    memory["seen_s"][rows] = at_s
    return np.asarray(memory["rounds"][rows])


def _evidence(view: TickView, heat: Column, rise: Floats, at_limit: Floats) -> tuple[EvidenceColumns, ...]:
    def key(row: int) -> str:
        return f"at_power_limit({view.index.keys[heat.sids[row]]})"

    shown = EvidenceColumns(heat.sids, heat.values, heat.values - rise)
    return shown, computed_evidence(at_limit, np.nan, "celsius", key)
