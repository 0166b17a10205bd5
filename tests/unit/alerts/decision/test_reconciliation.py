"""What is notified again when a part of the outbox was lost: each table of the rest is enough for it."""

from dataclasses import replace

import pytest

from alerts.clock import Moment
from alerts.decision.lifecycle import NotifiedState
from alerts.decision.reconciliation import Outgoing, Sent, reconcile
from alerts.decision.table import Tracked
from alerts.notification import Action, Notification
from telemetry.incidents import Incident, IncidentState, Severity
from tests.unit.alerts.incident_factory import T0, S, incident, resolved

NOW = Moment(T0 + 100 * S, T0 + 200 * S)
LABELS = {"severity": "warning"}
KEY = ("am", "inc-1")


def note(action: Action = Action.FIRE, sequence: int = 1, version: Incident | None = None) -> Notification:
    return Notification(version or incident(), action, sequence, T0, LABELS, {})


def notified(sequence: int = 1, firing: bool = True, receivers: tuple[str, ...] = ("am",)) -> NotifiedState:
    return NotifiedState(
        firing, sequence, T0, T0, Severity.WARNING, incident().kind, incident().root, LABELS, receivers
    )


FIRED = Tracked(incident().updated_ns, incident(), notified())
OVER = Tracked(T0 + 20 * S, None, notified(2, firing=False))
PAGE, UPDATE, END = note(), note(Action.UPDATE, 2), note(Action.RESOLVE, 2, resolved(20))
SHOWN, ENDED = {KEY: Sent(True, PAGE)}, {KEY: Sent(False, END)}


@pytest.mark.parametrize(
    "left",
    [
        Outgoing({}, [], {}),
        Outgoing({"inc-1": FIRED}, [("am", PAGE)], {}),
        Outgoing({"inc-1": FIRED}, [], SHOWN),
        Outgoing({"inc-1": replace(FIRED, notified=None)}, [], {}),
        Outgoing({"inc-1": replace(FIRED, notified=notified(2))}, [("am", UPDATE)], SHOWN),
        Outgoing({"inc-1": OVER}, [("am", END)], SHOWN),
        Outgoing({"inc-1": OVER}, [("am", PAGE), ("am", END)], {}),
        Outgoing({"inc-1": OVER}, [], ENDED),
    ],
)
def test_where_nothing_is_missing_nothing_is_added(left):
    assert reconcile(left, NOW) == left


def test_a_page_that_is_neither_queued_nor_delivered_is_queued_under_its_key():
    newer = incident(at_s=30, state=IncidentState.PENDING, severity=Severity.INFO)
    after = reconcile(Outgoing({"inc-1": replace(FIRED, incident=newer)}, [], {}), NOW)
    shown = replace(newer, state=IncidentState.FIRING)
    assert after.queued == [("am", Notification(shown, Action.FIRE, 1, NOW.wall_ns, LABELS, {}))]


def test_an_update_takes_the_place_of_the_page_that_the_receiver_shows():
    tracked = replace(FIRED, notified=replace(notified(2), labels={"severity": "critical"}))
    ((_, added),) = reconcile(Outgoing({"inc-1": tracked}, [], SHOWN), NOW).queued
    assert (added.action, added.key, added.replaces) == (Action.UPDATE, "inc-1:2", LABELS)


def test_what_one_receiver_has_the_other_gets_as_it_was():
    tracked = {"inc-1": replace(FIRED, notified=notified(receivers=("am", "hook")))}
    assert reconcile(Outgoing(tracked, [], SHOWN), NOW).queued == [("hook", PAGE)]
    over = {"inc-1": replace(OVER, notified=notified(2, firing=False, receivers=("am", "hook")))}
    after = reconcile(Outgoing(over, [("hook", END)], SHOWN), NOW)
    assert after.queued == [("hook", END), ("am", END)]
    assert after.sent == {**SHOWN, ("hook", "inc-1"): Sent(True, END)}, "else the end would not be sent"


def test_an_end_of_which_nothing_is_left_is_decided_again():
    after = reconcile(Outgoing({"inc-1": OVER}, [], SHOWN), NOW)
    assert after.queued == []
    known = after.tracked["inc-1"]
    assert (known.updated_ns, known.incident) == (incident().updated_ns, incident())
    assert known.is_open


@pytest.mark.parametrize(
    ("queued", "sent", "sequence", "firing"),
    [
        ([("am", PAGE)], {}, 1, True),
        ([], SHOWN, 1, True),
        ([("am", UPDATE)], SHOWN, 2, True),
        ([("am", END)], SHOWN, 2, False),
        ([], ENDED, 2, False),
    ],
)
def test_an_incident_is_known_again_from_what_was_sent_about_it(queued, sent, sequence, firing):
    after = reconcile(Outgoing({}, queued, sent), NOW)
    known = after.tracked["inc-1"]
    assert known.notified is not None
    assert (known.notified.sequence, known.is_open, known.incident is not None) == (sequence, firing, firing)
    assert (known.notified.receivers, known.notified.paged_ns) == (("am",), 0), "it uses up no page budget"
    assert (after.queued, after.sent) == (queued, sent)


def test_of_a_receiver_that_the_newest_page_did_not_go_to_an_old_end_is_the_end():
    tracked = {"inc-1": replace(FIRED, notified=notified(3, receivers=("hook",)))}
    left = Outgoing(tracked, [], {**ENDED, ("hook", "inc-1"): Sent(True, note(sequence=3))})
    assert reconcile(left, NOW) == left
