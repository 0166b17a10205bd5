"""Pages and rows of the report, from results that a test writes."""

import math

import numpy as np
import pytest

from common.units import NS_PER_S
from evaluation import report
from evaluation.campaigns import baselines
from evaluation.campaigns.run import REPORT, TUNE
from evaluation.campaigns.tables import TITLES
from evaluation.scores.compare import MethodResult, Scored, result
from evaluation.scores.figures import prepared
from evaluation.scores.methods import OURS
from evaluation.series.labelled import Series, Window


def series(kind: str, *windows: Window) -> Series:
    times_ns = 1_700_000_000 * NS_PER_S + np.arange(1000, dtype=np.int64) * 3600 * NS_PER_S
    return Series(kind, 0, times_ns, np.random.default_rng(1).normal(100, 1, 1000), windows, 100)


SERIES = (series("spiky", Window(200, 210, "spike"), Window(500, 510, "dip")), series("drifting"))


def of(method: str, *alerts: int, threshold: float = 1.0) -> MethodResult:
    """Alerts in the first series; none in the second."""
    scores = [np.zeros(1000), np.zeros(1000)]
    scores[0][list(alerts)] = threshold
    return result(method, threshold, Scored(tuple(map(prepared, SERIES)), {method: scores}), 0)


OURS_AT_1 = of(OURS, 201, 505)
ONE, OTHER = of("one", 201, 700, 800, threshold=4.25), of("other", 201, threshold=3.0)


def test_the_product_comes_first_and_its_tuned_row_is_no_baseline() -> None:
    ours, others = report.split([OURS_AT_1, of(OURS, 201), ONE, OTHER])
    assert ours is OURS_AT_1
    assert others == [ONE, OTHER]


def test_a_row_of_a_method_has_its_figures() -> None:
    (row,) = report.methods([ONE])
    assert row[:4] == ["one", "4.25", "0.33", "0.50"]  # one of two windows, two false events
    assert row[4].startswith("0.40 (")
    assert len(row) == len(report.METHODS)


def test_kinds_are_beside_the_best_baseline() -> None:
    cells = report.kinds(OURS_AT_1, [ONE, OTHER])
    assert cells[0] == ["spiky", "2 of 2", "0.000", "1 of 2", "0.000", "other"]
    assert cells[1] == ["drifting", "0 of 0", "0.000", "0 of 0", "0.000", "one"], "nothing to find: the first"


def test_anomalies_are_counted_for_every_method() -> None:
    assert report.anomalies(OURS_AT_1, [ONE, OTHER]) == [
        ["dip", "1 of 1", "0", "0"],
        ["spike", "1 of 1", "1", "1"],
    ]


def test_json_has_null_where_nothing_is_known() -> None:
    (row,) = report.rows([of("silent")])
    assert (row["name"], row["windows"], row["found"], row["precision"]) == ("silent", 2, 0, None)
    assert row["by_kind"]["spiky"]["recall"] == 0.0
    assert row["by_kind"]["drifting"]["recall"] is None
    assert row["by_anomaly"] == {"dip": (0, 1), "spike": (0, 1)}


def test_a_page_of_series_has_all_tables() -> None:
    page = report.series_page("Results: some", "Written by hand.", [OURS_AT_1, ONE, OTHER])
    assert page.startswith("# Results: some\n\nWritten by hand. What the columns mean: ")
    assert page.endswith("|\n")
    assert "2 series, 1,800 points that count, 2 windows to find" in page
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    assert headings == ["## By kind of series", "## By type of anomaly", "## By reason", "## Ablation"]
    for table in page.split("\n\n"):
        if table.startswith("|"):
            assert len({line.count("|") for line in table.splitlines()}) == 1


ROWS = [
    {"table": "incidents", "fault": "spine-down", "recall": 0.51234, "delay_intervals": None},
    {"table": "false", "during": "healthy", "hours": 6.0},
    {"table": "incidents", "fault": "all", "recall": 1.0, "extra": 3},
]


def test_a_page_of_campaigns_has_a_table_for_each_kind_of_row() -> None:
    page = report.campaigns_page(ROWS)
    assert f"## Incidents\n\n{TITLES['incidents']}.\n\n| fault | recall | delay intervals | extra |" in page
    assert "| spine-down | 0.512 |  |  |\n| all | 1 |  | 3 |" in page
    assert "| healthy | 6 |" in page
    for seed in (*REPORT, *TUNE):
        assert str(seed) in page.split("## ")[0]


def test_a_page_of_baselines_names_the_seed_of_their_thresholds() -> None:
    page = report.baselines_page([{"table": "pairs", "method": "EWMA", "recall": math.pi}])
    assert f"## Pairs\n\n{baselines.TITLES['pairs']}." in page
    assert "| EWMA | 3.14 |" in page
    assert f"on seed {TUNE[0]}." in page


@pytest.mark.parametrize(("seeds", "text"), [((1, 2), "1 and 2"), ((1, 2, 3), "1, 2 and 3")])
def test_seeds_are_listed_in_words(seeds: tuple[int, ...], text: str) -> None:
    assert report._numbers(seeds) == text
