"""What people are told about an incident: decided from what they were told and what is known now.

The incident's own state is decided by the analytics; here is only whether that is news for people.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from alerts.notification import Action, Notification
from telemetry.incidents import Incident, IncidentKind, IncidentState, Severity
from telemetry.objects import ObjectRef

_RANK = {Severity.INFO: 0, Severity.WARNING: 1, Severity.CRITICAL: 2}


@dataclass(frozen=True, slots=True)
class Policy:
    """quiet_ns: at most one page an incident in this time, unless it gets worse than any page of that time.
    update_quiet_ns: at most one change of root in this time."""

    quiet_ns: int
    update_quiet_ns: int


@dataclass(frozen=True, slots=True)
class Told:
    """What people know about one incident.

    sequence:   of the newest notification.
    paged_ns:   when the newest FIRE was decided. changed_ns: the newest FIRE or UPDATE.
    worst:      worst severity told since ``paged_ns``.
    labels:     of the alert that is open, or was last. receivers: who was told since the newest FIRE, sorted.
    """

    firing: bool
    sequence: int
    paged_ns: int
    changed_ns: int
    worst: Severity
    kind: IncidentKind
    root: ObjectRef
    labels: Mapping[str, str] = field(default_factory=dict)
    receivers: tuple[str, ...] = ()


def rank(severity: Severity) -> int:
    """Larger is worse."""
    return _RANK[severity]


def decide(told: Told | None, incident: Incident, now_ns: int, policy: Policy) -> Action | None:
    """The news in ``incident`` for people who were told ``told``; None when there is none now.

    Asked again later the answer may change without a new version: a page that was held back becomes due.
    """
    if incident.state is IncidentState.RESOLVED:
        return Action.RESOLVE if told is not None and told.firing else None
    # a page that is open stays open while the incident is pending again: only fresh evidence resolves
    if incident.state is IncidentState.PENDING or incident.severity is Severity.INFO:
        return None
    if told is None:
        return Action.FIRE
    worse = rank(incident.severity) > rank(told.worst)
    if not told.firing:
        return Action.FIRE if worse or now_ns - told.paged_ns >= policy.quiet_ns else None
    moved = (incident.kind, incident.root) != (told.kind, told.root)
    if worse or (moved and now_ns - told.changed_ns >= policy.update_quiet_ns):
        return Action.UPDATE
    return None


def tell(
    told: Told | None,
    incident: Incident,
    action: Action,
    now_ns: int,
    labels: Mapping[str, str],
    receivers: tuple[str, ...],
) -> tuple[Told, Notification]:
    """What people know once ``action`` is told, and the notification that tells it.

    A resolve goes out under the labels of the page that it closes, whatever the incident looks like by then.
    """
    sequence = told.sequence + 1 if told else 1
    if action is Action.RESOLVE:
        assert told is not None, "only what was told can be resolved"
        after = replace(told, firing=False, sequence=sequence)
        return after, Notification(incident, action, sequence, now_ns, told.labels, {})
    fresh = action is Action.FIRE or told is None
    after = Told(
        firing=True,
        sequence=sequence,
        paged_ns=now_ns if fresh or told is None else told.paged_ns,
        changed_ns=now_ns,
        worst=incident.severity if fresh or told is None else max(told.worst, incident.severity, key=rank),
        kind=incident.kind,
        root=incident.root,
        labels=labels,
        receivers=receivers if fresh or told is None else tuple(sorted({*told.receivers, *receivers})),
    )
    replaces = told.labels if told and told.firing and told.labels != labels else {}
    return after, Notification(incident, action, sequence, now_ns, labels, replaces)
