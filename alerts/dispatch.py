"""The decision of the stage: newest versions of incidents in, notifications for receivers out. Pure.

``Dispatcher.plan`` changes nothing: its result is made durable first, then handed to ``accept``.
"""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from pydantic import AliasChoices, Field

from alerts.lifecycle import NotifiedState, Policy, decide, notify
from alerts.notification import Action, Notification
from alerts.rendering.labels import labels_of
from alerts.route import Route, receivers_for
from alerts.silence import Silence, silenced_by
from telemetry.incidents import Incident, IncidentState


@dataclass(frozen=True, slots=True)
class Tracked:
    """One incident as this stage knows it. incident: newest version, None once it is over and nobody waits for it."""

    updated_ns: int
    incident: Incident | None
    # "told" in outboxes of schema 1
    notified: Annotated[NotifiedState | None, Field(validation_alias=AliasChoices("notified", "told"))]


@dataclass(frozen=True, slots=True)
class Rules:
    """cluster: label of every alert. receivers: names of all. default_receivers: for what no route fits.
    pages_max: pages (FIRE) at most in any ``pages_window_ns``; the rest wait, worst first.
    remember_ns: how long a resolved incident is known, so that a late repetition of an old version is recognised.
    incidents_max: incidents known at a time.
    """

    cluster: str
    receivers: frozenset[str]
    default_receivers: tuple[str, ...]
    routes: tuple[Route, ...]
    policy: Policy
    pages_max: int
    pages_window_ns: int
    remember_ns: int
    incidents_max: int


@dataclass(slots=True)
class Plan:
    """What one round decided. changed: incidents to remember, or None to forget them.

    notifications: with their receivers, in the order to be sent. held: incidents that wait for the page budget.
    duplicates: versions that are not newer than the known one. untracked: incidents beyond ``incidents_max``.
    """

    changed: dict[str, Tracked | None] = field(default_factory=dict)
    notifications: list[tuple[str, Notification]] = field(default_factory=list)
    duplicates: int = 0
    untracked: int = 0
    held: int = 0


class Dispatcher:
    """Holds what is known about all incidents between the rounds."""

    def __init__(self, rules: Rules, tracked: Mapping[str, Tracked]) -> None:
        self._rules = rules
        self.tracked = dict(tracked)

    def plan(self, versions: Iterable[Incident], silences: Sequence[Silence], now_ns: int) -> Plan:
        """The decisions on new versions, and on what was held back and is due by now."""
        plan = Plan()
        for incident in versions:
            self._track(incident, plan)
        known = self.tracked | {key: each for key, each in plan.changed.items() if each is not None}
        due = [(each, action) for each in known.values() if (action := self._due(each, silences, now_ns))]
        fires = [each for each, action in due if action is Action.FIRE]
        budget = max(0, self._rules.pages_max - self._paged_since(now_ns - self._rules.pages_window_ns))
        plan.held = max(0, len(fires) - budget)
        for each, action in due:
            if action is not Action.FIRE:
                self._notify(each, action, now_ns, plan)
        # the worst and oldest in front
        for each in heapq.nsmallest(budget, fires, key=_worst_and_oldest_first):
            self._notify(each, Action.FIRE, now_ns, plan)
        self._forget(known, now_ns, plan)
        return plan

    def accept(self, plan: Plan) -> None:
        """The plan is durable: go on from it."""
        for incident_id, each in plan.changed.items():
            if each is None:
                self.tracked.pop(incident_id, None)
            else:
                self.tracked[incident_id] = each

    def firing(self) -> int:
        """Pages that are open."""
        return sum(each.notified is not None and each.notified.firing for each in self.tracked.values())

    def _track(self, incident: Incident, plan: Plan) -> None:
        known = plan.changed.get(incident.id) or self.tracked.get(incident.id)
        if known is not None and incident.updated_ns <= known.updated_ns:
            plan.duplicates += 1
            return
        if known is None and len(self.tracked) + len(plan.changed) >= self._rules.incidents_max:
            plan.untracked += 1
            return
        notified = known.notified if known else None
        over = incident.state is IncidentState.RESOLVED and not (notified and notified.firing)
        plan.changed[incident.id] = Tracked(incident.updated_ns, None if over else incident, notified)

    def _due(self, each: Tracked, silences: Sequence[Silence], now_ns: int) -> Action | None:
        if each.incident is None:
            return None
        action = decide(each.notified, each.incident, now_ns, self._rules.policy)
        if action is not Action.FIRE or not silences:
            return action
        return None if silenced_by(silences, labels_of(each.incident, self._rules.cluster), now_ns) else action

    def _paged_since(self, start_ns: int) -> int:
        return sum(each.notified is not None and each.notified.paged_ns > start_ns for each in self.tracked.values())

    def _notify(self, each: Tracked, action: Action, now_ns: int, plan: Plan) -> None:
        incident = _incident_of(each)
        labels = labels_of(incident, self._rules.cluster)
        receivers = receivers_for(self._rules.routes, self._rules.default_receivers, labels)
        notified, notification = notify(each.notified, incident, action, now_ns, labels, receivers)
        notification = replace(notification, held=plan.held)
        # one that was notified before may have left the configuration since
        configured = [name for name in notified.receivers if name in self._rules.receivers]
        plan.notifications.extend((name, notification) for name in configured)
        kept = None if action is Action.RESOLVE else incident
        plan.changed[incident.id] = Tracked(each.updated_ns, kept, notified)

    def _forget(self, known: Mapping[str, Tracked], now_ns: int, plan: Plan) -> None:
        for incident_id, each in known.items():
            if each.incident is None and now_ns - each.updated_ns > self._rules.remember_ns:
                plan.changed[incident_id] = None


def _worst_and_oldest_first(each: Tracked) -> tuple[int, int]:
    incident = _incident_of(each)
    return -incident.severity.rank, incident.onset_ns


def _incident_of(each: Tracked) -> Incident:
    assert each.incident is not None, "only an incident that is not over is due"
    return each.incident
