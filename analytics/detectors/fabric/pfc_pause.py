"""PFC pause: a port is paused by its peer, or pauses it, for a larger share of time than in a healthy fabric."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind
from telemetry.selectors import received, sent

# IEEE 802.1Qbb: a pause frame stops a priority for up to 65535 quanta of 512 bit times. A port that keeps its peer
# paused renews the frame about twice in that time.
PAUSE_BITS_PER_FRAME = 65535 * 512 / 2

_SOURCES = (
    ("fabric_port_pfc_pause_seconds_total", "fabric_port_pfc_pause_frames_total", "fabric_port_speed_bits_per_second"),
    ("nic_pfc_pause_seconds_total", "nic_pfc_pause_frames_total", "nic_speed_bits_per_second"),
)


@dataclass(frozen=True, kw_only=True)
class PfcPause(Detector):
    """Judges the share of time of the worst priority; where only frames are counted, the largest share that they allow.

    ratio_max: share of time from which it is a finding. bits_per_second: of a link that reports no speed.
    """

    ratio_max: float
    bits_per_second: float
    metrics: tuple[str, ...] = tuple(metric for source in _SOURCES for metric in source)

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        selector = received if self.kind is FindingKind.PFC_PAUSE_RECEIVED else sent
        verdicts = []
        for seconds_name, frames_name, speed_name in _SOURCES:
            seconds, frames = view.column(seconds_name, selector), view.column(frames_name, selector).moving()
            timed = np.zeros(len(view.index.objects), bool)
            timed[seconds.objects[seconds.fresh]] = True
            frames = frames.only(~timed[frames.objects])
            paused = self._paused_by_frames(frames, view.column(speed_name))
            verdicts.append(verdicts_of(seconds, seconds.values / self.ratio_max, unit="ratio"))
            verdicts.append(verdicts_of(frames, paused / self.ratio_max, confidence=0.7))
        return verdicts

    def _paused_by_frames(self, frames: Column, speeds: Column) -> NDArray[np.float64]:
        known = speeds.about(frames.objects)
        bits_per_second = np.where(known > 0, known, self.bits_per_second)
        return np.minimum(1.0, frames.values * PAUSE_BITS_PER_FRAME / bits_per_second)


def pfc_pauses(ratio_max: float, bits_per_second: float) -> tuple[PfcPause, ...]:
    """One detector for pauses received and one for pauses sent; see ``PfcPause``."""
    kinds = (FindingKind.PFC_PAUSE_RECEIVED, FindingKind.PFC_PAUSE_SENT)
    return tuple(
        PfcPause(name=str(kind), kind=kind, ratio_max=ratio_max, bits_per_second=bits_per_second) for kind in kinds
    )
