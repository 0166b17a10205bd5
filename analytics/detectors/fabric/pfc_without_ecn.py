"""PFC without ECN: a switch pauses its senders and marks nothing, so they never slow down.

ECN should act first (Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015, section 4): a
switch that pauses without marking has ECN off, or its thresholds above those of PFC.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import Detector, Verdicts, computed_evidence
from analytics.state.memory import Memory
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind
from telemetry.selectors import sent
from telemetry.series import series_key

_FRAMES_PER_SECOND_MIN = 1000.0  # a hundredth of the time of one 400 Gb/s port; less is many flows that start at once
# Marks for each pause frame: a frame pauses for up to 65535 quanta (84 us, some thousand packets at 400 Gb/s), so where
# ECN works there are many; one in a hundred frames counts as none.
_MARKS_PER_FRAME_MIN = 0.01


@dataclass(frozen=True, kw_only=True)
class PfcWithoutEcn(Detector):
    """Judges each switch that counts both; one that does not count marks is not judged."""

    name: str = "pfc_without_ecn"
    kind: FindingKind = FindingKind.PFC_WITHOUT_ECN
    metrics: tuple[str, ...] = ("fabric_port_pfc_pause_frames_total", "fabric_queue_ecn_marked_packets_total")
    persist: int = 3

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        devices = view.index.device_objects
        frames, marks = view.column(self.metrics[0], sent), view.column(self.metrics[1])
        frames, marks = frames.only(frames.fresh), marks.only(marks.fresh)
        counting = np.intersect1d(devices[frames.targets], devices[marks.targets])
        paused, marked = (_sums(devices, column, counting) for column in (frames, marks))
        enough = paused >= _FRAMES_PER_SECOND_MIN
        share = marked / np.fmax(paused, 1.0)
        score = np.where(enough, np.minimum(_MARKS_PER_FRAME_MIN / np.fmax(share, 1e-3), 10.0), 0.0)
        names = [view.index.objects.names[number].partition(":")[2] for number in counting.tolist()]

        def key(row: int) -> str:
            return series_key("ecn_marks_per_pause_frame", {"device": names[row]})

        evidence = computed_evidence(share, np.nan, "packets", key)
        newest_ns = np.zeros(counting.size, np.int64)
        known = np.isin(devices[frames.targets], counting)
        np.maximum.at(newest_ns, np.searchsorted(counting, devices[frames.targets][known]), frames.times_ns[known])
        return [Verdicts(counting, newest_ns, score >= 1.0, score, (evidence,), 0.6)]


def _sums(devices: NDArray[np.int64], column: Column, counting: NDArray[np.int64]) -> NDArray[np.float64]:
    """Per second, over all ports of each counting device."""
    mine = devices[column.targets]
    known = np.isin(mine, counting)
    at = np.searchsorted(counting, mine[known])
    return np.bincount(at, column.values[known], counting.size).astype(np.float64)
