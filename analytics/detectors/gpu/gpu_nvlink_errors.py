"""NVLink errors: packets that had to be sent again, or links that had to be trained again."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analytics.detectors.counters import RECENT_GROWTH, recent_growth
from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind
from telemetry.limits import GPU_NVLINK_CRC_PER_SECOND_MAX

# NVIDIA DCGM, dcgm_gpu_hardware_limits.h and its health watch: one replay or recovery within its minute is a failure.
_GRAVE_MAX, _GRAVE_RECENT_MAX, _WINDOW_S = 1.0, 20.0, 60.0
_CRC = frozenset({"crc_flit", "crc_data", "rx", "rx_symbol"})
_GRAVE = frozenset({"replay", "recovery", "link_recovery_failed", "integrity", "effective"})
_FORGOTTEN = 0.05  # of one error: it is forgotten after three minutes


def repeated(labels: Mapping[str, str]) -> bool:
    return labels.get("kind") in _CRC


def grave(labels: Mapping[str, str]) -> bool:
    return labels.get("kind") in _GRAVE


@dataclass(frozen=True, kw_only=True)
class GpuNvlinkErrors(Detector):
    """Judges the worst kind of error of each GPU."""

    name: str = "gpu_nvlink_errors"
    kind: FindingKind = FindingKind.GPU_NVLINK_ERRORS
    metrics: tuple[str, ...] = ("gpu_nvlink_errors_total",)
    fire_immediately_score: float = 3.0
    memory: tuple[MemoryColumn, ...] = RECENT_GROWTH

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        crc, worse = (view.column(self.metrics[0], accept) for accept in (repeated, grave))
        recent = recent_growth(view, memory, worse, _WINDOW_S, _GRAVE_RECENT_MAX)
        by_count = np.where(recent >= _FORGOTTEN, np.maximum(recent / _GRAVE_MAX, 1.0), 0.0)
        errors = view.joined([crc, worse])
        score = np.concatenate([crc.values / GPU_NVLINK_CRC_PER_SECOND_MAX, by_count])
        values = np.concatenate([crc.values, recent])
        return [verdicts_of(errors, score, values=values, normals=np.zeros(len(errors)), unit="errors")]
