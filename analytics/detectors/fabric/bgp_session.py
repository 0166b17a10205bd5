"""BGP session: one that was established is down: its routes are withdrawn, even while the link is up."""

from dataclasses import dataclass, replace

import numpy as np

from analytics.detectors.spec import NO_VERDICTS, Detector, Verdicts, computed_evidence, verdicts_of
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind
from telemetry.series import parse_series_key, series_key

PEERS_MAX = 64  # named in the evidence; a switch has a session a port


@dataclass(frozen=True, kw_only=True)
class BgpSession(Detector):
    """Judges each switch by its worst session; one that was never established may have no peer yet.

    A second evidence counts the sessions that are left, and names the peers of those that are not.
    """

    name: str = "bgp_session"
    kind: FindingKind = FindingKind.BGP_SESSION
    metrics: tuple[str, ...] = ("fabric_bgp_session_up",)
    clear_intervals: float = 1.0
    light: bool = True

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        sessions = view.column(self.metrics[0])
        was_up = view.series["highest"][sessions.sids] >= 1.0
        down = was_up & (sessions.values < 1.0)
        verdicts = verdicts_of(sessions, np.where(down, 1.0, 0.0), normals=np.ones(len(sessions)))
        if not verdicts.objects.size:
            return [NO_VERDICTS]
        size = len(view.index.objects)
        known = np.bincount(sessions.objects[was_up], minlength=size)[verdicts.objects].astype(np.float64)
        lost = np.bincount(sessions.objects[down], minlength=size)[verdicts.objects]

        def peers(row: int) -> str:
            number = int(verdicts.objects[row])
            keys = (view.index.keys[sid] for sid in sessions.sids[down & (sessions.objects == number)].tolist())
            names = sorted(parse_series_key(key)[1].get("peer", "") for key in keys)[:PEERS_MAX]
            labels = {"device": view.index.object_ref(number).name, "peer": ",".join(names)}
            return series_key("sessions_up", labels)

        left = computed_evidence(known - lost, known, "sessions", peers)
        return [replace(verdicts, evidence=(*verdicts.evidence, left))]
