"""Rows and tables of campaigns, from results that a test writes."""

import math
from collections import Counter

import pytest

from evaluation.campaigns.judge import CampaignResult, FaultResult, by_fault
from evaluation.campaigns.rows import Row, rows
from evaluation.campaigns.tables import TITLES, errors, tables
from telemetry.objects import device
from tests.unit.evaluation.campaigns.incidents import incident

FOUND = FaultResult(
    "spine-down",
    100.0,
    False,
    True,
    by={"link_down": 1.0, "silent": 2.0},
    direct={"silent": 2.0},
    right=[incident(device("spine1"))],
    delay=2.0,
    kind_right=True,
    right_first=True,
    cost_delay=4.0,
)
LATE = FaultResult(
    "spine-down",
    200.0,
    True,
    True,
    by={"link_down": 3.0},
    right=[incident(device("spine2")), incident(device("spine2"))],
    wrong=[incident(device("leaf1"))],
    delay=5.0,
)
MISSED = FaultResult("hung-gpu", 300.0, False, True)
INVISIBLE = FaultResult("hung-gpu", 400.0, False, False)


def campaign(*faults: FaultResult, healthy: bool = False, **counts: object) -> CampaignResult:
    result = CampaignResult(7, list(faults), series_days=1e6 / 4, days=0.25, healthy=healthy)
    for name, value in counts.items():
        setattr(result, name, value)
    return result


RESULTS = [
    campaign(
        FOUND,
        LATE,
        MISSED,
        INVISIBLE,
        true=Counter(link_down=6, silent=2),
        false=Counter(link_down=2),
        false_by=Counter({("spine-down", "link_down"): 1, ("", "link_down"): 1}),
    ),
    campaign(healthy=True, false=Counter(silent=1), false_incidents=[incident(device("node9"))]),
]


def of(table: str, found: list[Row], **wanted: object) -> Row:
    (row,) = [row for row in found if row["table"] == table and all(row[key] == wanted[key] for key in wanted)]
    return row


def test_only_visible_faults_count() -> None:
    assert {name: len(faults) for name, faults in by_fault(RESULTS).items()} == {"hung-gpu": 1, "spine-down": 2}


def test_incidents_of_one_kind_of_fault_and_of_all() -> None:
    found = rows(RESULTS)
    assert of("incidents", found, fault="spine-down") == {
        "table": "incidents",
        "fault": "spine-down",
        "events": 2,
        "recall": 1.0,
        "precision": 0.75,  # three of four name the root
        "right_in_first_version": 0.5,
        "right_kind": 0.5,
        "exactly_one": 0.5,
        "wrong_root": 1,
        "delay_intervals": 3.5,
        "delay_max": 5.0,
        "in_time": 0.5,
        "cost_delay": 4.0,
    }
    missed = of("incidents", found, fault="hung-gpu")
    assert (missed["events"], missed["recall"]) == (1, 0.0)
    assert all(math.isnan(missed[name]) for name in ("precision", "delay_intervals", "delay_max", "cost_delay"))
    assert (of("incidents", found, fault="all")["events"], of("incidents", found, fault="all")["recall"]) == (3, 0.667)


def test_precision_is_over_all_incidents() -> None:
    row = of("precision", rows(RESULTS))
    assert (row["incidents"], row["right"], row["wrong_root"], row["false"]) == (5, 3, 1, 1)
    assert (row["precision"], row["recall"]) == (0.6, 0.667)
    assert row["f1"] == pytest.approx(2 * 0.6 * 0.667 / 1.267, abs=1e-3)


def test_false_findings_and_incidents_are_rates_of_their_time() -> None:
    found = rows(RESULTS)
    healthy, campaigns = of("false", found, during="healthy"), of("false", found, during="campaigns")
    assert (healthy["hours"], healthy["false_findings"], healthy["false_incidents"]) == (6.0, 1, 1)
    assert (healthy["false_findings_per_million_series_days"], healthy["false_incidents_per_day"]) == (4.0, 4.0)
    assert (campaigns["false_findings"], campaigns["false_incidents"]) == (2, 0)
    assert of("false_kinds", found) == {
        "table": "false_kinds",
        "kind": "device_down",
        "severity": "critical",
        "false_incidents": 1,
        "per_day": 2.0,
    }


