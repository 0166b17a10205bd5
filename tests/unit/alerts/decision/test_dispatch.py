import random
from dataclasses import replace

import pytest

from alerts.clock import Moment
from alerts.config import AlertingConfig
from alerts.decision.budget import BudgetRules
from alerts.decision.dispatch import Dispatcher, Plan
from alerts.decision.lifecycle import Policy
from alerts.decision.rules import rules_of
from alerts.decision.table import EvictionReason
from alerts.matcher import Matcher
from alerts.notification import Action
from alerts.receivers.alertmanager.config import AlertmanagerConfig
from alerts.receivers.webhook.config import WebhookConfig
from alerts.route import Route
from alerts.silence import Silence, in_force
from telemetry import objects
from telemetry.incidents import Incident, IncidentState, Severity
from tests.unit.alerts.incident_factory import T0, S, incident, resolved

CONFIG = AlertingConfig(
    receivers=(AlertmanagerConfig(name="am", url="http://a"), WebhookConfig(name="hook", url="http://b")),
    routes=(
        Route(matchers=(Matcher(name="severity", value="critical"),), receivers=("am", "hook")),
        Route(receivers=("am",)),
    ),
)
RULES = rules_of(CONFIG)


def sent(plan: Plan) -> list[tuple[str, str, Action]]:
    return [(receiver, each.key, each.action) for receiver, each in plan.notifications]


def pages(plan: Plan) -> list[str]:
    return [each.key for receiver, each in plan.notifications if receiver == "am" and each.action is Action.FIRE]


def planned(dispatcher: Dispatcher, *versions: Incident, at_s: float, silences: tuple[Silence, ...] = ()) -> Plan:
    now_ns = T0 + int(at_s * S)
    plan = dispatcher.plan(versions, in_force(silences, now_ns), Moment(now_ns, now_ns))
    dispatcher.accept(plan)
    return plan


def silence(start_s: float, end_s: float) -> Silence:
    match = (Matcher(name="object", op="=~", value="port:leaf1/.*"),)
    return Silence(id="s", matchers=match, starts_ns=T0 + int(start_s * S), ends_ns=T0 + int(end_s * S), created_by="a")


def test_nothing_is_known_before_it_was_accepted():
    dispatcher = Dispatcher(RULES, {})
    assert (
        sent(dispatcher.plan([incident()], (), Moment(T0, T0)))
        == sent(dispatcher.plan([incident()], (), Moment(T0, T0)))
        != []
    )


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
    rules = replace(RULES, budget=BudgetRules(2, 0, 600 * S))
    dispatcher = Dispatcher(rules, {})
    storm = [incident(id=f"inc-{n}", severity=Severity.CRITICAL if n == 7 else Severity.WARNING) for n in range(10)]
    first = planned(dispatcher, *storm, at_s=10)
    assert first.held == 8
    assert [each.key for receiver, each in first.notifications if receiver == "am"] == ["inc-7:1", "inc-0:1"]
    assert first.notifications[0][1].held == 8
    assert planned(dispatcher, at_s=300).notifications == []
    assert [each.key for _, each in planned(dispatcher, at_s=611).notifications] == ["inc-1:1", "inc-2:1"]


def test_warnings_never_use_up_the_pages_of_critical_incidents():
    dispatcher = Dispatcher(replace(RULES, budget=BudgetRules(3, 1, 600 * S)), {})
    assert planned(dispatcher, *(incident(id=f"inc-{n}") for n in range(10)), at_s=10).pages == 2
    critical = [incident(id=f"bad-{n}", severity=Severity.CRITICAL) for n in range(2)]
    plan = planned(dispatcher, *critical, at_s=20)
    assert (pages(plan), plan.held) == (["bad-0:1"], 9)
    assert pages(planned(dispatcher, at_s=609)) == []
    assert pages(planned(dispatcher, at_s=611)) == ["bad-1:1"], "the worst first"
    assert pages(planned(dispatcher, at_s=1211)) == ["inc-2:1", "inc-3:1"]


def test_pages_are_counted_also_when_their_incident_is_forgotten():
    dispatcher = Dispatcher(replace(RULES, budget=BudgetRules(1, 0, 600 * S), incidents_max=1), {})
    assert pages(planned(dispatcher, incident(), at_s=10)) == ["inc-1:1"]
    planned(dispatcher, resolved(20), at_s=20)
    plan = planned(dispatcher, incident(id="inc-2"), at_s=30)
    assert plan.evicted == {EvictionReason.RESOLVED: 1}
    assert dispatcher.tracked.keys() == {"inc-2"}
    assert pages(plan) == []


