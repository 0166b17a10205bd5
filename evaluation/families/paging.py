"""Pages: what people would be notified of, decided by the alerts stage's own rules at their defaults."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from alerts.clock import Moment
from alerts.config import AlertingConfig
from alerts.decision.dispatch import Dispatcher
from alerts.decision.rules import rules_of
from alerts.notification import Action
from telemetry.incidents import Incident
from telemetry.objects import ObjectRef

PEOPLE = "people"


@dataclass(frozen=True, slots=True)
class Page:
    """What somebody was notified of first, at ``at_ns`` of the cluster's time: that version of the incident."""

    at_ns: int
    incident: Incident


class Pager:
    """The decision of the alerts stage without receivers, silences or delivery.

    pages: every FIRE, so an incident that returns after its quiet time is a second page. roots: the root that people
    know in the end, by incident, later updates included.
    """

    def __init__(self) -> None:
        rules = replace(rules_of(AlertingConfig()), receivers=frozenset({PEOPLE}), default_receivers=(PEOPLE,))
        self._dispatcher = Dispatcher(rules, {})
        self.pages: list[Page] = []
        self.roots: dict[str, ObjectRef] = {}

    def step(self, versions: Iterable[Incident], now_ns: int) -> None:
        """Decides on new versions, and on what has waited for a quiet time or the page budget."""
        plan = self._dispatcher.plan(versions, (), Moment(now_ns, now_ns))
        self._dispatcher.accept(plan)
        for _, notification in plan.notifications:
            incident = notification.incident
            if notification.action is Action.FIRE:
                self.pages.append(Page(now_ns, incident))
            if notification.action is not Action.RESOLVE:
                self.roots[incident.id] = incident.root
