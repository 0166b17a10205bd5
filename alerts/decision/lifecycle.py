"""What to notify people of, decided from an incident and from what they were notified of before. Pure.

The incident's own state is decided by the analytics.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from alerts.clock import Moment
from alerts.notification import Action, Notification
from telemetry.incidents import Incident, IncidentKind, IncidentState, Severity
from telemetry.objects import Count, ObjectRef


@dataclass(frozen=True, slots=True)
class Policy:
    """quiet_ns: at most one page an incident in this time, unless it gets worse than any page of that time.
    critical_quiet_ns: the same of one that comes back critical, whose end people know: it is no news that may wait.
    update_quiet_ns: at most one change of root in this time."""

    quiet_ns: int
    critical_quiet_ns: int
    update_quiet_ns: int


@dataclass(frozen=True, slots=True)
class NotifiedState:
    """What people know about one incident.

    sequence:   of the newest notification.
    paged_ns:   stage time at which the newest FIRE was decided. changed_ns: the newest FIRE or UPDATE.
    worst:      worst severity notified since ``paged_ns``.
    labels:     of the alert that is open, or was last. receivers: those notified since the newest FIRE, sorted.
    """

    firing: bool
    sequence: Count
    paged_ns: Count
    changed_ns: Count
    worst: Severity
    kind: IncidentKind
    root: ObjectRef
    labels: Mapping[str, str] = field(default_factory=dict)
    receivers: tuple[str, ...] = ()


def due(notified: NotifiedState | None, incident: Incident, policy: Policy) -> tuple[Action, int] | None:
    """What to notify people of next who know ``notified``, and from which stage time on (0: at once).

    None while there is nothing. Without a new version of the incident the answer stays the same.
    """
    if incident.state is IncidentState.RESOLVED:
        return (Action.RESOLVE, 0) if notified is not None and notified.firing else None
    # a page that is open stays open while the incident is pending again: only fresh evidence resolves
    if incident.state is IncidentState.PENDING or incident.severity is Severity.INFO:
        return None
    if notified is None:
        return Action.FIRE, 0
    worse = incident.severity.rank > notified.worst.rank
    if not notified.firing:
        critical = incident.severity is Severity.CRITICAL
        quiet_ns = policy.critical_quiet_ns if critical else policy.quiet_ns
        return Action.FIRE, 0 if worse else notified.paged_ns + quiet_ns
    if worse:
        return Action.UPDATE, 0
    moved = (incident.kind, incident.root) != (notified.kind, notified.root)
    return (Action.UPDATE, notified.changed_ns + policy.update_quiet_ns) if moved else None


def notify(
    notified: NotifiedState | None,
    incident: Incident,
    action: Action,
    now: Moment,
    labels: Mapping[str, str],
    receivers: tuple[str, ...],
    *,
    sequence_min: int = 1,
) -> tuple[NotifiedState, Notification]:
    """The notification of ``action``, and what people know after it. sequence_min: of its sequence.

    A resolve goes out under the labels of the page that it closes, whatever the incident looks like by then.
    """
    sequence = max(sequence_min, notified.sequence + 1 if notified else 1)
    if action is Action.RESOLVE:
        assert notified is not None, "only what was paged can be resolved"
        after = replace(notified, firing=False, sequence=sequence)
        return after, Notification(incident, action, sequence, now.wall_ns, notified.labels, {})
    since_page = notified if action is Action.UPDATE else None
    after = NotifiedState(
        firing=True,
        sequence=sequence,
        paged_ns=since_page.paged_ns if since_page else now.stage_ns,
        changed_ns=now.stage_ns,
        worst=_worse(since_page.worst, incident.severity) if since_page else incident.severity,
        kind=incident.kind,
        root=incident.root,
        labels=labels,
        receivers=tuple(sorted({*since_page.receivers, *receivers})) if since_page else receivers,
    )
    replaces = notified.labels if notified and notified.firing and notified.labels != labels else {}
    return after, Notification(incident, action, sequence, now.wall_ns, labels, replaces)


def _worse(one: Severity, other: Severity) -> Severity:
    return max(one, other, key=lambda severity: severity.rank)
