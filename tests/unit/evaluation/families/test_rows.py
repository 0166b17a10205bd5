"""Figures, verdicts and the page: they can look bad, and say when too little was run to tell."""

import json
import math
from dataclasses import replace

import pytest

from evaluation.families import figures, rows, targets
from evaluation.families.family import read_families
from evaluation.families.judge import ClusterOutcome, judge
from evaluation.families.page import cell, families_page, plain
from evaluation.families.run import Options
from telemetry.incidents import IncidentKind, Severity
from tests.unit.evaluation.families.made_up import CABLE, FAMILY, GPU, SIBLING, page, run, truth

DOWN = truth("link-down", CABLE)
SLOW = truth("straggler-gpu", GPU, ("node1",))
RIGHT = judge(run([DOWN], [page(IncidentKind.LINK_DOWN, CABLE, 1012.0)]))
LATE = judge(run([DOWN], [page(IncidentKind.LINK_DOWN, CABLE, 1040.0)]))
MISSED = judge(run([DOWN], []))
HEALTHY = judge(run([], [], FAMILY.model_copy(update={"name": "quiet", "faults": None})))
NOISE = page(IncidentKind.INCAST, "port:leaf1/Ethernet0", 500.0)
NOISY = judge(run([], [NOISE], FAMILY.model_copy(update={"name": "noisy", "faults": None})))


def target(name: str, clusters: list[ClusterOutcome]) -> targets.Row:
    return next(row for row in targets.targets(clusters) if row["figure"] == name)


@pytest.mark.parametrize(
    ("clusters", "verdict"),
    [
        ([RIGHT], "met, not proven"),
        ([RIGHT] * 100, "proven"),
        ([MISSED], "missed, not proven"),
        ([RIGHT, MISSED], "missed, not proven"),
        ([RIGHT, *[MISSED] * 9], "missed, proven"),
        ([HEALTHY], "not run"),
    ],
)
def test_a_share_is_proven_by_its_lower_bound_only(clusters: list[ClusterOutcome], verdict: str) -> None:
    assert target("root named first, faults alone", clusters)["verdict"] == verdict


def test_a_rate_is_proven_by_its_upper_bound_only() -> None:
    name = "the same, healthy families alone"
    assert target(name, [HEALTHY])["verdict"] == "met, not proven"
    week = replace(HEALTHY, node_days=7 * 4000.0)  # 3.69 events in 4,000 node-weeks are less than one in 1,000
    assert target(name, [week])["verdict"] == "proven"
    assert target(name, [NOISY])["verdict"] == "missed, proven"
    many = replace(NOISY, node_days=7 * 600.0)
    assert target(name, [many])["verdict"] == "missed, not proven"


def test_health_says_what_was_proven() -> None:
    (row,) = (row for row in rows.rows([HEALTHY]) if row["table"] == "health")
    weeks = HEALTHY.node_days / 7
    bound = -math.log(0.025) / weeks * 1000  # a Poisson count of 0 has probability exp(-rate)
    assert row["what is proven"] == f"0 in {weeks:.3g} node-weeks: at most {bound:,.0f} a week and 1,000 nodes"


def test_false_pages_are_listed_by_family_kind_and_severity() -> None:
    found = [row for row in rows.rows([NOISY, NOISY, HEALTHY]) if row["table"] == "false_pages"]
    assert found == [
        {"table": "false_pages", "family": "noisy", "incident": "incast", "severity": "warning", "pages": 2}
    ]


def test_missed_faults_are_in_the_delay() -> None:
    assert figures.delay([*RIGHT.faults, *LATE.faults], 0.95) == 40.0
    assert figures.delay([*RIGHT.faults, *MISSED.faults], 0.95) == math.inf
    within = target("hard faults: page within an interval and 5 s", [RIGHT, LATE, MISSED])
    assert within["today"] == pytest.approx(1 / 3)


def test_member_f1_counts_missed_and_wrong_gpus() -> None:
    outcomes = [
        judge(run([SLOW], pages))
        for pages in ([page(IncidentKind.STRAGGLER, GPU, 1020.0)], [page(IncidentKind.STRAGGLER, SIBLING, 1020.0)], [])
    ]
    found = figures.member_f1(figures.counted(outcomes))
    assert found.value == pytest.approx(2 / 5)
    assert found.of == 4


def test_precision_is_of_all_pages_false_ones_included() -> None:
    found = figures.precision([RIGHT, NOISY])
    assert (found.value, found.of) == (0.5, 2)


def test_announced_work_and_what_nothing_shows_do_not_count() -> None:
    wave = judge(run([truth("planned-reboot-wave", "device:node1", ("node1",))], []))
    idle = judge(run([truth("slow-receiver", "port:leaf1/Ethernet16", ("node4",))], []))
    assert figures.counted([wave, idle]) == []
    (row,) = (row for row in rows.rows([idle]) if row["table"] == "pages")
    assert row["faults that nothing shows"] == 1


def test_the_page_has_every_table_and_names_what_was_not_run() -> None:
    sets = read_families()
    ran = [family.name for family in sets.report[1:]]
    text = families_page(rows.rows([RIGHT, MISSED, HEALTHY]), Options(), sets, ran)
    assert f"**Not run: {sets.report[0].name}.**" in text
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        f"## {name.replace('_', ' ').capitalize()}" for name in rows.TITLES
    ]
    assert "Not run" not in families_page(rows.rows([RIGHT]), Options(), sets, [family.name for family in sets.report])


def test_what_json_cannot_hold_is_null_and_the_page_says_never() -> None:
    found = [plain(row) for row in rows.rows([MISSED, HEALTHY])]
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert [cell(value) for value in (math.inf, math.nan, 0.12345, 12345.6, 3, "x")] == [
        "never",
        "",
        "0.123",
        "12,346",
        "3",
        "x",
    ]


def test_severity_wrong_is_shown() -> None:
    loud = judge(run([DOWN], [page(IncidentKind.LINK_DOWN, CABLE, 1012.0, Severity.INFO)]))
    assert target("severity right at first", [loud, RIGHT])["today"] == 0.5
