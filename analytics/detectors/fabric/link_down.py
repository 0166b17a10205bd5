"""Link down: a port that was up, or that has a link by the topology, is down."""

from dataclasses import dataclass

import numpy as np

from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind

_UP = {"fabric_port_up": 1.0, "nic_up": 1.0, "ib_port_physical_state": 5.0}  # 5: link up (IBTA PortPhysicalState)


@dataclass(frozen=True, kw_only=True)
class LinkDown(Detector):
    """Ports that were never up and have no link (spares) are not judged."""

    name: str = "link_down"
    kind: FindingKind = FindingKind.LINK_DOWN
    metrics: tuple[str, ...] = tuple(_UP)
    clear_intervals: float = 1.0
    light: bool = True

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        return [self._judge(view, metric, up) for metric, up in _UP.items()]

    def _judge(self, view: TickView, metric: str, up: float) -> Verdicts:
        column = view.column(metric)
        down = column.values < up
        was_up = view.series["highest"][column.sids] >= up
        score = np.where(down & (was_up | view.topology_index.has_link[column.objects]), 1.0, 0.0)
        return verdicts_of(column, score, normals=np.full(len(column), up), confidence=1.0)
