"""BGP session: one that was established is down: its routes are withdrawn, even while the link is up."""

from dataclasses import dataclass

import numpy as np

from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind


@dataclass(frozen=True, kw_only=True)
class BgpSession(Detector):
    """Judges each switch by its worst session; one that was never established may have no peer yet."""

    name: str = "bgp_session"
    kind: FindingKind = FindingKind.BGP_SESSION
    metrics: tuple[str, ...] = ("fabric_bgp_session_up",)
    clear_intervals: float = 1.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        sessions = view.column(self.metrics[0])
        was_up = view.series["highest"][sessions.sids] >= 1.0
        score = np.where(was_up & (sessions.values < 1.0), 1.0, 0.0)
        return [verdicts_of(sessions, score, normals=np.ones(len(sessions)))]
