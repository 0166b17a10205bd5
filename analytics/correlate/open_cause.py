"""The cause of an open incident, proposed again from what is left of its evidence."""

from dataclasses import replace

from analytics.correlate.cause import Cause
from analytics.correlate.causes.cables import are_of_a_switch
from analytics.correlate.causes.devices import only_rebooted
from analytics.correlate.repairs import repair_of
from analytics.correlate.tracks import Track
from analytics.correlate.view import CorrelationView
from telemetry.findings import FindingKind
from telemetry.incidents import IncidentKind, Severity
from telemetry.kinds import incident_kinds
from telemetry.objects import ObjectKind

OPEN_FACTOR = 0.5  # what is left counts half, so that a new cause which explains it replaces the open one


def open_cause(view: CorrelationView, track: Track) -> Cause:
    """The track's cause with its findings that are still active and new ones about the same root.

    Of those that are not seen at the moment, as nothing is sent there, the root's own keep open what people were paged
    for: of other pressure nobody knows that it might go on.
    """
    cause = track.cause
    kind = incident_kinds()[cause.kind]
    own = view.cluster.reach(cause).own
    primary = {found for found in track.primary if found in view.by_id}
    since_ns = track.onset_ns - view.config.onset_slack_ns  # what began long before is of something else
    for ref in own:
        about = (finding for finding in view.about(ref) if finding.kind in kind.returning)
        primary |= {finding.id for finding in about if finding.onset_ns >= since_ns}
    unseen = (view.by_id[found] for found in primary if view.by_id[found].unloaded_since_ns)
    known = track.id and track.severity is not Severity.INFO
    primary -= {finding.id for finding in unseen if not known or finding.object not in own}
    if cause.kind is IncidentKind.GPU_FAULT:  # it is repaired by a reboot of its host
        primary |= {finding.id for finding in repair_of(view, cause.root.device)}
    # Findings that remain after a device went down or came back are no incident of one of its links, and what is left
    # of several parts that failed at once is no incident of each.
    remains = bool("device" in kind.takes_away or cause.gone or cause.links) and primary <= track.members.keys()
    if remains and cause.links and cause.root.kind is ObjectKind.LINK:  # links of others may show that it is a switch
        remains = not are_of_a_switch(view, cause.links | {cause.root}, track.onset_ns)
    factor = 1.0 if remains and not _only_rebooted(view, cause) else OPEN_FACTOR
    if cause.change and not view.lasts(cause.change):
        factor = 0.0  # what is not back when planned work is over is no part of it
    if cause.unused:
        factor = 0.0  # nor what its wave does not count in any more: it is overdue, or somebody used it
    return replace(cause, primary=frozenset(primary), factor=factor)


def _only_rebooted(view: CorrelationView, cause: Cause) -> bool:
    """Whether the device that is down is back so soon that its incident is revised."""
    about = view.about(cause.root) if cause.kind is IncidentKind.DEVICE_DOWN else ()
    return any(finding.kind is FindingKind.DEVICE_REBOOTED and only_rebooted(view, finding) for finding in about)
