"""PFC without ECN: a switch pauses its senders and marks nothing, so they never slow down.

ECN should act first (Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015, section 4): a
switch that pauses without marking has ECN off, or its thresholds above those of PFC.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.fabric.pfc_pause import pause_at_most
from analytics.detectors.spec import Detector, Verdicts, computed_evidence
from analytics.state.memory import Memory
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind
from telemetry.selectors import sent
from telemetry.series import series_key

# Marks for each pause frame: a frame pauses for up to 65535 quanta (84 us, some thousand packets at 400 Gb/s), so where
# ECN works there are many; one in a hundred frames counts as none.
_MARKS_PER_FRAME_MIN = 0.01
_CONFIDENCE, _CONFIDENCE_OF_BOUND = 0.6, 0.3


@dataclass(frozen=True, kw_only=True)
class PfcWithoutEcn(Detector):
    """Judges each switch that counts both; one that does not count marks is not judged.

    ratio_max: pauses that its ports send, as a share of the time of one port, of which nothing follows; a few come from
    flows that start at once. bits_per_second: of a link that reports no speed.
    """

    ratio_max: float
    bits_per_second: float
    name: str = "pfc_without_ecn"
    kind: FindingKind = FindingKind.PFC_WITHOUT_ECN
    metrics: tuple[str, ...] = (
        "fabric_port_pfc_pause_frames_total",
        "fabric_queue_ecn_marked_packets_total",
        "fabric_port_pfc_pause_seconds_total",
        "fabric_port_speed_bits_per_second",
    )
    persist: int = 3

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        devices = view.index.device_objects
        frames, marks, seconds = (view.column(self.metrics[n], chosen) for n, chosen in enumerate((sent, None, sent)))
        counting = np.flatnonzero(_reporting(view, frames) & _reporting(view, marks))
        paused, marked = (_sums(view, column, column.values)[counting] for column in (frames, marks))
        timed = _reporting(view, seconds)[counting]
        most = pause_at_most(view, frames, view.column(self.metrics[3]), self.bits_per_second)
        time = np.where(timed, _sums(view, seconds, seconds.values)[counting], _sums(view, frames, most)[counting])
        share = marked / np.fmax(paused, 1.0)
        score = np.where(time >= self.ratio_max, np.minimum(_MARKS_PER_FRAME_MIN / np.fmax(share, 1e-3), 10.0), 0.0)
        names = [view.index.objects.names[number].partition(":")[2] for number in counting.tolist()]

        def key(row: int) -> str:
            return series_key("ecn_marks_per_pause_frame", {"device": names[row]})

        evidence = computed_evidence(share, np.nan, "packets", key)
        newest_ns = np.zeros(len(view.index.objects), np.int64)
        np.maximum.at(newest_ns, devices[frames.targets], np.where(frames.fresh, frames.times_ns, 0))
        every_s = np.zeros(len(view.index.objects))
        np.maximum.at(every_s, devices[frames.targets], view.cadence_of(frames.sids))
        confidence = np.where(timed, _CONFIDENCE, _CONFIDENCE_OF_BOUND)
        about, breached = (counting, newest_ns[counting]), score >= 1.0
        return [Verdicts(*about, breached, score, (evidence,), confidence, cadence_s=every_s[counting])]


def _reporting(view: TickView, column: Column) -> NDArray[np.bool_]:
    """bool[objects]: devices with a fresh series in the column."""
    found = np.zeros(len(view.index.objects), np.bool_)
    found[view.index.device_objects[column.targets[column.fresh]]] = True
    return found


def _sums(view: TickView, column: Column, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[objects]: values, one of each series of the column, where it is fresh, over all ports of each device."""
    devices = view.index.device_objects[column.targets]
    return np.bincount(devices, np.where(column.fresh, values, 0.0), len(view.index.objects)).astype(np.float64)
