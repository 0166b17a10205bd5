"""BGP session: one that was established is not any more: its routes are gone, even while the link is up."""

import math
from dataclasses import dataclass

import numpy as np

from analytics.detectors.spec import Verdicts, verdicts_of
from analytics.state.view import View
from telemetry.findings import FindingKind


@dataclass(frozen=True)
class BgpSession:
    """Judges each switch by its worst session; one that was never established may wait for a peer to be built."""

    name: str = "bgp_session"
    kind: FindingKind = FindingKind.BGP_SESSION
    metrics: tuple[str, ...] = ("fabric_bgp_session_up",)
    persist: int = 1
    sure: float = math.inf
    clear_intervals: float = 1.0

    def judge(self, view: View) -> list[Verdicts]:
        sessions = view.column(self.metrics[0])
        was_up = view.series["highest"][sessions.sids] >= 1.0
        score = np.where(was_up & (sessions.values < 1.0), 1.0, 0.0)
        return [verdicts_of(sessions, score, normals=np.ones(len(sessions)))]
