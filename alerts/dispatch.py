"""The decision of the stage: newest versions of incidents in, what is told to whom out. Pure.

``Dispatcher.weigh`` changes nothing: its result is made durable first, then handed to ``accept``.
"""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from alerts.labels import labels_of
from alerts.lifecycle import Policy, Told, decide, rank, tell
from alerts.notification import Action, Notification
from alerts.route import Route, receivers_for
from alerts.silence import Silence, silenced_by
from telemetry.incidents import Incident, IncidentState


@dataclass(frozen=True, slots=True)
class Tracked:
    """One incident as this stage knows it. incident: newest version, None once it is resolved and told."""

    updated_ns: int
    incident: Incident | None
    told: Told | None


@dataclass(frozen=True, slots=True)
class Rules:
    """cluster: label of every alert. receivers: names of all. everyone: of those that are told by default.
    pages_max: pages (FIRE) at most in any ``pages_window_ns``; the rest wait, worst first.
    remember_ns: how long a resolved incident is known, so that a late repetition of an old version is recognised.
    incidents_max: incidents known at a time.
    """

    cluster: str
    receivers: frozenset[str]
    everyone: tuple[str, ...]
    routes: tuple[Route, ...]
    policy: Policy
    pages_max: int
    pages_window_ns: int
    remember_ns: int
    incidents_max: int


@dataclass(slots=True)
class Dispatch:
    """What one round decided. changed: incidents to remember, or None to forget them.

    tell: receiver and notification, in the order to be told. held: incidents that wait for the page budget.
    """

    changed: dict[str, Tracked | None] = field(default_factory=dict)
    tell: list[tuple[str, Notification]] = field(default_factory=list)
    stale: int = 0
    untracked: int = 0
    held: int = 0


class Dispatcher:
    """Holds what is known about all incidents between the rounds."""

    def __init__(self, rules: Rules, tracked: Mapping[str, Tracked]) -> None:
        self._rules = rules
        self.tracked = dict(tracked)

    def weigh(self, versions: Iterable[Incident], silences: Sequence[Silence], now_ns: int) -> Dispatch:
        """The decisions on new versions, and on what was held back and is due by now."""
        dispatch = Dispatch()
        for incident in versions:
            self._note(incident, dispatch)
        known = self.tracked | {key: each for key, each in dispatch.changed.items() if each is not None}
        due = [(each, action) for each in known.values() if (action := self._due(each, silences, now_ns))]
        fires = [each for each, action in due if action is Action.FIRE]
        budget = max(0, self._rules.pages_max - self._paged_since(now_ns - self._rules.pages_window_ns))
        dispatch.held = max(0, len(fires) - budget)
        for each, action in due:
            if action is not Action.FIRE:
                self._tell(each, action, now_ns, dispatch)
        # the worst and oldest in front
        for each in heapq.nsmallest(budget, fires, key=lambda one: (-rank(_of(one).severity), _of(one).onset_ns)):
            self._tell(each, Action.FIRE, now_ns, dispatch)
        self._forget(known, now_ns, dispatch)
        return dispatch

    def accept(self, dispatch: Dispatch) -> None:
        """What was weighed is durable: go on from it."""
        for incident_id, each in dispatch.changed.items():
            if each is None:
                self.tracked.pop(incident_id, None)
            else:
                self.tracked[incident_id] = each

    def firing(self) -> int:
        """Pages that are open."""
        return sum(each.told is not None and each.told.firing for each in self.tracked.values())

    def _note(self, incident: Incident, dispatch: Dispatch) -> None:
        known = dispatch.changed.get(incident.id) or self.tracked.get(incident.id)
        if known is not None and incident.updated_ns <= known.updated_ns:
            dispatch.stale += 1
            return
        if known is None and len(self.tracked) + len(dispatch.changed) >= self._rules.incidents_max:
            dispatch.untracked += 1
            return
        told = known.told if known else None
        over = incident.state is IncidentState.RESOLVED and not (told and told.firing)
        dispatch.changed[incident.id] = Tracked(incident.updated_ns, None if over else incident, told)

    def _due(self, each: Tracked, silences: Sequence[Silence], now_ns: int) -> Action | None:
        if each.incident is None:
            return None
        action = decide(each.told, each.incident, now_ns, self._rules.policy)
        if action is not Action.FIRE or not silences:
            return action
        return None if silenced_by(silences, labels_of(each.incident, self._rules.cluster), now_ns) else action

    def _paged_since(self, start_ns: int) -> int:
        return sum(each.told is not None and each.told.paged_ns > start_ns for each in self.tracked.values())

    def _tell(self, each: Tracked, action: Action, now_ns: int, dispatch: Dispatch) -> None:
        incident = _of(each)
        labels = labels_of(incident, self._rules.cluster)
        receivers = receivers_for(self._rules.routes, self._rules.everyone, labels)
        told, notification = tell(each.told, incident, action, now_ns, labels, receivers)
        notification = replace(notification, held=dispatch.held)
        # one that was told may have left the configuration since
        dispatch.tell.extend((name, notification) for name in told.receivers if name in self._rules.receivers)
        kept = None if action is Action.RESOLVE else incident
        dispatch.changed[incident.id] = Tracked(each.updated_ns, kept, told)

    def _forget(self, known: Mapping[str, Tracked], now_ns: int, dispatch: Dispatch) -> None:
        for incident_id, each in known.items():
            if each.incident is None and now_ns - each.updated_ns > self._rules.remember_ns:
                dispatch.changed[incident_id] = None


def _of(each: Tracked) -> Incident:
    assert each.incident is not None, "only a known incident is due"
    return each.incident
