"""Link bounced: it was down between two readings that both show it up, as its carrier count shows."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind


class _Ports(NamedTuple):
    """Of one kind: their counter, by how much one outage raises it, their state, and from which value on they are up.

    More of an outage is for ``link_flapping``, less is one that a reading shows.
    """

    counter: str
    outage: float
    state: str
    up: float


_KINDS = (
    _Ports("fabric_port_flaps_total", 2.0, "fabric_port_up", 1.0),  # down and up
    _Ports("nic_flaps_total", 2.0, "nic_up", 1.0),
    _Ports("ib_port_link_downed_total", 1.0, "ib_port_physical_state", 5.0),  # IBTA: LinkDowned, PortPhysicalState
)
_GAP_MAX = 1.5  # times the usual one: where a reading is missing the outage may have been longer


@dataclass(frozen=True, kw_only=True)
class LinkBounced(Detector):
    """An outage that no reading shows. One that was seen is ``link_down``'s, and its end says nothing new."""

    name: str = "link_bounced"
    kind: FindingKind = FindingKind.LINK_BOUNCED
    metrics: tuple[str, ...] = (*(ports.counter for ports in _KINDS), *(ports.state for ports in _KINDS))
    memory: tuple[MemoryColumn, ...] = (MemoryColumn("count"), MemoryColumn("at_s"), MemoryColumn("down_s"))

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        return [self._judge(view, memory, ports) for ports in _KINDS]

    def _judge(self, view: TickView, memory: Memory, ports: _Ports) -> Verdicts:
        counts, state = view.column(ports.counter), view.column(ports.state)
        down, up = state.only(state.values < ports.up), state.only(state.fresh & (state.values >= ports.up))
        grown = self._grown(view, memory, counts, down)
        score = np.zeros(len(counts))
        bounced = np.flatnonzero(grown == ports.outage)
        score[bounced] = np.isin(counts.objects[bounced], up.objects)
        return verdicts_of(counts, score, values=grown, normals=np.zeros(len(counts)), unit="changes")

    def _grown(self, view: TickView, memory: Memory, flaps: Column, down: Column) -> NDArray[np.float64]:
        """Growth of each count since the reading before, which is not missing, while no reading showed the port down;
        else 0."""
        rows, at_s = memory.rows(flaps.sids), flaps.times_ns * 1e-9
        count, known_s, down_s = memory["count"], memory["at_s"], memory["down_s"]
        down_s[rows[np.isin(flaps.objects, down.objects)]] = view.end_ns * 1e-9
        new = np.flatnonzero(flaps.fresh & (at_s > known_s[rows]))
        rows, at_s, raw = rows[new], at_s[new], view.series["raw"][flaps.sids[new]]
        since_s = known_s[rows]
        adjacent = (since_s > 0.0) & (at_s - since_s <= _GAP_MAX * view.cadence_of(flaps.sids[new]))
        grown = np.zeros(len(flaps))
        grown[new] = np.where(adjacent & (down_s[rows] <= since_s), raw - count[rows], 0.0)
        count[rows], known_s[rows] = raw, at_s
        return grown
