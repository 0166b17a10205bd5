"""The judge of pages notices one that is missing, doubled or invented, and lets repetitions be."""

import pytest

from tests.acceptance.crash.judge_pages import IncidentOnTheBus, Notification, judge_pages

FIRING = IncidentOnTheBus("a", "warning", fired=True, resolved=False)
OVER = IncidentOnTheBus("b", "critical", fired=True, resolved=True)
MUTED = IncidentOnTheBus("c", "info", fired=True, resolved=True)
PENDING = IncidentOnTheBus("d", "critical", fired=False, resolved=True)
INCIDENTS = [FIRING, OVER, MUTED, PENDING]


def notified(key: str, incident: str, *, fires: bool = True, body: str = "") -> Notification:
    return Notification("webhook", key, incident, fires, body or key)


PAGE_A, PAGE_B, END_B = notified("a:1", "a"), notified("b:1", "b"), notified("b:2", "b", fires=False)
IN_ORDER = [PAGE_A, PAGE_B, END_B]


def test_one_page_an_incident_and_one_end_are_in_order():
    verdict = judge_pages(INCIDENTS, IN_ORDER, ["webhook"])
    assert verdict.passed
    assert (verdict.incidents, verdict.transitions, verdict.visible, verdict.repeated) == (2, 3, 2, 0)


@pytest.mark.parametrize(
    ("notifications", "doubled", "missing", "invented"),
    [
        ([PAGE_B, END_B], 0, 1, 0),
        ([PAGE_A, PAGE_B], 0, 1, 0),
        ([*IN_ORDER, notified("b:3", "b")], 1, 0, 0),
        ([*IN_ORDER, notified("b:3", "b"), notified("b:4", "b", fires=False)], 2, 0, 0),
        ([*IN_ORDER, notified("a:1", "a", body="something else")], 1, 0, 0),
        ([*IN_ORDER, notified("e:1", "e")], 0, 0, 1),
    ],
)
def test_one_wrong_notification_is_noticed(notifications, doubled, missing, invented):
    verdict = judge_pages(INCIDENTS, notifications, ["webhook"])
    assert not verdict.passed
    assert (verdict.doubled, verdict.missing, verdict.invented) == (doubled, missing, invented)


def test_the_same_key_again_and_an_update_are_no_pages():
    verdict = judge_pages(INCIDENTS, [PAGE_A, PAGE_A, notified("a:2", "a"), PAGE_B, PAGE_B, END_B, END_B], ["webhook"])
    assert verdict.passed
    assert (verdict.visible, verdict.repeated) == (2, 3)


def test_each_receiver_must_be_notified():
    assert judge_pages(INCIDENTS, IN_ORDER, ["webhook", "alertmanager"]).missing == 3
