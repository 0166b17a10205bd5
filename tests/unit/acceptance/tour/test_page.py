"""What ``make tour`` writes: of a tour that is made up."""

from dataclasses import replace

from fabricscope.api.instants import rfc3339
from tests.acceptance.tour.page import page_of
from tests.acceptance.tour.record import Transition
from tests.unit.acceptance.tour.made_tour import ALL_IS_WELL, PORT, at, incident

PICTURES = {"overview.png", "incident-1.png", "evidence-1.png", "incident-2.png", "phone.png"}


def test_says_what_was_broken_when_and_when_people_heard_of_it():
    page = page_of(ALL_IS_WELL, [], PICTURES)
    assert "**2 faults, 2 incidents, 2 pages, nothing else.**" in page
    assert "64 hosts with 512 GPUs, 66 switches" in page
    assert (
        f"| `slow-receiver`: something stalls | `{PORT}` | pretrain-llm | 12:00:00 | after 12 s | after 17 s | "
        "12:04:00 | 12:04:30 |"
    ) in page


def test_has_the_times_in_order():
    rows = [line for line in page_of(ALL_IS_WELL, [], PICTURES).splitlines() if line.startswith("| 12:0")]
    assert [row.split(" | ")[0] for row in rows] == sorted(row.split(" | ")[0] for row in rows)
    assert [row.removeprefix("| 12:00:") for row in rows if "one" in row][:2] == [
        rf"17 | paged: [CRIT] one \| {PORT} |",
        rf"50 | updated: [CRIT] one \| {PORT} |",
    ]


def test_shows_each_incident_with_its_text_and_pictures():
    page = page_of(ALL_IS_WELL, [], PICTURES)
    first, second = page.index("## 1: slow-receiver"), page.index("## 2: gpu-thermal-throttle")
    assert rf"| title | [CRIT] one \| {PORT} |" in page[first:second]
    assert "| action | Drain the host. |" in page[first:second]
    assert page[first:second].count("(incident-1.png)") == page[first:second].count("(evidence-1.png)") == 1
    assert page[second:].count("(incident-2.png)") == 1
    assert "(evidence-2.png)" not in page
    assert page.count("(overview.png)") == page.count("(phone.png)") == 1


def test_says_what_is_wrong_and_has_a_dash_for_what_did_not_come():
    page = page_of(
        replace(ALL_IS_WELL, incidents=(), transitions=(), notifications=()),
        ["slow-receiver: 0 incidents, expected one"],
        {"overview.png"},
    )
    assert "**Not as it should be:**\n\n- slow-receiver: 0 incidents, expected one\n" in page
    assert "nothing else.**" not in page
    assert "| 12:00:00 | – | – | 12:04:00 | – |" in page


def test_of_a_fault_that_counts_as_over_too_early_the_first_sight_counts_and_the_gap_is_said():
    gap = (Transition(at(130), "one", "resolved"), Transition(at(225), "one", "opened"))
    page = page_of(replace(ALL_IS_WELL, transitions=tuple(sorted((*ALL_IS_WELL.transitions, *gap)))), [], PICTURES)
    assert "| 12:00:00 | after 12 s | after 17 s | 12:04:00 | 12:04:30 |" in page
    assert "`slow-receiver` counted as over at 12:02:10, before its repair, and showed itself again at 12:03:45" in page
    assert "`gpu-thermal-throttle` counted as over" not in page
    assert "took for the end" not in page_of(ALL_IS_WELL, [], PICTURES)


def test_says_what_is_not_counted():
    start = {**incident("start", "device:spine1", "telemetry_lost"), "resolved": rfc3339(at(-60))}
    page = page_of(replace(ALL_IS_WELL, incidents=(*ALL_IS_WELL.incidents, start)), [], PICTURES)
    assert "\nNot counted, as over before that: telemetry_lost at `spine1`.\n" in page
    assert "Not counted" not in page_of(ALL_IS_WELL, [], PICTURES)


def test_what_fires_at_once_was_opened_first():
    at_once = (Transition(at(15), "one", "fired"), Transition(at(15), "one", "opened"))
    page = page_of(replace(ALL_IS_WELL, transitions=at_once), [], PICTURES)
    assert page.index("| 12:00:15 | opened: ") < page.index("| 12:00:15 | fired: ")
