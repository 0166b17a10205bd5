"""Power limit: a GPU may draw less than before, and the others of its host may not.

Sites move the limits of whole hosts to fit more of them under one feed (Patel et al., POLCA, ASPLOS 2024): that is a
setting. Running into the usual limit is normal under load and is not judged (see ``gpu_throttle``).
"""

from dataclasses import dataclass

import numpy as np

from analytics.detectors.spec import Detector, Scope, Verdicts, verdicts_of
from analytics.models.group_medians import group_medians
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind
from telemetry.limits import GPU_POWER_LIMIT_SHARE_MIN

_GPUS_MIN = 4  # of a host, or of the cluster where hosts have fewer: from so many on, a change of most is a setting


@dataclass(frozen=True, kw_only=True)
class GpuPowerLimit(Detector):
    """Judges the limit that is enforced now."""

    name: str = "gpu_power_limit"
    kind: FindingKind = FindingKind.GPU_THROTTLED
    metrics: tuple[str, ...] = ("gpu_power_limit_watts",)
    scope: Scope = Scope.CLUSTER
    persist: int = 2
    fire_immediately_score: float = 2.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        limit = view.column(self.metrics[0])
        limit = limit.only(limit.fresh & (limit.values > 0))
        most = view.series["highest"][limit.sids]
        lowered = most / limit.values
        hosts = limit.targets.astype(np.int64)
        of_hosts = np.bincount(hosts, minlength=1)[hosts] >= _GPUS_MIN
        others = np.median(lowered) if len(limit) >= _GPUS_MIN else 1.0
        lowered /= np.where(of_hosts, group_medians(hosts, lowered), others)
        return [verdicts_of(limit, GPU_POWER_LIMIT_SHARE_MIN * lowered, normals=most)]
