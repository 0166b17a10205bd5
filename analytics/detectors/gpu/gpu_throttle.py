"""GPU throttle: clocks reduced by heat or a power brake. A power cap is normal under load and is not judged.

A GPU whose job waits for something else cools down, broken or not: what it draws too little for shows no repair.
A job in lockstep goes on at the clock of its slowest GPU, so what is missing of that is what it will lose. That is
evidence, long before the work of the job can show it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from analytics.detectors.jobs.lockstep import expected_share
from analytics.detectors.spec import NO_VERDICTS, Detector, Scope, Verdicts, verdicts_of
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind
from telemetry.limits import GPU_THROTTLED_SHARE_MAX

_REASONS = frozenset({"thermal", "sw_thermal", "hw_thermal", "hw_slowdown", "hw_power_brake", "reliability"})
# Of what it drew while it was throttled, or usually draws: kelvin above the air are as much less (assumption).
_LOADED_SHARE = 0.5
_POWERS = ("gpu_energy_joules_total", "gpu_power_watts")


def by_fault(labels: Mapping[str, str]) -> bool:
    return labels.get("reason") in _REASONS


@dataclass(frozen=True, kw_only=True)
class GpuThrottle(Detector):
    """Judges throttled time, and the momentary reason flags where no time is counted."""

    name: str = "gpu_throttle"
    kind: FindingKind = FindingKind.GPU_THROTTLED
    metrics: tuple[str, ...] = ("gpu_throttle_seconds_total", "gpu_throttle_active")
    scope: Scope = Scope.CLUSTER  # whose clock is compared with those of its job
    persist: int = 2
    fire_immediately_score: float = 5.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        seconds, flags = (view.column(metric, by_fault) for metric in self.metrics)
        score = np.concatenate([seconds.values / GPU_THROTTLED_SHARE_MAX, flags.values])
        drawn = [column for metric in _POWERS if len(column := view.column(metric))]
        load = drawn[0] if drawn else None
        found = verdicts_of(view.joined([seconds, flags]), score, load=load, loaded_share=_LOADED_SHARE)
        if found is NO_VERDICTS:
            return [found]
        return [replace(found, evidence=(*found.evidence, expected_share(view, found.objects)))]