def test_what_waits_counts_with_its_newest_version():
    dispatcher = Dispatcher(replace(RULES, budget=BudgetRules(1, 0, 600 * S)), {})
    planned(dispatcher, incident(id="first"), at_s=10)
    planned(dispatcher, *(incident(id=f"inc-{n}") for n in range(3)), at_s=11)
    worse = incident(id="inc-2", severity=Severity.CRITICAL, at_s=20)
    assert planned(dispatcher, worse, resolved(20, id="inc-0"), at_s=20).held == 2
    assert pages(planned(dispatcher, at_s=611)) == ["inc-2:1"]
    milder = incident(id="inc-1", severity=Severity.INFO, at_s=612)
    assert planned(dispatcher, milder, at_s=612).held == 0


def test_silences_that_come_and_go_move_what_waits():
    dispatcher = Dispatcher(replace(RULES, budget=BudgetRules(1, 0, 600 * S)), {})
    planned(dispatcher, incident(id="first"), at_s=10)
    assert planned(dispatcher, incident(), at_s=11).held == 1
    assert planned(dispatcher, at_s=12, silences=(silence(12, 700),)).held == 0
    assert pages(planned(dispatcher, at_s=650, silences=(silence(12, 700),))) == []
    assert pages(planned(dispatcher, at_s=700, silences=(silence(12, 700),))) == ["inc-1:1"]


def test_a_page_held_by_the_quiet_time_goes_out_at_its_end():
    dispatcher = Dispatcher(RULES, {})
    planned(dispatcher, incident(), at_s=10)
    planned(dispatcher, resolved(20), at_s=20)
    planned(dispatcher, incident(at_s=30), at_s=30)
    assert pages(planned(dispatcher, at_s=10 + CONFIG.quiet_s - 1)) == []
    assert pages(planned(Dispatcher(RULES, dispatcher.tracked), at_s=10 + CONFIG.quiet_s)) == ["inc-1:3"]
    assert pages(planned(dispatcher, at_s=10 + CONFIG.quiet_s)) == ["inc-1:3"]


def bounded(incidents_max: int) -> Dispatcher:
    """Pages one incident at most, so that nearly all wait."""
    return Dispatcher(replace(RULES, budget=BudgetRules(1, 0, 600 * S), incidents_max=incidents_max), {})


def test_resolved_ones_make_room_the_oldest_first():
    dispatcher = bounded(3)
    for n in range(3):
        planned(dispatcher, resolved(10, id=f"over-{n}"), at_s=10 + n)
    plan = planned(dispatcher, incident(), incident(id="inc-2"), at_s=20)
    assert (plan.evicted, plan.lost) == ({EvictionReason.RESOLVED: 2}, 0)
    assert dispatcher.tracked.keys() == {"over-2", "inc-1", "inc-2"}


def test_the_least_important_and_newest_make_room_for_a_critical_one():
    dispatcher = bounded(3)
    planned(dispatcher, incident(id="paged", onset_ns=T0 - 1), at_s=10)
    planned(dispatcher, *(incident(id=f"inc-{n}", onset_ns=T0 + n) for n in range(3)), at_s=11)
    worse = [incident(id=f"bad-{n}", severity=Severity.CRITICAL, onset_ns=T0 + 100 - n) for n in range(4)]
    plan = planned(dispatcher, *worse[:2], at_s=12)
    assert (plan.evicted, plan.untracked, plan.lost) == ({EvictionReason.LESS_IMPORTANT: 2}, 0, 2)
    assert dispatcher.tracked.keys() == {"paged", "inc-0", "bad-0", "bad-1"}
    plan = planned(dispatcher, *worse[2:], at_s=13)
    assert dispatcher.tracked.keys() == {"paged", "bad-1", "bad-2", "bad-3"}, "the newest of the critical goes"
    assert plan.evicted == {EvictionReason.LESS_IMPORTANT: 2}


def test_a_new_one_that_is_the_least_important_is_not_tracked():
    dispatcher = bounded(2)
    planned(dispatcher, incident(id="paged"), at_s=10)
    planned(dispatcher, *(incident(id=f"inc-{n}") for n in range(2)), at_s=10)
    plan = planned(
        dispatcher, incident(id="late", onset_ns=T0 + 1), incident(id="mild", severity=Severity.INFO), at_s=11
    )
    assert (plan.untracked, plan.evicted, plan.held) == (2, {}, 2)
    assert plan.lost == 1, "nobody is notified of what is harmless"


