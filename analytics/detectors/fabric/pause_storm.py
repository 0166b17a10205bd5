"""Pause storm: a lossless queue is paused all the time and sends nothing, or a watchdog reports one.

SONiC's PFC watchdog calls it a storm when a queue with packets in it is paused for 99 % of its detection time (200 to
400 ms by default) and sends none (sonic-swss, pfc_detect_mellanox.lua; SONiC wiki, PFC Watchdog Design). One collection
interval is many detection times, so for the same share of it one sample is enough.

Switches that count frames and no time are judged as SONiC judges them (pfc_detect_broadcom.lua): the queue holds
packets, sends none, and pause frames come in; so many that they may have paused it all the time.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.counters import RECENT_GROWTH, recent_growth
from analytics.detectors.fabric.pfc_pause import BOUND_UNIT, pause_at_most
from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind
from telemetry.selectors import received

_PAUSED_SHARE = 0.99
_BYTES_PER_SECOND_MAX = 1e6  # what a queue sends between two pauses; a queue at work sends a thousand times that
_SCORE = 3.0
_WINDOW_S, _RECENT_MAX, _FORGOTTEN = 60.0, 20.0, 0.05  # of one storm: it is forgotten after three minutes


def stuck(labels: Mapping[str, str]) -> bool:
    """mlx5 counts a warning long before it counts an error."""
    return labels.get("level", "error") == "error"


@dataclass(frozen=True, kw_only=True)
class PauseStorm(Detector):
    """Judges pause time where it is counted, else frames, and the watchdog counters of switches and NICs.

    bits_per_second: of a link that reports no speed.
    """

    bits_per_second: float
    name: str = "pause_storm"
    kind: FindingKind = FindingKind.PAUSE_STORM
    metrics: tuple[str, ...] = (
        "fabric_port_pfc_pause_seconds_total",
        "fabric_queue_transmit_bytes_total",
        "fabric_pfc_watchdog_storms_total",
        "nic_pause_storms_total",
        "fabric_port_pfc_pause_frames_total",
        "fabric_port_speed_bits_per_second",
        "fabric_queue_occupancy_bytes",
        "fabric_queue_occupancy_peak_bytes",
    )
    fire_immediately_score: float = 1.0
    memory: tuple[MemoryColumn, ...] = RECENT_GROWTH

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        sent = view.column(self.metrics[1])
        paused = view.column(self.metrics[0], received)
        stands = _sends_nothing(view, paused, paused.values, sent)
        watchdogs = view.joined([view.column(metric, stuck) for metric in self.metrics[2:4]])
        storms = recent_growth(view, memory, watchdogs, _WINDOW_S, _RECENT_MAX)
        by_count = np.where(storms >= _FORGOTTEN, np.maximum(storms, 1.0), 0.0)
        score = np.concatenate([np.where(stands, _SCORE, 0.0), by_count])
        return [verdicts_of(view.joined([paused, watchdogs]), score), self._by_frames(view, paused, sent)]

    def _by_frames(self, view: TickView, paused: Column, sent: Column) -> Verdicts:
        """Of ports whose pause time is not counted."""
        frames = view.column(self.metrics[4], received)
        frames = frames.only(~np.isin(frames.objects, paused.objects[paused.fresh]))
        most = pause_at_most(view, frames, view.column(self.metrics[5]), self.bits_per_second)
        stands = _sends_nothing(view, frames, most, sent)
        holding: set[tuple[int, str]] = set()
        for metric in self.metrics[6:] if stands.any() else ():
            filled = view.column(metric)
            holding.update(_queues(view, filled.only(filled.fresh & (filled.values > 0.0))))
        stands[stands] = [queue in holding for queue in _queues(view, frames.only(stands))]
        return verdicts_of(
            frames,
            np.where(stands, _SCORE, 0.0),
            values=np.minimum(most, 1.0),
            normals=np.full(most.size, np.nan),
            unit=BOUND_UNIT,
        )


def _sends_nothing(view: TickView, paused: Column, share: NDArray[np.float64], sent: Column) -> NDArray[np.bool_]:
    """Whether the queue of each priority is paused all the time and sends next to nothing; false where its rate is not
    known. share: of the time that each is paused, at most."""
    silent = paused.fresh & (share >= _PAUSED_SHARE)
    paused = paused.only(silent)
    sent = sent.only(np.isin(sent.objects, paused.objects) & sent.fresh)
    rates = dict(zip(_queues(view, sent), sent.values.tolist(), strict=True))
    silent[silent] = [rates.get(queue, np.inf) <= _BYTES_PER_SECOND_MAX for queue in _queues(view, paused)]
    return silent


def _queues(view: TickView, column: Column) -> list[tuple[int, str]]:
    """Port and queue of each series."""
    return [(port, _class(view, sid)) for port, sid in zip(column.objects.tolist(), column.sids.tolist(), strict=True)]


def _class(view: TickView, sid: int) -> str:
    """The priority of a pause is the number of the queue that it stops."""
    labels = view.index.labels(sid)
    return labels.get("priority") or labels.get("queue", "")
