"""What must be notified again when a part of the outbox was lost. Pure.

A page too many is better than one that is lost, and so is an end. So an incident that is not known any more is known
again from what was sent about it; and whoever should have a notification that is neither queued nor delivered gets it
under its old key. What cannot be known from the outbox is decided again, from the newest versions on the bus, which has
to be read again from its beginning.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from alerts.clock import Moment
from alerts.decision.lifecycle import NotifiedState
from alerts.decision.table import Tracked
from alerts.notification import Action, Notification
from telemetry.incidents import Incident, IncidentState


@dataclass(frozen=True, slots=True)
class Sent:
    """The newest notification that a receiver accepted. is_open: whether it shows the incident."""

    is_open: bool
    notification: Notification


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What is left of an outbox. queued: receivers and notifications, in the order to be sent.
    sent: by receiver and incident."""

    tracked: dict[str, Tracked]
    queued: list[tuple[str, Notification]]
    sent: dict[tuple[str, str], Sent]


def reconcile(left: Outgoing, now: Moment) -> Outgoing:
    """The outbox to go on with: all that is left, and what follows from it."""
    tracked = {**_known_again(left, now), **left.tracked}
    notes = _notes(left)
    queued = [*left.queued]
    for incident_id, each in sorted(tracked.items()):
        if each.notified is None:
            continue
        newest = _newest(note for of_one in notes.get(incident_id, {}).values() for note in of_one)
        if each.notified.firing or newest is None or newest.sequence >= each.notified.sequence:
            queued += _missing(each, each.notified, notes.get(incident_id, {}), now)
        else:
            # nothing is left of its end
            notified = replace(each.notified, firing=True)
            tracked[incident_id] = Tracked(newest.incident.updated_ns, newest.incident, notified, each.taken_ns)
    sent = dict(left.sent)
    queued_before: set[tuple[str, str]] = set()
    for receiver, note in queued:
        place = (receiver, note.incident.id)
        if note.action is Action.RESOLVE and place not in sent and place not in queued_before:
            # a receiver that was never notified would not be sent the end
            sent[place] = Sent(True, note)
        queued_before.add(place)
    return Outgoing(tracked, queued, sent)


_Notes = dict[str, dict[str, list[Notification]]]


def _notes(left: Outgoing) -> _Notes:
    """Everything that was sent or is queued, by incident and receiver."""
    found: _Notes = {}
    for (receiver, incident_id), sent in left.sent.items():
        found.setdefault(incident_id, {}).setdefault(receiver, []).append(sent.notification)
    for receiver, note in left.queued:
        found.setdefault(note.incident.id, {}).setdefault(receiver, []).append(note)
    return found


def _known_again(left: Outgoing, now: Moment) -> dict[str, Tracked]:
    """Incidents that are in no row of their own."""
    found = {}
    for incident_id, by_receiver in _notes(left).items():
        if incident_id in left.tracked:
            continue
        notes = [note for notes in by_receiver.values() for note in notes]
        newest = max(notes, key=lambda note: note.sequence)
        firing = newest.action is not Action.RESOLVE
        notified = NotifiedState(
            firing=firing,
            sequence=newest.sequence,
            # when is not known: neither quiet time nor page budget may hold back a page for it
            paged_ns=0,
            changed_ns=0,
            worst=max((note.incident.severity for note in notes), key=lambda severity: severity.rank),
            kind=newest.incident.kind,
            root=newest.incident.root,
            labels=newest.labels,
            receivers=tuple(sorted(by_receiver)),
        )
        incident = newest.incident if firing else None
        found[incident_id] = Tracked(newest.incident.updated_ns, incident, notified, now.stage_ns)
    return found


def _missing(
    each: Tracked, notified: NotifiedState, notes: dict[str, list[Notification]], now: Moment
) -> Iterator[tuple[str, Notification]]:
    """What receivers should have of an incident, by what people know of it, and have not."""
    newest = _newest(note for of_one in notes.values() for note in of_one)
    for receiver in sorted({*notified.receivers, *notes}):
        known = _newest(notes.get(receiver, ()))
        if known is not None and known.sequence >= notified.sequence:
            continue
        if known is not None and known.action is Action.RESOLVE and receiver not in notified.receivers:
            continue  # it is over for a receiver that the newest page did not go to
        if newest is not None and newest.sequence == notified.sequence:
            yield receiver, newest
        elif each.incident is not None:
            yield receiver, _made_again(each.incident, notified, known, now)


def _made_again(incident: Incident, notified: NotifiedState, known: Notification | None, now: Moment) -> Notification:
    """The newest page. known: the newest notification that the receiver has."""
    shown = known if known is not None and known.action is not Action.RESOLVE else None
    return Notification(
        replace(incident, state=IncidentState.FIRING, resolved_ns=0),
        Action.FIRE if shown is None else Action.UPDATE,
        notified.sequence,
        now.wall_ns,
        notified.labels,
        {} if shown is None or shown.labels == notified.labels else shown.labels,
    )


def _newest(notes: Iterable[Notification]) -> Notification | None:
    return max(notes, key=lambda note: note.sequence, default=None)
