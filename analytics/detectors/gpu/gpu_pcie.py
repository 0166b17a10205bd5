"""PCIe of a GPU: fewer lanes than it had, or packets that have to be sent again too often."""

from dataclasses import dataclass

import numpy as np

from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind
from telemetry.limits import GPU_PCIE_REPLAYS_PER_SECOND_MAX

# Lanes do not change with power saving, unlike the generation: fewer than before is a fault of slot or board.
_WIDTH_SHARE_MIN = 0.99


@dataclass(frozen=True, kw_only=True)
class GpuPcie(Detector):
    """Judges lanes against the highest number that the GPU has had, and replays against NVIDIA's own limit."""

    name: str = "gpu_pcie"
    kind: FindingKind = FindingKind.GPU_PCIE
    metrics: tuple[str, ...] = ("gpu_pcie_lanes", "gpu_pcie_replays_total")
    persist: int = 2
    fire_immediately_score: float = 10.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        lanes, replays = (view.column(metric) for metric in self.metrics)
        most = view.series["highest"][lanes.sids]
        with np.errstate(divide="ignore", invalid="ignore"):
            narrow = np.where(lanes.values > 0, _WIDTH_SHARE_MIN * most / lanes.values, 0.0)
        score = np.concatenate([narrow, replays.values / GPU_PCIE_REPLAYS_PER_SECOND_MAX])
        normals = np.concatenate([most, np.full(len(replays), GPU_PCIE_REPLAYS_PER_SECOND_MAX)])
        return [verdicts_of(view.joined([lanes, replays]), score, normals=normals)]
