"""Link flap: the carrier changed several times within a few minutes."""

from dataclasses import dataclass

import numpy as np

from analytics.detectors.counters import RECENT_GROWTH, recent_growth
from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind

_WINDOW_S = 120.0
# Carrier changes, down and up both counted: one outage and its repair are two, so three is the first that flaps.
_CHANGES_MAX = 2.5
_RECENT_MAX = 4 * _CHANGES_MAX  # however long it flapped, the finding clears three minutes after the last change
# Changes by count. InfiniBand's LinkDowned counts outages (InfiniBand Architecture Specification 1.4, section 16.1.3).
_CHANGES = {"fabric_port_flaps_total": 1.0, "nic_flaps_total": 1.0, "ib_port_link_downed_total": 2.0}


@dataclass(frozen=True, kw_only=True)
class LinkFlapping(Detector):
    """Counts carrier changes, fading with a time constant of two minutes."""

    name: str = "link_flapping"
    kind: FindingKind = FindingKind.LINK_FLAPPING
    metrics: tuple[str, ...] = tuple(_CHANGES)
    clear_intervals: float = 6.0
    memory: tuple[MemoryColumn, ...] = RECENT_GROWTH

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        return [self._judge(view, memory, view.column(metric), changes) for metric, changes in _CHANGES.items()]

    def _judge(self, view: TickView, memory: Memory, column: Column, changes: float) -> Verdicts:
        """changes: of the carrier, by count."""
        recent = changes * recent_growth(view, memory, column, _WINDOW_S, _RECENT_MAX / changes)
        return verdicts_of(column, recent / _CHANGES_MAX, values=recent, normals=np.zeros(len(column)), unit="changes")
