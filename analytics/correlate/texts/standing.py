"""Whether what a cause took away is still away: its title says how it is now, and not how it began."""

from collections.abc import Iterable
from dataclasses import dataclass

from analytics.correlate.cause import Cause
from analytics.correlate.tracks import Track
from analytics.correlate.view import CorrelationView
from telemetry.kinds import incident_kinds
from telemetry.objects import ObjectKind


@dataclass(frozen=True, slots=True)
class Standing:
    """away, back: how many devices, links or sessions are. since_ns: when the first one that is away went; where none
    is, when the last one was back.
    """

    away: int
    back: int
    since_ns: int


def standing(view: CorrelationView, track: Track) -> Standing | None:
    """None where it is not known, or where the cause has a headline of its own."""
    row = incident_kinds()[track.cause.kind]
    if not row.over or track.cause.headline or track.since_first_seen:
        return None
    if not row.away:  # a link or a session: it is back when nothing shows any more that it is down
        return Standing(0, 1, track.life.cleared_ns) if track.life.cleared_ns else None
    since_ns = track.onset_ns - view.config.onset_slack_ns
    absences = [view.absences[name] for name in _devices(view, track.cause) if name in view.absences]
    known = [each for each in absences if each.sure and each.since_ns >= since_ns]
    back_ns = [each.back_ns for each in known if each.back_ns]
    away_ns = [each.since_ns for each in known if not each.back_ns]
    return Standing(len(away_ns), len(back_ns), min(away_ns) if away_ns else max(back_ns)) if known else None


def _devices(view: CorrelationView, cause: Cause) -> Iterable[str]:
    root = cause.root
    own = view.graph.rack(root.name) if root.kind is ObjectKind.RACK else [root.name]
    return {*own, *cause.gone}
