"""ECC: memory of a GPU lost bits. Correctable errors are counted, an uncorrectable one is an event."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analytics.detectors.counters import RECENT_GROWTH, recent_growth
from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind

# NVIDIA DCGM, dcgm_gpu_hardware_limits.h: a rate of 10 single-bit errors; a few an hour are cosmic rays.
_CORRECTABLE_MAX, _WINDOW_S = 10.0, 3600.0
_RECENT_MAX = 4 * _CORRECTABLE_MAX
_UNCORRECTABLE_SCORE = 3.0
_RECENT_NS = 900 * 10**9  # as for XIDs: data was lost, so the finding stays for a while


def correctable(labels: Mapping[str, str]) -> bool:
    return labels.get("severity") == "correctable" and labels.get("persistence") == "volatile"


def uncorrectable(labels: Mapping[str, str]) -> bool:
    return labels.get("severity") == "uncorrectable" and labels.get("persistence") == "volatile"


@dataclass(frozen=True, kw_only=True)
class GpuEcc(Detector):
    """Judges new errors: those from before a GPU was first seen do not count."""

    name: str = "gpu_ecc"
    kind: FindingKind = FindingKind.GPU_ECC
    metrics: tuple[str, ...] = ("gpu_ecc_errors_total",)
    fire_immediately_score: float = _UNCORRECTABLE_SCORE
    memory: tuple[MemoryColumn, ...] = RECENT_GROWTH

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        single, double = (view.column(self.metrics[0], accept) for accept in (correctable, uncorrectable))
        recent = recent_growth(view, memory, single, _WINDOW_S, _RECENT_MAX)
        lost, moved_ns = view.series["raw"][double.sids], view.series["moved_ns"][double.sids]
        recently = (lost > 0) & (moved_ns >= view.end_ns - _RECENT_NS)
        errors = view.joined([single, double])
        score = np.concatenate([recent / _CORRECTABLE_MAX, np.where(recently, _UNCORRECTABLE_SCORE, 0.0)])
        counts = np.concatenate([recent, lost])
        return [verdicts_of(errors, score, values=counts, normals=np.zeros(len(errors)), unit="errors")]
