"""Queue congestion: a buffer that is near the level at which the switch sends PFC pause, as it usually is not.

That level depends on the ASIC, its buffer and the profile of the queue, which no telemetry reports. Where the topology
says which ASIC a switch has, its buffer is known; else a setting for all switches counts. Either is only the least that
a finding needs; what is much for a queue follows from what it usually holds.
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
from analytics.state.columns import locked
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import TickView
from telemetry.asics import asics
from telemetry.findings import FindingKind
from telemetry.limits import QUEUE_NEAR_SHARE
from telemetry.topology import Device


def cleared_by_itself(labels: Mapping[str, str]) -> bool:
    """Peaks since the last poll or interval; one that only an operator clears may be of any time in the past."""
    return labels.get("reset", "interval") in ("read", "interval")


@dataclass(frozen=True, kw_only=True)
class QueueCongested(Detector):
    """Judges occupancy and its peaks against what is usual for the queue; see ``usual_heights``.

    threshold_bytes: the buffer use at which a switch without a known ASIC pauses; far below that nothing is a finding.
    """

    threshold_bytes: float
    name: str = "queue_congested"
    kind: FindingKind = FindingKind.QUEUE_CONGESTED
    metrics: tuple[str, ...] = ("fabric_queue_occupancy_peak_bytes", "fabric_queue_occupancy_bytes")
    memory: tuple[MemoryColumn, ...] = USUAL_HEIGHTS
    memory_format: int = USUAL_HEIGHTS_FORMAT
    memory_migrations: Mapping[int, Migration] = field(default_factory=lambda: USUAL_HEIGHTS_MIGRATIONS, hash=False)

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        peaks = view.column(self.metrics[0], cleared_by_itself)
        column = peaks if peaks.fresh.any() else view.column(self.metrics[1])
        by_asic = view.per_physical(_pause_bytes)[column.objects]
        pause_bytes = np.where(np.isnan(by_asic), self.threshold_bytes, by_asic)
        score, onsets = unusual(view, memory, column, column.values / (QUEUE_NEAR_SHARE * pause_bytes))
        return [verdicts_of(column, score, confidence=0.7, onsets_ns=onsets)]


def _pause_bytes(view: TickView) -> NDArray[np.float64]:
    """float64[objects]: at which height of a queue the switch of a port pauses; NaN where its ASIC is not known."""
    known = asics()
    of_device = {
        device.name: known[device.asic].pause_bytes
        for device in view.topology.entities(Device)
        if device.asic in known  # a newer version may write one that this one does not know
    }
    found = np.full(len(view.index.objects), np.nan)
    queues = view.joined([view.column(metric) for metric in QueueCongested.metrics])
    for number in np.unique(queues.objects).tolist() if of_device else ():
        found[number] = of_device.get(view.index.object_ref(number).device, np.nan)
    return locked(found)
