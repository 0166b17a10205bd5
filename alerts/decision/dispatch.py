"""The decision of the stage: newest versions of incidents in, notifications for receivers out. Pure.

``Dispatcher.plan`` changes nothing: its result is made durable first, then handed to ``accept``. A round costs what it
brings and what is due, not what is known: a storm must not slow down the page that matters.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from alerts.clock import Moment
from alerts.decision.budget import PageBudget
from alerts.decision.lifecycle import due, notify
from alerts.decision.rules import Rules
from alerts.decision.table import EvictionReason, Table, Tracked, importance
from alerts.decision.waiting import Held, Quiet, Silenced, Wait, Waiting
from alerts.notification import Action, Notification
from alerts.rendering.labels import labels_of
from alerts.route import receivers_for
from alerts.silence import Silence, silenced_by
from telemetry.incidents import Incident, IncidentKind, IncidentState, Severity


@dataclass(slots=True)
class Plan:
    """What one round decided. changed: incidents to remember, or None to forget them.

    waits: what the incidents that were decided on wait for, None for nothing. silences: in force.
    notifications: with their receivers, in the order to be sent. pages: how many FIREs.
    held: incidents that wait for the page budget.
    duplicates: versions that are not newer than the known one. evicted: incidents that made room, by reason.
    untracked: new incidents for which there was no room. lost: of these and the evicted, those of whom people may now
    not be notified: not the resolved and the harmless.
    """

    now: Moment
    silences: tuple[Silence, ...]
    changed: dict[str, Tracked | None] = field(default_factory=dict)
    waits: dict[str, Wait | None] = field(default_factory=dict)
    notifications: list[tuple[str, Notification]] = field(default_factory=list)
    pages: int = 0
    held: int = 0
    duplicates: int = 0
    evicted: Counter[EvictionReason] = field(default_factory=Counter)
    untracked: int = 0
    lost: int = 0


class Dispatcher:
    """Holds what is known about all incidents between the rounds. sequence_min: of every new notification."""

    def __init__(self, rules: Rules, tracked: Mapping[str, Tracked], sequence_min: int = 1) -> None:
        self._rules = rules
        self._sequence_min = sequence_min
        self._table = Table(tracked)
        self._budget = PageBudget(
            rules.budget, [each.notified.paged_ns for each in tracked.values() if each.notified is not None]
        )
        # the first round has other silences than None, and so decides on all of them
        self._silences: tuple[Silence, ...] | None = None
        self._waiting = Waiting(silenced=dict.fromkeys(tracked))

    @property
    def tracked(self) -> Mapping[str, Tracked]:
        """All that is known, by the incident's id."""
        return self._table.tracked

    def plan(self, versions: Iterable[Incident], silences: Sequence[Silence], now: Moment) -> Plan:
        """The decisions on new versions, and on what waited and is due by now. silences: those in force."""
        plan = Plan(now, tuple(silences))
        for incident in versions:
            self._track(incident, plan)
        self._make_room(plan)
        self._page(self._decide(plan), plan)
        for incident_id in self._table.over_since(now.stage_ns - self._rules.remember_ns):
            if incident_id not in plan.changed:
                self._drop(incident_id, plan)
        return plan

    def accept(self, plan: Plan) -> None:
        """The plan is durable: go on from it."""
        for incident_id, each in plan.changed.items():
            if each is None:
                self._table.remove(incident_id)
            else:
                self._table.put(incident_id, each)
        for incident_id, wait in plan.waits.items():
            self._waiting.put(incident_id, wait)
        self._budget.add(plan.pages, plan.now.stage_ns)
        self._silences = plan.silences

    def open_of(self, kind: IncidentKind) -> Incident | None:
        """An incident of this kind that is not over."""
        found = (each.incident for each in self.tracked.values())
        return next((incident for incident in found if incident is not None and incident.kind is kind), None)

    def firing(self) -> int:
        """Pages that are open."""
        return len(self._table.open)

    def _track(self, incident: Incident, plan: Plan) -> None:
        known = plan.changed.get(incident.id) or self.tracked.get(incident.id)
        if known is not None and incident.updated_ns <= known.updated_ns:
            plan.duplicates += 1
            return
        over = incident.state is IncidentState.RESOLVED and not (known is not None and known.is_open)
        notified = known.notified if known else None
        plan.changed[incident.id] = Tracked(
            incident.updated_ns, None if over else incident, notified, plan.now.stage_ns
        )

    def _make_room(self, plan: Plan) -> None:
        """What is over goes first, then the least important without an open page; a new one may be that itself."""
        new = [incident_id for incident_id in plan.changed if incident_id not in self.tracked]
        excess = self._table.bounded + len(new) - self._rules.incidents_max
        if excess <= 0:
            return
        for incident_id in self._over(excess, plan):
            plan.evicted[EvictionReason.RESOLVED] += 1
            excess -= 1
            self._drop(incident_id, plan)
        changed = [
            (importance(each.incident), incident_id)
            for incident_id, each in plan.changed.items()
            if each is not None and each.incident is not None and not each.is_open
        ]
        known = self._table.least_important(excess, plan.changed)
        for (_, rank, _), incident_id in heapq.nsmallest(excess, chain(changed, known)):
            plan.lost += rank > Severity.INFO.rank
            if incident_id in self.tracked:
                plan.evicted[EvictionReason.LESS_IMPORTANT] += 1
                self._drop(incident_id, plan)
            else:
                plan.untracked += 1
                del plan.changed[incident_id]

    def _over(self, count: int, plan: Plan) -> list[str]:
        """Incidents that are over, those of this round last."""
        known = self._table.over(count, plan.changed)
        now = [incident_id for incident_id, each in plan.changed.items() if each is not None and each.incident is None]
        return [*known, *now[: count - len(known)]]

    def _drop(self, incident_id: str, plan: Plan) -> None:
        plan.changed[incident_id] = plan.waits[incident_id] = None

    def _decide(self, plan: Plan) -> list[Tracked]:
        """Notifies of ends and updates; returns the pages that are due."""
        fires = []
        waited = self._waiting.quiet_until(plan.now.stage_ns)
        if plan.silences != self._silences:
            waited.extend(self._waiting.for_a_silence())
        for incident_id in dict.fromkeys([*plan.changed, *waited]):
            each = plan.changed[incident_id] if incident_id in plan.changed else self.tracked[incident_id]
            if each is None or each.incident is None:
                plan.waits[incident_id] = None
                continue
            action, wait = self._due(each, each.incident, plan)
            plan.waits[incident_id] = wait
            if action is Action.FIRE:
                fires.append(each)
            elif action is not None:
                self._notify(each, action, plan)
        return fires

    def _due(self, each: Tracked, incident: Incident, plan: Plan) -> tuple[Action | None, Wait | None]:
        """What to notify people of now, or what it waits for."""
        coming = due(each.notified, incident, self._rules.policy)
        if coming is None:
            return None, None
        action, from_ns = coming
        if from_ns > plan.now.stage_ns:
            return None, Quiet(from_ns)
        if action is not Action.FIRE:
            return action, None
        if plan.silences and silenced_by(plan.silences, labels_of(incident, self._rules.cluster)):
            return None, Silenced()
        return action, Held(incident.severity is Severity.CRITICAL)

    def _page(self, fires: Sequence[Tracked], plan: Plan) -> None:
        """The worst and oldest go out as far as the budget allows, the others stay held."""
        decided = plan.waits.keys()
        critical = [each for each in fires if _is_critical(each)]
        others = [each for each in fires if not _is_critical(each)]
        held_critical, held = self._waiting.held_critical, self._waiting.held
        waited = sum(len(index) - sum(key in index for key in decided) for index in (held_critical, held))
        left = self._budget.left(plan.now.stage_ns)
        worst = self._most_important(left, critical, held_critical, plan)
        left -= len(worst) + self._rules.budget.critical_reserve
        worst += self._most_important(max(0, left), others, held, plan)
        plan.pages = len(worst)
        plan.held = waited + len(fires) - plan.pages
        for each in worst:
            self._notify(each, Action.FIRE, plan)

    def _most_important(
        self, count: int, fires: Sequence[Tracked], held: Mapping[str, None], plan: Plan
    ) -> list[Tracked]:
        if count <= 0:
            return []
        before = (self.tracked[incident_id] for incident_id in held if incident_id not in plan.waits)
        return heapq.nlargest(count, chain(fires, before), key=lambda each: importance(_incident_of(each)))

    def _notify(self, each: Tracked, action: Action, plan: Plan) -> None:
        incident = _incident_of(each)
        labels = labels_of(incident, self._rules.cluster)
        receivers = receivers_for(self._rules.routes, self._rules.default_receivers, labels)
        notified, notification = notify(
            each.notified, incident, action, plan.now, labels, receivers, sequence_min=self._sequence_min
        )
        notification = replace(notification, held=plan.held)
        # one that was notified before may have left the configuration since
        configured = [name for name in notified.receivers if name in self._rules.receivers]
        plan.notifications.extend((name, notification) for name in configured)
        kept = None if action is Action.RESOLVE else incident
        plan.changed[incident.id] = Tracked(each.updated_ns, kept, notified, each.taken_ns)
        plan.waits[incident.id] = None


def _is_critical(each: Tracked) -> bool:
    return _incident_of(each).severity is Severity.CRITICAL


def _incident_of(each: Tracked) -> Incident:
    assert each.incident is not None, "only an incident that is not over is due"
    return each.incident
