"""Hung GPU: it says that a kernel runs all the time, but draws little power and computes nothing.

The peers of a hung GPU spin in the collective, which also looks busy and computes nothing; but spinning takes power. So
a GPU is named only where it draws clearly less than the middle of its job.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import Evidence, Verdicts
from analytics.models import baseline
from analytics.models.group_medians import group_medians
from analytics.state.view import Column, View
from telemetry.findings import FindingKind

_BUSY_MIN = 0.95
_TENSOR_MAX, _SM_MAX = 0.02, 0.2  # an NCCL kernel that waits keeps an eighth of the SMs active, and no tensor core
_WORKING_MIN = 0.3  # of the SMs: then what it draws is its working level
_POWER_SHARE = 0.5  # of the own working level: idle power and leakage, at boost clocks
_PEERS_SHARE = 0.8  # of the job's middle: silicon differs by a few per cent
# Half a minute: no step of a healthy job waits so long inside a kernel, and NCCL's own watchdog needs ten. Samples are
# told apart by steps, however often they come.
_STEP_NS, _STEPS = 10 * 10**9, 3


@dataclass(frozen=True)
class GpuHung:
    """Judges each GPU that reports how active its SMs or tensor cores are."""

    name: str = "gpu_hung"
    kind: FindingKind = FindingKind.GPU_HUNG
    metrics: tuple[str, ...] = (
        "gpu_power_watts",
        "gpu_utilization_ratio",
        "gpu_tensor_active_ratio",
        "gpu_sm_active_ratio",
    )
    persist: int = _STEPS
    sure: float = math.inf
    clear_intervals: float = 1.0

    def judge(self, view: View) -> list[Verdicts]:
        power = view.column(self.metrics[0])
        busy, tensor, sm = (_beside(view.column(metric), power) for metric in self.metrics[1:])
        active = np.fmax(tensor / _TENSOR_MAX, sm / _SM_MAX)  # NaN where neither is known
        usual = _working_power(view, power, np.where(np.fmax(tensor, sm) >= _WORKING_MIN, power.values, np.nan))
        job = view.places.job[power.objects]
        middle = group_medians(np.where(job >= 0, job, -1 - np.arange(job.size)), power.values)
        low = np.minimum(_POWER_SHARE * usual, np.where(job >= 0, _PEERS_SHARE * middle, np.inf))
        idle = np.minimum(busy / _BUSY_MIN, np.where(active < 1.0, 1.0, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.where(idle >= 1.0, np.nan_to_num(low / power.values), 0.0)
        rows = np.flatnonzero(power.fresh & ~np.isnan(busy) & ~np.isnan(active))
        shown = power.only(rows)
        evidence = Evidence(shown.sids, shown.values, usual[rows])
        steps_ns = shown.times_ns // _STEP_NS * _STEP_NS
        score = score[rows]
        return [Verdicts(shown.objects, steps_ns, score >= 1.0, score, (evidence,), 0.8, shown.times_ns)]


def _beside(column: Column, power: Column) -> NDArray[np.float64]:
    """The values of the same GPUs, NaN where nothing fresh is known."""
    return column.only(column.fresh).about(power.objects)


def _working_power(view: View, power: Column, watts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Learns what each GPU draws while it works; the level before that, NaN while it is not known."""
    memory = view.series["memory"]
    model = memory[power.sids]
    level = np.where(model[:, baseline.COUNT] >= baseline.WARMUP, model[:, baseline.LEVEL], np.nan)
    new = view.series["valued_ns"][power.sids] >= view.end_ns - view.config.tick_ns
    view.learn(power.sids, np.where(new, watts, np.nan), memory, np.empty(len(power)), np.empty(len(memory)))
    return level
