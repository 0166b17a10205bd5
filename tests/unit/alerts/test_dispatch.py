from dataclasses import replace

from alerts.config import AlertingConfig
from alerts.dispatch import Dispatcher, Plan, Rules
from alerts.matcher import Matcher
from alerts.notification import Action
from alerts.receivers.alertmanager.config import AlertmanagerConfig
from alerts.receivers.webhook.config import WebhookConfig
from alerts.route import Route
from alerts.silence import Silence
from telemetry.incidents import Incident, Severity
from tests.unit.alerts.incident_factory import T0, S, incident, resolved

CONFIG = AlertingConfig(
    receivers=(AlertmanagerConfig(name="am", url="http://a"), WebhookConfig(name="hook", url="http://b")),
    routes=(
        Route(matchers=(Matcher(name="severity", value="critical"),), receivers=("am", "hook")),
        Route(receivers=("am",)),
    ),
)
RULES = CONFIG.rules()


def sent(plan: Plan) -> list[tuple[str, str, Action]]:
    return [(receiver, each.key, each.action) for receiver, each in plan.notifications]


def planned(dispatcher: Dispatcher, *versions: Incident, at_s: float, silences: tuple[Silence, ...] = ()) -> Plan:
    plan = dispatcher.plan(versions, silences, T0 + int(at_s * S))
    dispatcher.accept(plan)
    return plan


def silence(start_s: float, end_s: float) -> Silence:
    match = (Matcher(name="object", op="=~", value="port:leaf1/.*"),)
    return Silence(id="s", matchers=match, starts_ns=T0 + int(start_s * S), ends_ns=T0 + int(end_s * S), created_by="a")


def test_nothing_is_known_before_it_was_accepted():
    dispatcher = Dispatcher(RULES, {})
    assert sent(dispatcher.plan([incident()], (), T0)) == sent(dispatcher.plan([incident()], (), T0)) != []


def test_routes_decide_and_all_who_were_notified_get_the_end():
    dispatcher = Dispatcher(RULES, {})
    assert sent(planned(dispatcher, incident(), at_s=10)) == [("am", "inc-1:1", Action.FIRE)]
    worse = incident(severity=Severity.CRITICAL, at_s=20)
    assert sent(planned(dispatcher, worse, at_s=20)) == [
        ("am", "inc-1:2", Action.UPDATE),
        ("hook", "inc-1:2", Action.UPDATE),
    ]
    assert sent(planned(dispatcher, resolved(30), at_s=30)) == [
        ("am", "inc-1:3", Action.RESOLVE),
        ("hook", "inc-1:3", Action.RESOLVE),
    ]


def test_versions_that_are_not_newer_change_nothing():
    dispatcher = Dispatcher(RULES, {})
    planned(dispatcher, incident(at_s=10), at_s=10)
    planned(dispatcher, resolved(30), at_s=30)
    plan = planned(dispatcher, incident(at_s=10), resolved(30), at_s=4000)
    assert plan.duplicates == 2
    assert plan.notifications == []


def test_fired_and_resolved_between_two_rounds_is_not_sent():
    assert sent(planned(Dispatcher(RULES, {}), incident(at_s=10), resolved(11), at_s=12)) == []


def test_after_a_restart_nothing_is_sent_again_and_what_became_true_meanwhile_is():
    before = Dispatcher(RULES, {})
    planned(before, incident(), at_s=10)
    after = Dispatcher(RULES, before.tracked)
    fresh = incident(id="inc-2", at_s=100)
    assert sent(planned(after, incident(), fresh, at_s=120)) == [("am", "inc-2:1", Action.FIRE)]


def test_a_silence_holds_the_page_until_it_ends():
    dispatcher = Dispatcher(RULES, {})
    assert sent(planned(dispatcher, incident(), at_s=10, silences=(silence(0, 60),))) == []
    assert sent(planned(dispatcher, at_s=60, silences=(silence(0, 60),))) == [("am", "inc-1:1", Action.FIRE)]


def test_a_silence_does_not_swallow_the_end_of_an_open_page():
    dispatcher = Dispatcher(RULES, {})
    planned(dispatcher, incident(), at_s=10)
    assert sent(planned(dispatcher, resolved(20), at_s=20, silences=(silence(15, 60),))) == [
        ("am", "inc-1:2", Action.RESOLVE)
    ]


def test_a_storm_is_paged_worst_first_within_the_budget_and_the_rest_later():
    rules = replace(RULES, pages_max=2, pages_window_ns=600 * S)
    dispatcher = Dispatcher(rules, {})
    storm = [incident(id=f"inc-{n}", severity=Severity.CRITICAL if n == 7 else Severity.WARNING) for n in range(10)]
    first = planned(dispatcher, *storm, at_s=10)
    assert first.held == 8
    assert [each.key for receiver, each in first.notifications if receiver == "am"] == ["inc-7:1", "inc-0:1"]
    assert first.notifications[0][1].held == 8
    assert planned(dispatcher, at_s=300).notifications == []
    assert [each.key for _, each in planned(dispatcher, at_s=611).notifications] == ["inc-1:1", "inc-2:1"]


def test_incidents_are_bounded_and_resolved_ones_forgotten():
    rules: Rules = replace(RULES, incidents_max=1)
    dispatcher = Dispatcher(rules, {})
    planned(dispatcher, incident(), at_s=10)
    assert planned(dispatcher, incident(id="inc-2"), at_s=11).untracked == 1
    planned(dispatcher, resolved(20), at_s=20)
    planned(dispatcher, at_s=20 + CONFIG.remember_s + 1)
    assert dispatcher.tracked == {}
