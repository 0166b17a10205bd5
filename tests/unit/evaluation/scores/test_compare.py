"""Thresholds, recalls at equal false events, and figures by kind, anomaly and reason, on hand-made scores."""

import numpy as np
import pytest

from analytics.models.scoring.scorer import REASONS
from common.units import NS_PER_S
from evaluation.scores.compare import Scored, best_threshold, by_anomaly, by_kind, by_reason, result
from evaluation.scores.figures import outcome, prepared, thresholds
from evaluation.scores.methods import METHODS, OURS
from evaluation.series.labelled import Series, Window
from evaluation.series.signals import Floats

HOUR_NS = 3600 * NS_PER_S
POINTS = 1000


def series(kind: str, *windows: Window) -> Series:
    return Series(kind, 0, np.arange(POINTS, dtype=np.int64) * HOUR_NS, np.zeros(POINTS), windows, 100)


SPIKY = series("spiky", Window(200, 210, "spike"), Window(500, 510, "spike"))
DRIFTING = series("drifting", Window(300, 400, "drift"))


def scores(*points: tuple[int, float]) -> Floats:
    found = np.zeros(POINTS)
    for at, score in points:
        found[at] = score
    return found


def scored(*each: Floats) -> Scored:
    return Scored((prepared(SPIKY), prepared(DRIFTING)), {"some": list(each)})


# One window at 9, two at 5, a false event at 7 and three at 3.
MIXED = scored(
    scores(*((at, 9.0) for at in range(201, 207)), (505, 5.0), (700, 7.0)),
    scores((310, 5.0), (500, 3.0), (600, 3.0), (700, 3.0)),
)


def test_the_best_threshold_finds_all_windows_with_one_false_event() -> None:
    assert 3.0 < best_threshold("some", MIXED) <= 5.0  # F1: 6/7; above 7: 2/4; at 3: 6/10


@pytest.mark.parametrize(("threshold", "found", "false"), [(9.0, 1, 0), (5.0, 3, 1), (3.0, 3, 4), (10.0, 0, 0)])
def test_a_score_at_the_threshold_alerts(threshold: float, found: int, false: int) -> None:
    of = result("some", threshold, MIXED, 0)
    assert (of.figures.found, of.figures.false_events, of.figures.windows) == (found, false, 3)
    assert (of.method, of.threshold, len(of.outcomes)) == ("some", threshold, 2)


@pytest.mark.parametrize(("false_events", "recall"), [(0, 1 / 3), (1, 1.0), (9, 1.0)])
def test_recalls_are_compared_at_no_more_false_events(false_events: int, recall: float) -> None:
    assert result("some", 9.0, MIXED, false_events).recall_at_equal_false == pytest.approx(recall)


def test_a_method_without_any_scores_finds_nothing() -> None:
    of = result("some", 1.0, scored(scores(), scores()), 5)
    assert (of.figures.found, of.figures.false_events) == (0, 0)
    assert np.isnan(of.figures.precision)


def test_figures_by_kind_and_by_anomaly_add_up() -> None:
    outcomes = result("some", 5.0, MIXED, 0).outcomes
    kinds = by_kind(outcomes)
    assert {kind: (each.found, each.windows, each.false_events) for kind, each in kinds.items()} == {
        "spiky": (2, 2, 1),
        "drifting": (1, 1, 0),
    }
    assert by_anomaly(outcomes) == {"drift": (1, 1), "spike": (2, 2)}
    assert by_anomaly(result("some", 9.0, MIXED, 0).outcomes) == {"drift": (0, 1), "spike": (1, 2)}


def test_thresholds_are_levels_of_the_points_that_count() -> None:
    part = prepared(SPIKY)
    score = np.arange(POINTS, dtype=np.float64)
    score[:100] = 1e9  # the probation
    found = thresholds([score], [part], count=5)
    kept = np.arange(100, 1000)
    shares = np.geomspace(0.3, 3 / 900, 5)
    assert found == pytest.approx(np.sort(np.quantile(kept, 1 - shares)))


def test_reasons_are_those_of_the_first_alert() -> None:
    rng = np.random.default_rng(1)
    values = 100 + rng.normal(size=2000)
    values[1500:1506] += 40.0
    values[1800:1803] -= 40.0
    times_ns = 1_700_000_000 * NS_PER_S + np.arange(2000, dtype=np.int64) * 60 * NS_PER_S
    labelled = Series("test", 0, times_ns, values, (Window(1500, 1506, "spike"),), 300)
    found = by_reason([labelled])
    alerts = METHODS[OURS](labelled) >= 1.0
    assert sum(hits for hits, _ in found.values()) == 1
    assert sum(false for _, false in found.values()) == outcome(prepared(labelled), alerts).false_events == 1
    assert set(found) <= set(REASONS)
