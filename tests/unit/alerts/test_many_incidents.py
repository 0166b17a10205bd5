"""As many incidents as a bad day brings: after a restart, and all at once."""

import pytest

from alerts.clock import Moment
from alerts.config import AlertingConfig
from alerts.decision.dispatch import Dispatcher, Plan
from alerts.decision.rules import rules_of
from alerts.decision.table import EvictionReason
from alerts.notification import Action
from alerts.outbox import Outbox
from telemetry.incidents import Incident, Severity
from tests.unit.alerts.incident_factory import T0, S, incident, resolved

OPEN = 5000
STORM, ROUND = 100_000, 1000


def config(**settings: object) -> AlertingConfig:
    hook = {"type": "webhook", "name": "hook", "url": "http://a"}
    return AlertingConfig.model_validate({"receivers": [hook], **settings})


def at(seconds: float) -> Moment:
    return Moment(T0 + int(seconds * S), T0 + int(seconds * S))


def pages(plan: Plan) -> list[str]:
    return [each.key for _, each in plan.notifications if each.action is Action.FIRE]


@pytest.fixture
def outbox(tmp_path):
    opened: list[Outbox] = []

    def open_again() -> Outbox:
        for each in opened:
            each.close()
        opened.append(Outbox(tmp_path, reserve_bytes=0, queue_max=2 * OPEN))
        opened[-1].open()
        return opened[-1]

    yield open_again
    opened[-1].close()


def test_a_restart_with_five_thousand_open_pages_repeats_none_and_sends_what_came_meanwhile(outbox):
    rules = rules_of(config(pages_max=2 * OPEN))
    known = [incident(id=f"inc-{number}") for number in range(OPEN)]
    before = Dispatcher(rules, {})
    plan = before.plan(known, (), at(10))
    assert len(pages(plan)) == OPEN
    outbox().commit({}, {}, plan.changed, plan.notifications, "", at(10))

    restarted = outbox()
    after = Dispatcher(rules, restarted.tracked(), restarted.sequence_min)
    assert restarted.pending() == {"hook": OPEN}
    meanwhile = [incident(id=f"new-{number}", at_s=60) for number in range(3)]
    again = after.plan([*known, *meanwhile], (), at(120))
    assert pages(again) == ["new-0:1", "new-1:1", "new-2:1"]
    assert again.duplicates == OPEN


def storm(begin: int) -> list[Incident]:
    """One in a thousand is critical."""
    return [
        incident(
            id=f"inc-{number}",
            onset_ns=T0 + number,
            severity=Severity.CRITICAL if number % 1000 == 999 else Severity.WARNING,
        )
        for number in range(begin, begin + ROUND)
    ]


def test_a_hundred_thousand_incidents_in_ten_seconds_are_twenty_pages_the_first_at_once():
    settings = config()
    dispatcher = Dispatcher(rules_of(settings), {})
    sent: list[list[str]] = []
    lost = 0
    for begin in range(0, STORM, ROUND):
        plan = dispatcher.plan(storm(begin), (), at(10 + 10 * begin / STORM))
        dispatcher.accept(plan)
        sent.append(pages(plan))
        lost += plan.lost
    assert "inc-999:1" in sent[0], "the critical one of the first round"
    assert sum(map(len, sent)) == settings.pages_max == 20
    assert len(dispatcher.tracked) + lost == STORM, "each is known, or counted as given up"
    critical = [each for each in dispatcher.tracked.values() if each.incident and each.incident.severity == "critical"]
    assert len(critical) == STORM // 1000


def test_sixty_thousand_in_a_table_of_fifty_thousand_cost_resolved_ones_alone():
    settings = config()
    table, over, new = settings.incidents_max, 15_000, 20_000
    dispatcher = Dispatcher(rules_of(settings), {})

    def decide(at_s: float, versions: list[Incident]) -> Plan:
        plan = dispatcher.plan(versions, (), at(at_s))
        dispatcher.accept(plan)
        return plan

    decide(1, [incident(id=f"inc-{number}", onset_ns=T0 + number) for number in range(table - over + 5000)])
    paged = {key for key, each in dispatcher.tracked.items() if each.is_open}
    ends = [f"inc-{number}" for number in range(20_000, 20_000 + over)]
    decide(2, [resolved(20, id=name) for name in ends])
    plan = decide(3, [each for begin in range(0, new, ROUND) for each in storm(100_000 + begin)])
    assert len(dispatcher.tracked) - len(paged) <= table
    assert (plan.lost, plan.untracked) == (0, 0)
    assert set(plan.evicted) == {EvictionReason.RESOLVED}
    left = [name for name in ends if name in dispatcher.tracked]
    assert left == ends[-len(left) :], "the oldest go first"
    assert {f"inc-{number}" for number in range(100_999, 120_000, 1000)} <= set(dispatcher.tracked), "the critical ones"
