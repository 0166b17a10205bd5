"""Link bounced: it was down between two readings that both show it up, as its carrier count tells."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind

_UP = {"fabric_port_flaps_total": "fabric_port_up", "nic_flaps_total": "nic_up"}
_OUTAGE = 2.0  # carrier changes: down and up. More are for ``link_flapping``, one is an outage that a reading shows
_GAP_MAX = 1.5  # times the usual one: where a reading is missing the outage may have been longer


@dataclass(frozen=True, kw_only=True)
class LinkBounced(Detector):
    """An outage that no reading shows. One that was seen is ``link_down``'s, and its end says nothing new."""

    name: str = "link_bounced"
    kind: FindingKind = FindingKind.LINK_BOUNCED
    metrics: tuple[str, ...] = (*_UP, *_UP.values())
    memory: tuple[MemoryColumn, ...] = (MemoryColumn("count"), MemoryColumn("at_s"), MemoryColumn("down_s"))

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        return [self._judge(view, memory, view.column(flaps), view.column(up)) for flaps, up in _UP.items()]

    def _judge(self, view: TickView, memory: Memory, flaps: Column, up: Column) -> Verdicts:
        grown = self._grown(view, memory, flaps, up)
        score = np.zeros(len(flaps))
        bounced = np.flatnonzero(grown == _OUTAGE)
        state = up.only(up.fresh & (up.values >= 1.0))
        score[bounced] = state.about(flaps.objects[bounced]) >= 1.0
        return verdicts_of(flaps, score, values=grown, normals=np.zeros(len(flaps)), unit="changes")

    def _grown(self, view: TickView, memory: Memory, flaps: Column, up: Column) -> NDArray[np.float64]:
        """Growth of each count since the reading before, which is not missing, while no reading showed the port down;
        else 0."""
        rows, at_s = memory.rows(flaps.sids), flaps.times_ns * 1e-9
        count, known_s, down_s = memory["count"], memory["at_s"], memory["down_s"]
        down_s[rows[np.isin(flaps.objects, up.objects[up.values < 1.0])]] = view.end_ns * 1e-9
        new = np.flatnonzero(flaps.fresh & (at_s > known_s[rows]))
        rows, at_s, raw = rows[new], at_s[new], view.series["raw"][flaps.sids[new]]
        since_s = known_s[rows]
        adjacent = (since_s > 0.0) & (at_s - since_s <= _GAP_MAX * view.cadence_of(flaps.sids[new]))
        grown = np.zeros(len(flaps))
        grown[new] = np.where(adjacent & (down_s[rows] <= since_s), raw - count[rows], 0.0)
        count[rows], known_s[rows] = raw, at_s
        return grown