def test_detectors_by_what_they_found_first_and_alone() -> None:
    found = rows(RESULTS)
    link, silent = of("detectors", found, detector="link_down"), of("detectors", found, detector="silent")
    assert (link["findings"], link["precision"], link["events_found"]) == (8, 0.75, 2)
    assert (link["only_detector"], link["first_detector"], link["delay_intervals"]) == (1, 2, 2.0)
    assert (silent["only_detector"], silent["only_direct_detector"], silent["first_detector"]) == (0, 1, 0)
    assert (link["false_per_million_series_days"], link["healthy_false_per_million_series_days"]) == (4.0, 0.0)
    assert silent["healthy_false_per_million_series_days"] == 4.0


def test_faults_by_detector() -> None:
    found = rows(RESULTS)
    silent = of("faults", found, detector="silent")
    assert (silent["fault"], silent["recall"], silent["recall_direct"], silent["delay_intervals"]) == (
        "spine-down",
        0.5,
        0.5,
        2.0,
    )
    assert of("faults", found, detector="link_down")["recall_direct"] == 0.0


def muted(**change: object) -> Row:
    """The row of a detector without which ``FOUND`` is as changed."""
    full = campaign(FOUND, true=Counter(link_down=1))
    fields = {name: getattr(FOUND, name) for name in FaultResult.__slots__}
    full.muted = {"link_down": campaign(FaultResult(**{**fields, **change}))}
    return of("muted", rows([full]))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, (0, 0, 0, 0, "nothing here")),
        ({"right": []}, (1, 0, 0, 0, "recall")),
        ({"wrong": [incident(device("leaf1"))]}, (0, 1, 0, 0, "precision")),
        ({"delay": 3.5}, (0, 0, 1, 0, "speed")),
        ({"delay": 1.0}, (0, 0, 0, 1, "nothing here")),
        ({"right": [], "wrong": [incident(device("leaf1"))]}, (1, 1, 0, 0, "recall, precision")),
    ],
)
def test_what_incidents_lose_without_a_detector(change: dict[str, object], expected: tuple[object, ...]) -> None:
    row = muted(**change)
    assert (row["events_lost"], row["wrong_incidents_added"], row["later"], row["sooner"], row["improves"]) == expected


def test_the_lost_faults_are_named_and_delays_are_means() -> None:
    assert muted(right=[])["of"] == "spine-down"
    assert muted(delay=3.5)["intervals_later"] == 1.5
    assert math.isnan(muted()["intervals_later"])


def test_nothing_is_known_without_campaigns() -> None:
    found = rows([])
    assert {row["table"] for row in found} == {"incidents", "precision", "false"}
    assert math.isnan(of("precision", found)["f1"])


def test_there_is_a_table_for_each_kind_of_row() -> None:
    drawn = tables(rows(RESULTS))
    assert [str(table.title) for table in drawn] == list(TITLES.values())
    assert {row["table"] for row in rows(RESULTS)} <= set(TITLES)
    incidents = drawn[0]
    assert [str(column.header) for column in incidents.columns][:3] == ["fault", "events", "recall"]
    missed = [list(column.cells) for column in incidents.columns]
    assert [cells[0] for cells in missed[:4]] == ["hung-gpu", "1", "0.00", ""]


def test_every_error_is_a_line_with_its_seed() -> None:
    assert list(errors(RESULTS)) == [
        "seed 7 spine-down at 200 s (pair): duplicate incident: spine2: device_down",
        "seed 7 spine-down at 200 s (pair): wrong root: device_down device:leaf1: leaf1: device_down",
        "seed 7 hung-gpu at 300 s: missed; findings of no detector",
        "seed 7: 1 false findings of link_down",
        "seed 7: 1 false findings of link_down during spine-down",
        "seed 7: false incident: device_down device:node9: node9: device_down",
    ]
