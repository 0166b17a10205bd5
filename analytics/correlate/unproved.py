"""Evidence that ends without a repair: it lasted until it was learned, or its object did nothing for so long."""

from collections.abc import Sequence
from operator import attrgetter

from analytics.correlate.cluster.cluster import Cluster
from analytics.correlate.config import CorrelateConfig
from analytics.correlate.texts.clock import clock
from analytics.correlate.tracks import Track
from common.units import to_ns
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.incidents import Severity, TimelineEntry
from telemetry.objects import ObjectKind, ObjectRef

# Of what is judged by what an object usually does. What has lasted for long is what it usually does.
_LEARNED = frozenset(
    {
        FindingKind.PFC_PAUSE_RECEIVED,
        FindingKind.PFC_PAUSE_SENT,
        FindingKind.QUEUE_CONGESTED,
        FindingKind.ECN_MARKING,
        FindingKind.ECMP_IMBALANCE,
        FindingKind.STORAGE_SLOW,
        FindingKind.METADATA_STORM,
        FindingKind.STRAGGLER,
        FindingKind.JOB_SLOWED,
        FindingKind.DEVIATION,
    }
)
_USUAL = ": it has been so for so long that it counts as usual, nothing shows a repair"
_SENDS = "next to nothing is sent there"
_DRAWS = "it draws too little power to get warm"  # of a GPU
_IDLE = "{idle}: whether it goes on is not known"
_UNSEEN = ": {idle} since {since}, so nothing shows a repair"


def mark(changed: Sequence[Finding], tracks: Sequence[Track], cluster: Cluster, config: CorrelateConfig) -> list[Track]:
    """Marks the incidents of which some evidence ends so. Gives those whose timeline says now that it is not seen."""
    usual = {finding.id for finding in changed if _is_learned(finding, to_ns(config.usual_after_s))}
    for track in tracks if usual else ():
        track.usual |= not usual.isdisjoint(track.primary)
    unseen = {finding.id: finding for finding in changed if finding.unloaded_since_ns}

    def note(track: Track) -> bool:
        return _note(track, [unseen[found] for found in unseen.keys() & track.primary], cluster, config.timeline_max)

    return [track for track in tracks if note(track)] if unseen else []


def why_ended(track: Track) -> str:
    """Why an incident ends although nothing shows a repair, '' where it does."""
    if track.unseen_since_ns:
        return _UNSEEN.format(idle=_idle(track.cause.root), since=clock(track.unseen_since_ns))
    return _USUAL if track.usual else ""


def _idle(ref: ObjectRef) -> str:
    return _DRAWS if ref.kind is ObjectKind.GPU else _SENDS


def _is_learned(finding: Finding, after_ns: int) -> bool:
    lasted_ns = finding.observed_ns - finding.onset_ns
    return finding.state is FindingState.CLEARED and finding.kind in _LEARNED and lasted_ns >= after_ns


def _note(track: Track, unseen: Sequence[Finding], cluster: Cluster, timeline_max: int) -> bool:
    """Whether the timeline of an incident that people were paged for says something new of its root's own evidence."""
    if not unseen or not track.id or track.severity is Severity.INFO:
        return False
    own, before = cluster.reach(track.cause).own, len(track.notes)
    for finding in sorted((each for each in unseen if each.object in own), key=attrgetter("id")):
        since_ns = finding.unloaded_since_ns
        if finding.state is FindingState.CLEARED:
            track.unseen_since_ns = max(track.unseen_since_ns, since_ns)
            continue
        entry = TimelineEntry(since_ns, finding.object, _IDLE.format(idle=_idle(finding.object)))
        if entry not in track.notes and len(track.notes) < timeline_max:
            track.notes.append(entry)
    return len(track.notes) > before
