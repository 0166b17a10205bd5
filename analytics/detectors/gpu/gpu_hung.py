"""Hung GPU: it reports that a kernel runs all the time, but draws little power and computes nothing.

The peers of a hung GPU spin in the collective, which is busy and computes nothing, too; but spinning draws power. So a
GPU is hung only where it draws clearly less than the median of its job.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.levels import LEVEL, learned_level
from analytics.detectors.spec import Detector, EvidenceColumns, Scope, Verdicts
from analytics.models.group_medians import group_medians
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind

_BUSY_MIN = 0.95
_TENSOR_MAX, _SM_MAX = 0.02, 0.2  # an NCCL kernel that waits keeps an eighth of the SMs active, and no tensor core
_WORKING_MIN = 0.3  # of the SMs: then its power is its working level
_POWER_SHARE = 0.5  # of its own working level: idle power and leakage, at boost clocks
_PEERS_SHARE = 0.8  # of the job's median: silicon differs by a few per cent
# Half a minute: no step of a healthy job waits so long inside a kernel, and NCCL's own watchdog needs ten. At most one
# sample counts in each step, whatever the collection interval is.
_STEP_NS, _STEPS = 10 * 10**9, 3


@dataclass(frozen=True, kw_only=True)
class GpuHung(Detector):
    """Judges each GPU that reports how active its SMs or tensor cores are."""

    name: str = "gpu_hung"
    kind: FindingKind = FindingKind.GPU_HUNG
    metrics: tuple[str, ...] = (
        "gpu_power_watts",
        "gpu_utilization_ratio",
        "gpu_tensor_active_ratio",
        "gpu_sm_active_ratio",
    )
    scope: Scope = Scope.CLUSTER
    persist: int = _STEPS
    clear_intervals: float = 1.0
    memory: tuple[MemoryColumn, ...] = LEVEL

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        power = view.column(self.metrics[0])
        busy, tensor, sm = (_beside(view.column(metric), power) for metric in self.metrics[1:])
        active = np.fmax(tensor / _TENSOR_MAX, sm / _SM_MAX)  # NaN where neither is known
        working = np.where(np.fmax(tensor, sm) >= _WORKING_MIN, power.values, np.nan)
        usual = learned_level(view, memory, power, working)  # what each GPU draws while it works
        job = view.topology_index.job[power.objects]
        median = group_medians(np.where(job >= 0, job, -1 - np.arange(job.size)), power.values)
        low = np.minimum(_POWER_SHARE * usual, np.where(job >= 0, _PEERS_SHARE * median, np.inf))
        idle = np.minimum(busy / _BUSY_MIN, np.where(active < 1.0, 1.0, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.where(idle >= 1.0, np.nan_to_num(low / power.values), 0.0)
        rows = np.flatnonzero(power.fresh & ~np.isnan(busy) & ~np.isnan(active))
        shown = power.only(rows)
        evidence = EvidenceColumns(shown.sids, shown.values, usual[rows])
        steps_ns = shown.times_ns // _STEP_NS * _STEP_NS
        score = score[rows]
        return [Verdicts(shown.objects, steps_ns, score >= 1.0, score, (evidence,), 0.8, shown.times_ns)]


def _beside(column: Column, power: Column) -> NDArray[np.float64]:
    """The values of the same GPUs, NaN where there is no fresh one."""
    return column.only(column.fresh).about(power.objects)
