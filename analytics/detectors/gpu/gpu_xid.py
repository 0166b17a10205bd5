"""XID: the NVIDIA driver reported an error of a GPU."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind

# NVIDIA, "XID Errors" (deploy docs, r555 and later): the class decides how likely the GPU itself is at fault.
_HARDWARE = (48, 62, 63, 64, 74, 79, 92, 94, 95, 110, 119, 120, 136, 140, 143)  # ECC, row remap, NVLink, bus, GSP
_APPLICATION = (13, 31, 43, 45, 68, 69)  # illegal access, stopped or killed by its own program
_SCORES = {"hardware": 3.0, "application": 1.0, "other": 1.5}
_RECENT_NS = 900 * 10**9  # the last code stays in the telemetry: after so long it is history


def classify(code: int) -> str:
    """
    >>> classify(79), classify(31), classify(8)
    ('hardware', 'application', 'other')
    """
    return "hardware" if code in _HARDWARE else "application" if code in _APPLICATION else "other"


@dataclass(frozen=True, kw_only=True)
class GpuXid(Detector):
    """A change of the last code is an event; the code at first sight is history."""

    name: str = "gpu_xid"
    kind: FindingKind = FindingKind.GPU_XID
    metrics: tuple[str, ...] = ("gpu_xid_last",)
    clear_intervals: float = 1.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        column = view.column(self.metrics[0])
        changed_ns = view.series["moved_ns"][column.sids]
        recent = (column.values > 0) & (changed_ns >= view.end_ns - _RECENT_NS)
        score = np.zeros(len(column))
        score[recent] = _by_class(column.values[recent])
        return [verdicts_of(column, score, normals=np.zeros(len(column)), unit="XID")]


def _by_class(codes: NDArray[np.float64]) -> NDArray[np.float64]:
    distinct, at = np.unique(codes, return_inverse=True)
    return np.array([_SCORES[classify(int(code))] for code in distinct], np.float64)[at]
