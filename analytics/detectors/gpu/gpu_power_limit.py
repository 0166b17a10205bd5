"""Power limit: a GPU that may draw less than it could before: somebody or a weak power supply holds it down.

Running into the usual limit is normal under load and is not judged (see ``gpu_throttle``).
"""

from dataclasses import dataclass

import numpy as np

from analytics.detectors.spec import Verdicts, verdicts_of
from analytics.state.view import View
from telemetry.findings import FindingKind

_SHARE_MIN = 0.95  # of the highest limit that this GPU has had: less than that costs clocks
_GPUS_MIN = 4  # from so many on, what most of them did is how the site wants them to run


@dataclass(frozen=True)
class GpuPowerLimit:
    """Judges the limit that is enforced now."""

    name: str = "gpu_power_limit"
    kind: FindingKind = FindingKind.GPU_THROTTLED
    metrics: tuple[str, ...] = ("gpu_power_limit_watts",)
    persist: int = 2
    sure: float = 2.0
    clear_intervals: float = 3.0

    def judge(self, view: View) -> list[Verdicts]:
        limit = view.column(self.metrics[0])
        limit = limit.only(limit.fresh & (limit.values > 0))
        most = view.series["highest"][limit.sids]
        lowered = most / limit.values
        if len(limit) >= _GPUS_MIN:
            lowered /= np.median(lowered)
        return [verdicts_of(limit, _SHARE_MIN * lowered, normals=most)]
