"""Incidents of the product itself."""

from dataclasses import replace

from alerts.clock import Moment
from alerts.config import AlertingConfig
from alerts.decision.budget import BudgetRules
from alerts.decision.dispatch import Dispatcher
from alerts.decision.own_incident import OwnIncident
from alerts.decision.rules import rules_of
from alerts.notification import Action
from alerts.receivers.webhook.config import WebhookConfig
from alerts.rendering.links import incident_url
from telemetry.incidents import Incident, IncidentKind, IncidentState, Severity
from tests.unit.alerts.incident_factory import T0, S, incident

RULES = rules_of(AlertingConfig(receivers=(WebhookConfig(url="http://a"),)))
QUIET_S = 60


def at(seconds: float) -> Moment:
    return Moment(T0 + int(seconds * S), T0 + int(seconds * S))


OVERLOADED = IncidentKind.ALERTS_OVERLOADED


def own_incident(left: Incident | None = None, *, at_s: int = 0, hold_s: int = 0) -> OwnIncident:
    return OwnIncident(OVERLOADED, "pod1", left, now=at(at_s), quiet_ns=QUIET_S * S, hold_ns=hold_s * S)


def updated(each: OwnIncident, at_s: int, lost: int) -> list[Incident]:
    return each.update(f"{lost} lost" if lost else None, at(at_s))


def states(each: OwnIncident, *losses: tuple[int, int]) -> list[tuple[int, IncidentState]]:
    """losses: second and how many were lost."""
    return [(at_s, version.state) for at_s, lost in losses for version in updated(each, at_s, lost)]


def test_it_fires_once_and_resolves_after_the_quiet_time():
    assert states(own_incident(), (1, 0), (10, 5), (20, 7), (79, 0), (80, 0), (81, 0), (90, 1)) == [
        (10, IncidentState.FIRING),
        (80, IncidentState.RESOLVED),
        (90, IncidentState.FIRING),
    ]


def test_it_waits_until_a_problem_has_lasted():
    each = own_incident(hold_s=30)
    assert states(each, (1, 1), (20, 0), (25, 1), (54, 1), (55, 1), (60, 1)) == [(55, IncidentState.FIRING)]


def test_each_has_an_id_of_its_own_and_the_end_that_of_its_beginning():
    each = own_incident()
    first, over, second = (
        version for at_s, lost in ((1, 1), (61, 0), (70, 1)) for version in updated(each, at_s, lost)
    )
    assert first.id == over.id != second.id
    assert over.updated_ns > first.updated_ns


def test_what_an_earlier_process_left_open_resolves():
    (left,) = updated(own_incident(), 0, 3)
    dispatcher = Dispatcher(RULES, {})
    dispatcher.accept(dispatcher.plan([left], (), at(0)))
    after = own_incident(dispatcher.open_of(OVERLOADED), at_s=1)
    assert states(after, (2, 0), (61, 0)) == [(61, IncidentState.RESOLVED)]
    assert dispatcher.open_of(IncidentKind.INCAST) is None


def test_it_is_tracked_and_paged_before_all_others():
    rules = replace(RULES, incidents_max=2, budget=BudgetRules(1, 0, 600 * S))
    dispatcher = Dispatcher(rules, {})
    storm = [incident(id=f"inc-{n}", severity=Severity.CRITICAL) for n in range(3)]
    (own,) = updated(own_incident(), 100, 1)
    plan = dispatcher.plan([*storm, own], (), at(100))
    assert [(each.incident.kind, each.action) for _, each in plan.notifications] == [
        (IncidentKind.ALERTS_OVERLOADED, Action.FIRE)
    ]


def test_its_words_say_what_happened_and_where():
    (own,) = updated(own_incident(), 0, 7)
    assert own.title == "[CRIT] pod1: incidents or notifications dropped by fabricscope/alerts"
    assert incident_url(own, "http://me") == "http://me/", "it is not on the bus, so not on the page"
    assert own.first_symptom == "7 lost"
