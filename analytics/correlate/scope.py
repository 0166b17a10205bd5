"""The cause of an open incident when this tick's evidence alone would not propose it."""

from dataclasses import replace

from analytics.correlate.causes.cause import (
    CHECKPOINTS,
    ENVIRONMENT,
    GPU_FAULTS,
    LINK,
    PAUSES,
    QUEUES,
    SILENCE,
    STORAGE,
    Cause,
    Tier,
)
from analytics.correlate.evidence import View
from analytics.correlate.reach import reach
from analytics.correlate.tracks import Track
from telemetry.findings import FindingKind
from telemetry.incidents import IncidentKind

STANDING_FACTOR = 0.5  # remains of evidence count half: a cause that explains them freshly takes over

AWAY = LINK | SILENCE | {FindingKind.DEVICE_REBOOTED, FindingKind.GPU_LOST}
AWAY_KINDS = (IncidentKind.DEVICE_DOWN, IncidentKind.DEVICE_REBOOTED, IncidentKind.RACK_POWER)
# What may return about the same root without being another incident.
RETURNING = {
    IncidentKind.DEVICE_DOWN: AWAY,
    IncidentKind.DEVICE_REBOOTED: AWAY,
    IncidentKind.RACK_POWER: AWAY,
    IncidentKind.LINK_DOWN: LINK,
    IncidentKind.LINK_FLAPPING: LINK,
    IncidentKind.LINK_DEGRADED: LINK,
    IncidentKind.GPU_FAULT: GPU_FAULTS | {FindingKind.STRAGGLER},
    IncidentKind.STRAGGLER: GPU_FAULTS | {FindingKind.STRAGGLER},
    IncidentKind.SLOW_STORAGE: STORAGE,
    IncidentKind.ENVIRONMENT: ENVIRONMENT | {FindingKind.GPU_THROTTLED},
    IncidentKind.BGP_DOWN: frozenset({FindingKind.BGP_SESSION}),
    IncidentKind.LATE_CHECKPOINT: CHECKPOINTS,
    IncidentKind.SLOW_RECEIVER: PAUSES | QUEUES,
    IncidentKind.INCAST: PAUSES | QUEUES,
    IncidentKind.PAUSE_LOOP: PAUSES,
    IncidentKind.CAPACITY: frozenset({FindingKind.CAPACITY}),
    IncidentKind.WEAR: frozenset({FindingKind.WEAR}),
    IncidentKind.TELEMETRY_LOST: SILENCE,
}


def standing_cause(view: View, track: Track) -> Cause:
    """The track's cause with what is left of its evidence, and what came back about its root."""
    cause = track.cause
    primary = {found for found in track.primary if found in view.by_id}
    kinds = RETURNING.get(cause.kind, frozenset())
    for ref in reach(view, cause).own:
        primary |= {finding.id for finding in view.about(ref) if finding.kind in kinds}
    if cause.kind is IncidentKind.GPU_FAULT:  # a reboot of its host is how it is repaired
        own = view.on_device(cause.root.device)
        primary |= {finding.id for finding in own if finding.kind is FindingKind.DEVICE_REBOOTED}
    tier = Tier.HARD if cause.tier is Tier.LEFT and kinds else cause.tier
    # What a device left behind when it went or came back is no incident of one of its links.
    remains = cause.kind in AWAY_KINDS and primary <= track.members.keys()
    return replace(cause, primary=frozenset(primary), factor=1.0 if remains else STANDING_FACTOR, tier=tier)
