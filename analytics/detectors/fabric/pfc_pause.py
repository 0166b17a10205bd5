"""PFC pause: a port is paused by its peer, or pauses it, for a larger share of time than it usually is.

A device that reports how long it paused is judged by that time. One that counts frames alone says how long at most:
IEEE 802.1Qbb lets a frame stop a priority for any time from 0 (which ends a pause) to 65535 quanta of 512 bit times, so
a thousand short pauses and a long one look the same. But a queue that is paused sends nothing: what it sent meanwhile
at the speed of its link took the rest of the time. Such a device is judged by that bound, with half of the weight.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.fabric.load import RECEIVED, SENT, carried
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
from telemetry.selectors import Selector, received, sent

PAUSE_BITS_MAX = 65535 * 512  # that one frame stops a priority for, in bit times of its link
BOUND_UNIT = "ratio at most"  # of the evidence where only frames are counted
_BOUND_WEIGHT, _BOUND_CONFIDENCE = 0.5, 0.4

_SOURCES = (
    ("fabric_port_pfc_pause_seconds_total", "fabric_port_pfc_pause_frames_total", "fabric_port_speed_bits_per_second"),
    ("nic_pfc_pause_seconds_total", "nic_pfc_pause_frames_total", "nic_speed_bits_per_second"),
)
_TRANSITIONS = "fabric_port_pfc_transitions_total"
# What the queue sends that frames pause, with the label of its priority. What a switch receives by priority is not
# counted, so of pauses that it sends only those to a NIC, which receives them, are bounded by it.
_MOVED = (
    (_SOURCES[0][1], received, "fabric_queue_transmit_bytes_total", None, "queue"),
    (_SOURCES[1][1], received, "nic_priority_bytes_total", sent, "priority"),
    (_SOURCES[1][1], sent, "nic_priority_bytes_total", received, "priority"),
)
_PRIORITIES = 16  # more than there are: one number for each object and priority


@dataclass(frozen=True, kw_only=True)
class PfcPause(Detector):
    """Judges the share of time of the worst priority against what is usual for it; see ``usual_heights``.

    ratio_max: share of time below which nothing is a finding. bits_per_second: of a link that reports no speed.
    """

    ratio_max: float
    bits_per_second: float
    metrics: tuple[str, ...] = (
        *(metric for source in _SOURCES for metric in source),
        _TRANSITIONS,
        *sorted({moved for _, _, moved, _, _ in _MOVED}),
    )
    memory: tuple[MemoryColumn, ...] = USUAL_HEIGHTS
    memory_format: int = USUAL_HEIGHTS_FORMAT
    memory_migrations: Mapping[int, Migration] = field(default_factory=lambda: USUAL_HEIGHTS_MIGRATIONS, hash=False)

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        is_held = self.kind is FindingKind.PFC_PAUSE_RECEIVED
        selector, load = (received, carried(view, SENT)) if is_held else (sent, carried(view, RECEIVED))
        verdicts = []
        for seconds_name, frames_name, speed_name in _SOURCES:
            seconds, frames = view.column(seconds_name, selector), view.column(frames_name, selector)
            timed = np.zeros(len(view.index.objects), bool)
            timed[seconds.objects[seconds.fresh]] = True
            score, onsets = unusual(view, memory, seconds, seconds.values / self.ratio_max)
            verdicts.append(verdicts_of(seconds, score, unit="ratio", onsets_ns=onsets, load=load))
            if not timed[frames.objects].all():
                frames = frames.only(~timed[frames.objects])
                verdicts.append(self._by_frames(view, memory, frames, view.column(speed_name), load))
        return verdicts

    def _by_frames(self, view: TickView, memory: Memory, frames: Column, speeds: Column, load: Column) -> Verdicts:
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
            load=load,
        )


def pause_at_most(view: TickView, frames: Column, speeds: Column, bits_per_second: float) -> NDArray[np.float64]:
    """float64[k]: the longest time, in seconds a second, that the frames of each series can have paused it.

    At least it is 0. bits_per_second: of a link without a speed.
    """
    found = np.zeros(len(frames))
    some = np.flatnonzero(frames.values)  # most series count nothing
    found[some] = _pause_at_most(view, frames.only(some), speeds, bits_per_second)
    return found


def _pause_at_most(view: TickView, frames: Column, speeds: Column, bits_per_second: float) -> NDArray[np.float64]:
    known = speeds.about(frames.objects)
    rated = np.where(known > 0, known, bits_per_second)
    moved = view.data.per_series(_moved)[frames.sids]
    bits = np.where((moved >= 0) & view.fresh[moved], 8.0 * np.nan_to_num(view.series["value"][moved]), 0.0)
    left = np.clip(1.0 - bits / rated, 0.0, 1.0)
    return np.minimum(_pausing(view, frames) * PAUSE_BITS_MAX / rated, left)


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


def _moved(index: SeriesIndex) -> NDArray[np.int64]:
    """int64[series]: what the paused queue of each series of frames sends, in bytes, -1 where that is not counted."""
    found = np.full(len(index), -1)
    for name, direction, bytes_name, bytes_direction, label in _MOVED:
        frames, queues = _by_priority(index, name, direction, "priority")
        moved, sending = _by_priority(index, bytes_name, bytes_direction, label)
        found[frames] = np.append(moved, -1)[lookup(sending, queues)]
    return found


def _by_priority(
    index: SeriesIndex, name: str, selector: Selector | None, label: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Series whose label is the number of a priority, and one number for each object and priority."""
    sids = index.select(name, selector)
    _, first, at = np.unique(index.columns["variant"][sids], return_index=True, return_inverse=True)
    labels = [index.labels(sid).get(label, "") for sid in sids[first].tolist()]
    numbers = np.array([int(text) if text.isdecimal() else _PRIORITIES for text in labels], np.int64)[at]
    known = numbers < _PRIORITIES
    return sids[known], index.columns["object"][sids[known]] * _PRIORITIES + numbers[known]


def pfc_pauses(ratio_max: float, bits_per_second: float) -> tuple[PfcPause, ...]:
    """One detector for pauses received and one for pauses sent; see ``PfcPause``."""
    kinds = (FindingKind.PFC_PAUSE_RECEIVED, FindingKind.PFC_PAUSE_SENT)
    return tuple(
        PfcPause(name=str(kind), kind=kind, ratio_max=ratio_max, bits_per_second=bits_per_second) for kind in kinds
    )