def test_no_open_page_is_given_up_and_its_end_is_sent_in_a_full_table():
    dispatcher = bounded(1)
    assert pages(planned(dispatcher, incident(), at_s=10)) == ["inc-1:1"]
    for n in range(5):
        planned(dispatcher, incident(id=f"bad-{n}", severity=Severity.CRITICAL), at_s=20)
    assert sent(planned(dispatcher, resolved(30), at_s=30)) == [("am", "inc-1:2", Action.RESOLVE)]


def test_what_changed_in_a_full_table_is_judged_as_it_is_now():
    dispatcher = bounded(3)
    planned(dispatcher, *(incident(id=f"inc-{n}", onset_ns=T0 + n) for n in range(3)), at_s=10)
    plan = planned(
        dispatcher,
        incident(id="inc-2", onset_ns=T0 + 2, severity=Severity.CRITICAL, at_s=20),
        resolved(20, id="inc-1"),
        *(incident(id=f"new-{n}", onset_ns=T0 + 5 + n, at_s=20) for n in range(3)),
        at_s=20,
    )
    assert (plan.evicted, plan.untracked) == ({EvictionReason.RESOLVED: 1}, 1)
    assert dispatcher.tracked.keys() == {"inc-0", "inc-2", "new-0", "new-1"}


def test_a_critical_incident_after_a_storm_is_paged_at_once():
    dispatcher = Dispatcher(replace(RULES, incidents_max=500), {})
    for begin in range(0, 600, 100):
        planned(dispatcher, *(incident(id=f"inc-{n}", onset_ns=T0 + n) for n in range(begin, begin + 100)), at_s=10)
    late = incident(id="bad", severity=Severity.CRITICAL, onset_ns=T0 + 10**9)
    assert pages(planned(dispatcher, late, at_s=20)) == ["bad:1"]
    assert dispatcher.firing() == 16


def some_version(chance: random.Random, at_s: int) -> Incident:
    number = chance.randrange(20)
    changes = {
        "id": f"inc-{number}",
        "onset_ns": T0 + number,
        "severity": (Severity.CRITICAL, Severity.WARNING, Severity.INFO)[number % 3],
        "root": objects.port(chance.choice(["leaf1", "leaf2"]), "Ethernet0"),
    }
    state = chance.choice([IncidentState.PENDING, IncidentState.FIRING, IncidentState.FIRING, IncidentState.RESOLVED])
    return incident(state=state, at_s=at_s, **changes)


@pytest.mark.parametrize("seed", range(5))
def test_a_restart_at_any_moment_decides_the_same(seed):
    """Who starts looks at all that is known: what the lists of what waits leave out was not due."""
    chance = random.Random(seed)
    policy = Policy(quiet_ns=120 * S, critical_quiet_ns=120 * S, update_quiet_ns=40 * S)
    rules = replace(RULES, budget=BudgetRules(2, 1, 100 * S), policy=policy, remember_ns=200 * S)
    dispatcher, pages_sent, waited = Dispatcher(rules, {}), 0, 0
    for at_s in range(10, 2000, 7):
        now = Moment(T0 + at_s * S, T0 + at_s * S)
        versions = [some_version(chance, at_s) for _ in range(chance.randrange(3))]
        silences = (silence(0, 9999),) if (at_s // 300) % 2 else ()
        plan = dispatcher.plan(versions, silences, now)
        fresh = Dispatcher(rules, dispatcher.tracked).plan(versions, silences, now)
        assert (plan.notifications, plan.held, plan.changed) == (fresh.notifications, fresh.held, fresh.changed)
        dispatcher.accept(plan)
        pages_sent, waited = pages_sent + plan.pages, max(waited, plan.held)
    assert pages_sent > 10, "or nothing was tested"
    assert waited > 1


def test_resolved_ones_are_forgotten():
    dispatcher = Dispatcher(RULES, {})
    planned(dispatcher, incident(), at_s=10)
    planned(dispatcher, resolved(20), at_s=20)
    planned(dispatcher, at_s=20 + CONFIG.remember_s)
    assert dispatcher.tracked.keys() == {"inc-1"}
    planned(dispatcher, at_s=20 + CONFIG.remember_s + 1)
    assert dispatcher.tracked == {}
