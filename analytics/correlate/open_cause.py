"""The cause of an open incident when this tick's evidence alone would not propose it."""

from dataclasses import replace

from analytics.correlate.causes.cause import Cause
from analytics.correlate.reach import reach
from analytics.correlate.tracks import Track
from analytics.correlate.view import CorrelationView
from telemetry.findings import FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import incident_kinds

OPEN_FACTOR = 0.5  # remains of evidence count half: a cause that explains them freshly takes over


def open_cause(view: CorrelationView, track: Track) -> Cause:
    """The track's cause with what is left of its evidence, and what came back about its root."""
    cause = track.cause
    kind = incident_kinds()[cause.kind]
    primary = {found for found in track.primary if found in view.by_id}
    for ref in reach(view, cause).own:
        primary |= {finding.id for finding in view.about(ref) if finding.kind in kind.returning}
    if cause.kind is IncidentKind.GPU_FAULT:  # a reboot of its host is how it is repaired
        own = view.on_device(cause.root.device)
        primary |= {finding.id for finding in own if finding.kind is FindingKind.DEVICE_REBOOTED}
    # What a device left behind when it went or came back is no incident of one of its links.
    remains = "device" in kind.takes_away and primary <= track.members.keys()
    return replace(cause, primary=frozenset(primary), factor=1.0 if remains else OPEN_FACTOR)
