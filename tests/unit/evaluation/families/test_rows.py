"""Figures, verdicts and the page: they can look bad, and say when too little was run to tell."""

import json
import math
from dataclasses import replace

import pytest

from evaluation.families import figures, rows, targets
from evaluation.families.family import read_families
from evaluation.families.figures import Figure
from evaluation.families.judge import ClusterOutcome
from evaluation.families.page import cell, families_page, plain
from evaluation.families.run import Options
from telemetry.incidents import IncidentKind, Severity
from tests.unit.evaluation.families.made_up import CABLE, FAMILY, GPU, SIBLING, SLOWED, judge, page, run, truth

DOWN = truth("link-down", CABLE)
SLOW = truth("straggler-gpu", GPU, ("node1",))
RIGHT = judge(run([DOWN], [page(IncidentKind.LINK_DOWN, CABLE, 1012.0)]))
LATE = judge(run([DOWN], [page(IncidentKind.LINK_DOWN, CABLE, 1040.0)]))
MISSED = judge(run([DOWN], []))
HEALTHY = judge(run([], [], FAMILY.model_copy(update={"name": "quiet", "faults": None})))
NOISE = page(IncidentKind.INCAST, "port:leaf1/Ethernet0", 500.0)
NOISY = judge(run([], [NOISE], FAMILY.model_copy(update={"name": "noisy", "faults": None})))


def target(name: str, clusters: list[ClusterOutcome]) -> targets.Row:
    """Of clusters that are a campaign each."""
    apart = [
        replace(cluster, faults=[replace(fault, campaign=str(number)) for fault in cluster.faults])
        for number, cluster in enumerate(clusters)
    ]
    return next(row for row in targets.targets(apart) if row["figure"] == name)


@pytest.mark.parametrize(
    ("clusters", "verdict"),
    [
        ([RIGHT], "met, not proven"),
        ([RIGHT] * 100, "proven"),
        ([MISSED], "missed, not proven"),
        ([RIGHT, MISSED], "missed, not proven"),
        ([RIGHT, *[MISSED] * 19], "missed, proven"),
        ([HEALTHY], "not run"),
    ],
)
def test_a_share_is_proven_by_its_lower_bound_only(clusters: list[ClusterOutcome], verdict: str) -> None:
    assert target("root named first, faults alone", clusters)["verdict"] == verdict


def test_a_rate_is_proven_by_its_upper_bound_only() -> None:
    name = "the same, healthy families alone"
    assert target(name, [HEALTHY])["verdict"] == "met, not proven"
    weeks = replace(HEALTHY, node_days=7 * 2000.0)  # 3.69 events in 4,000 node-weeks are less than one in 1,000
    assert target(name, [weeks] * 2)["verdict"] == "proven"
    assert target(name, [replace(weeks, node_days=7 * 4000.0)])["verdict"] == "met, not proven"  # of one campaign
    assert target(name, [NOISY] * 2)["verdict"] == "missed, proven"
    many = replace(NOISY, node_days=7 * 600.0)
    assert target(name, [many] * 2)["verdict"] == "missed, not proven"


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
    assert figures.delay([*RIGHT.faults, *LATE.faults], 0.95).value == 40.0
    assert figures.delay([*RIGHT.faults, *MISSED.faults], 0.95).value == math.inf
    assert figures.lateness([*RIGHT.faults, *LATE.faults], 0.95).value == pytest.approx(40.0 / 15.0)
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
    values = (math.inf, math.nan, 0.12345, 12345.6, 3, "x", Figure(0.5, 0.125, math.inf, 2), Figure(math.nan, 0, 1, 0))
    assert [cell(value) for value in values] == ["never", "", "0.123", "12,346", "3", "x", "0.5 [0.125, never]", ""]
    assert plain({"share": Figure(0.5, 0.125, math.inf, 2)}) == {"share": 0.5, "share, from": 0.125, "share, to": None}


def test_severity_wrong_is_shown() -> None:
    loud = judge(run([DOWN], [page(IncidentKind.LINK_DOWN, CABLE, 1012.0, Severity.INFO)]))
    assert target("severity right at first", [loud, RIGHT])["today"] == 0.5


def test_one_bad_campaign_does_not_prove_what_many_would() -> None:
    """Forty faults of one campaign that share their jobs are no forty campaigns."""
    bad = replace(MISSED, faults=[replace(MISSED.faults[0], campaign="bad")] * 20)
    good = replace(RIGHT, faults=[replace(RIGHT.faults[0], campaign=f"good {number}") for number in range(20)])
    found = figures.share_of(figures.counted([bad, good]), lambda fault: fault.right_first)
    assert (found.wide_low < found.low, found.wide_high > found.high) == (True, True)
    alone = figures.share_of(figures.counted([bad]), lambda fault: fault.right_first)
    assert (alone.wide_low, alone.wide_high) == (0.0, 1.0)


def test_every_figure_of_the_report_has_bounds() -> None:
    found = [plain(row) for row in rows.rows([RIGHT, MISSED, HEALTHY])]
    beside = {"node-days", "at_s"}
    for row in found:
        unbounded = {key for key, value in row.items() if isinstance(value, float)} - beside
        if row["table"] in ("families", "faults", "pages", "findings", "health"):
            assert {
                key for key in unbounded if f"{key}, from" not in row and not key.endswith((", from", ", to"))
            } == set()


def test_costs_are_of_faults_alone_and_a_missed_one_states_nothing() -> None:
    ratios = figures.cost_ratios([*RIGHT.faults, *MISSED.faults], first=False)
    assert [ratio for _, ratio in ratios] == [0.0, 0.0]
    stated = page(IncidentKind.LINK_DOWN, CABLE, 1012.0)
    made = run([DOWN], [stated])
    made.newest = {stated.incident.id: replace(stated.incident, gpu_seconds=1.4 * SLOWED.total)}
    near = judge(made)
    assert target("GPU time lost, in the end: within a factor of 1.5", [near, MISSED])["today"] == 0.5
    paired = replace(near, faults=[replace(near.faults[0], together=1)])
    assert target("GPU time lost, in the end: within a factor of 1.5", [paired])["of"] == "0 faults"
    cheap = judge(made, replace(SLOWED, total=figures.COST_MIN / 2))
    assert figures.cost_ratios(cheap.faults, first=False) == []
