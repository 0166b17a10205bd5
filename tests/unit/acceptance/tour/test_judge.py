"""The judge of ``make tour`` notices each thing that is too much, too little or wrong: on a tour that is made up."""

from dataclasses import replace

import orjson
import pytest

from fabricscope.api.instants import rfc3339
from tests.acceptance.tour.judge import problems
from tests.acceptance.tour.record import Transition, notifications_of, pages_of, transitions_of
from tests.servers.webhook import Request
from tests.unit.acceptance.tour.made_tour import ALL_IS_WELL, GPU, PORT, at, incident, notification

INCIDENTS, NOTIFICATIONS = ALL_IS_WELL.incidents, ALL_IS_WELL.notifications


def test_an_incident_and_a_page_for_each_fault_are_in_order():
    assert problems(ALL_IS_WELL) == []


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            {"incidents": INCIDENTS[:1], "notifications": NOTIFICATIONS[:1]},
            [
                f"gpu-thermal-throttle at {GPU}: 0 incidents, expected one",
                f"gpu-thermal-throttle at {GPU}: 0 pages, expected one",
            ],
        ),
        (
            {"incidents": (*INCIDENTS, incident("three", PORT, "slow_receiver"))},
            [f"slow-receiver at {PORT}: 2 incidents, expected one"],
        ),
        (
            {"incidents": (*INCIDENTS, incident("three", "link:a--b", "link_down"))},
            ["an incident that is none of the faults: link_down at link:a--b, '[CRIT] link_down at a--b'"],
        ),
        (
            {"incidents": ({**INCIDENTS[0], "fired": None}, INCIDENTS[1])},
            [f"slow-receiver at {PORT}: its incident never fired"],
        ),
        ({"notifications": NOTIFICATIONS[1:2]}, [f"slow-receiver at {PORT}: 0 pages, expected one"]),
        (
            {"notifications": (*NOTIFICATIONS, notification("one", PORT, after_s=300))},
            [f"slow-receiver at {PORT}: 2 pages, expected one"],
        ),
        (
            {"notifications": (*NOTIFICATIONS, notification("overload", "stage:alerts"))},
            ["a page that is for none of the faults: '[CRIT] overload | stage:alerts'"],
        ),
        (
            {"notifications": (notification("one", "port:leaf2/Ethernet0"), NOTIFICATIONS[1])},
            [f"slow-receiver at {PORT}: its page names port:leaf2/Ethernet0"],
        ),
    ],
)
def test_what_is_not_in_order_is_said(changed, expected):
    assert problems(replace(ALL_IS_WELL, **changed)) == expected


def test_an_incident_of_another_kind_at_the_same_object_is_another_incident():
    other = incident("one", PORT, "incast")
    found = problems(replace(ALL_IS_WELL, incidents=(other, INCIDENTS[1])))
    assert found[0] == f"slow-receiver at {PORT}: 0 incidents, expected one"
    assert any(line.startswith("an incident that is none of the faults: incast") for line in found)


def request(identity: str, sequence: int, status: str = "firing", after_s: int = 17) -> Request:
    """As the webhook receiver of Fabricscope sends it."""
    labels = {"incident_id": identity, "object": PORT, "severity": "critical"}
    body = {"alerts": [{"status": status, "labels": labels, "annotations": {"title": f"version {sequence}"}}]}
    headers = {"x-fabricscope-key": f"{identity}:{sequence}", "x-fabricscope-timestamp": str(at(after_s) // 10**9)}
    return Request("/hook", headers, orjson.dumps(body))


def test_a_repetition_under_the_same_key_is_one_notification():
    found = notifications_of([request("one", 1), request("one", 1, after_s=19), request("one", 2, after_s=50)])
    assert [(one.sent_ns, one.annotations["title"]) for one in found] == [(at(17), "version 1"), (at(50), "version 2")]


def test_an_update_is_no_page_and_one_that_fires_again_is():
    sent = [request("one", 1), request("one", 2, after_s=50), request("one", 3, "resolved", 271)]
    pages = pages_of(notifications_of([*sent, request("one", 4, after_s=600)]))
    assert [page.annotations["title"] for page in pages] == ["version 1", "version 4"]


def test_the_api_says_which_states_an_incident_has_had():
    found = sorted(transitions_of({"id": "one", "opened": rfc3339(3), "fired": rfc3339(5), "resolved": None}))
    assert found == [Transition(3, "one", "opened"), Transition(5, "one", "fired")]


def test_what_was_over_before_the_faults_is_of_the_start_and_its_page_is_still_one_too_many():
    start = {**incident("start", "device:spine1", "telemetry_lost"), "resolved": rfc3339(at(-60))}
    began = replace(ALL_IS_WELL, incidents=(*INCIDENTS, start))
    assert problems(began) == []
    assert len(problems(replace(began, incidents=(*INCIDENTS, {**start, "resolved": rfc3339(at(1))})))) == 1
    paged = (notification("start", "device:spine1", after_s=-90), *NOTIFICATIONS)
    assert problems(replace(began, notifications=paged)) == [
        "a page that is for none of the faults: '[CRIT] start | device:spine1'"
    ]
