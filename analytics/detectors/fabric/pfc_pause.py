"""PFC pause: a port is paused by its peer, or pauses it, for a larger share of time than it usually is.

A device that reports how long it paused is judged by that time. One that counts frames alone says how long at most:
IEEE 802.1Qbb lets a frame stop a priority for any time from 0 (which ends a pause) to 65535 quanta of 512 bit times, so
a thousand short pauses and a long one look the same. Such a device is judged by that bound, with half of the weight.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.detectors.usual_heights import (
    USUAL_HEIGHTS,
    USUAL_HEIGHTS_FORMAT,
    USUAL_HEIGHTS_MIGRATIONS,
    unusual,
)
from analytics.snapshot.block import Migration
from analytics.state.lookup import lookup
from analytics.state.memory import Memory, MemoryColumn
from analytics.state.series_index import SeriesIndex
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind
from telemetry.selectors import received, sent

PAUSE_BITS_MAX = 65535 * 512  # that one frame stops a priority for, in bit times of its link
BOUND_UNIT = "ratio at most"  # of the evidence where only frames are counted
_BOUND_WEIGHT, _BOUND_CONFIDENCE = 0.5, 0.4

_SOURCES = (
    ("fabric_port_pfc_pause_seconds_total", "fabric_port_pfc_pause_frames_total", "fabric_port_speed_bits_per_second"),
    ("nic_pfc_pause_seconds_total", "nic_pfc_pause_frames_total", "nic_speed_bits_per_second"),
)
_TRANSITIONS = "fabric_port_pfc_transitions_total"


@dataclass(frozen=True, kw_only=True)
class PfcPause(Detector):
    """Judges the share of time of the worst priority against what is usual for it; see ``usual_heights``.

    ratio_max: share of time below which nothing is a finding. bits_per_second: of a link that reports no speed.
    """

    ratio_max: float
    bits_per_second: float
    metrics: tuple[str, ...] = (*(metric for source in _SOURCES for metric in source), _TRANSITIONS)
    memory: tuple[MemoryColumn, ...] = USUAL_HEIGHTS
    memory_format: int = USUAL_HEIGHTS_FORMAT
    memory_migrations: Mapping[int, Migration] = field(default_factory=lambda: USUAL_HEIGHTS_MIGRATIONS, hash=False)

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        selector = received if self.kind is FindingKind.PFC_PAUSE_RECEIVED else sent
        verdicts = []
        for seconds_name, frames_name, speed_name in _SOURCES:
            seconds, frames = view.column(seconds_name, selector), view.column(frames_name, selector)
            timed = np.zeros(len(view.index.objects), bool)
            timed[seconds.objects[seconds.fresh]] = True
            score, onsets = unusual(view, memory, seconds, seconds.values / self.ratio_max)
            verdicts.append(verdicts_of(seconds, score, unit="ratio", onsets_ns=onsets))
            if not timed[frames.objects].all():
                frames = frames.only(~timed[frames.objects])
                verdicts.append(self._by_frames(view, memory, frames, view.column(speed_name)))
        return verdicts

    def _by_frames(self, view: TickView, memory: Memory, frames: Column, speeds: Column) -> Verdicts:
        most = np.minimum(1.0, pause_at_most(view, frames, speeds, self.bits_per_second))
        score, onsets = unusual(view, memory, frames, most / self.ratio_max, _BOUND_WEIGHT)
        unknown = np.full(most.size, np.nan)
        return verdicts_of(
            frames,
            score,
            values=most,
            normals=unknown,
            unit=BOUND_UNIT,
            confidence=_BOUND_CONFIDENCE,
            onsets_ns=onsets,
        )


def pause_at_most(view: TickView, frames: Column, speeds: Column, bits_per_second: float) -> NDArray[np.float64]:
    """float64[k]: the longest time, in seconds a second, that the frames of each series can have paused it.

    At least it is 0. bits_per_second: of a link without a speed.
    """
    known = speeds.about(frames.objects)
    return _pausing(view, frames) * PAUSE_BITS_MAX / np.where(known > 0, known, bits_per_second)


def _pausing(view: TickView, frames: Column) -> NDArray[np.float64]:
    """Frames a second that can pause. Where transitions from paused to running are counted, and there are two frames
    for each of them, one of the two has ended the pause."""
    transitions = view.data.per_series(_transitions)[frames.sids]
    counted = (transitions >= 0) & view.fresh[transitions]
    ended = np.where(counted, view.series["value"][transitions], 0.0)
    return np.where(frames.values >= 2.0 * ended, frames.values - ended, frames.values)


def _transitions(index: SeriesIndex) -> NDArray[np.int64]:
    """int64[series]: the transitions of the port, priority and direction of each series of frames, -1 without any."""
    columns = index.columns
    priorities = columns["object"] * len(index.variants) + columns["variant"]
    transitions = np.append(index.select(_TRANSITIONS, None), -1)
    found = np.full(priorities.size, -1)
    for _, name, _ in _SOURCES:
        frames = index.select(name, None)
        found[frames] = transitions[lookup(priorities[transitions[:-1]], priorities[frames])]
    return found


def pfc_pauses(ratio_max: float, bits_per_second: float) -> tuple[PfcPause, ...]:
    """One detector for pauses received and one for pauses sent; see ``PfcPause``."""
    kinds = (FindingKind.PFC_PAUSE_RECEIVED, FindingKind.PFC_PAUSE_SENT)
    return tuple(
        PfcPause(name=str(kind), kind=kind, ratio_max=ratio_max, bits_per_second=bits_per_second) for kind in kinds
    )
