"""Event-wise figures are exact on small cases, and random or permanent alerts have a low precision."""

import numpy as np
import pytest

from common.units import NS_PER_S
from evaluation.scores.figures import (
    GAP,
    LATE,
    LONGEST,
    average_precision,
    f1_range,
    false_events,
    false_starts,
    figures,
    outcome,
    prepared,
    sweep,
    thresholds,
)
from evaluation.series.labelled import Series, Window
from evaluation.series.synthetic import REPORT_SEEDS, corpus

_HOUR_NS = 3600 * NS_PER_S


def series(*windows: Window, n: int = 1100, probation: int = 100) -> Series:
    times_ns = np.arange(n, dtype=np.int64) * _HOUR_NS
    return Series("test", 0, times_ns, np.zeros(n), windows, probation)


def alerts(*at: int, n: int = 1100) -> np.ndarray:
    found = np.zeros(n, dtype=np.bool_)
    found[list(at)] = True
    return found


def of(found: Series, *at: int):
    return figures([outcome(prepared(found), alerts(*at))])


@pytest.mark.parametrize(
    ("at", "events"),
    [
        ([], 0),
        ([5], 1),
        ([5, 5 + GAP], 1),
        ([5, 5 + GAP + 1], 2),
        (list(range(LONGEST)), 1),
        (list(range(LONGEST + 1)), 2),
        (list(range(10 * LONGEST)), 10),
    ],
)
def test_alerts_close_together_are_one_event_and_long_ones_count_more(at, events):
    assert false_events(np.array(at, dtype=np.int64)) == events


def test_hit_miss_and_false_alarm_are_counted_as_events():
    found = of(series(Window(200, 220, "spike"), Window(600, 700, "drift")), 205, 206, 219, 400)
    assert (found.windows, found.found, found.false_events) == (2, 1, 1)
    assert (found.precision, found.recall, found.f1) == (0.5, 0.5, 0.5)
    assert (found.delay_points, found.delay_share) == (5, 0.25)


def test_rates_of_false_events_exclude_the_probation():
    found = of(series(), 10, 400)
    assert found.false_events == 1
    assert found.false_per_1000 == pytest.approx(1.0)
    assert found.false_per_day == pytest.approx(1 / (999 / 24))


def test_a_little_late_is_a_hit_and_later_is_an_aftermath():
    window = Window(200, 201, "spike")
    assert of(series(window), 200 + LATE).found == 1
    aftermath = of(series(window), 201 + LATE)
    assert (aftermath.found, aftermath.false_events) == (0, 0)
    assert of(series(window), 201 + GAP).false_events == 1


def test_false_events_begin_at_their_first_alert_outside_of_windows():
    part = prepared(series(Window(200, 220, "spike")))
    assert false_starts(part, alerts(50, 210, 400, 405, 500)).tolist() == [400, 500]


def test_excused_points_are_neither_hit_nor_false():
    found = of(series(Window(200, 300, "excused")), 210)
    assert (found.windows, found.false_events) == (0, 0)


def test_the_early_score_is_0_without_alerts_and_100_with_prompt_hits():
    windows = (Window(200, 220, "spike"), Window(600, 700, "drift"))
    assert of(series(*windows)).early == pytest.approx(0)
    prompt, late = of(series(*windows), 200, 600).early, of(series(*windows), 219, 699).early
    assert prompt == pytest.approx(100)
    assert 50 < late < 60


def test_the_f1_interval_is_a_point_for_equal_outcomes_and_wide_for_different_ones():
    found = outcome(prepared(series(Window(200, 220, "spike"))), alerts(205))
    missed = outcome(prepared(series(Window(200, 220, "spike"))), alerts())
    assert f1_range([found] * 5) == (1.0, 1.0)
    low, high = f1_range([found, missed] * 5)
    assert low < figures([found, missed] * 5).f1 < high


def test_a_perfect_score_has_area_1_and_a_random_one_almost_0():
    parts = [prepared(each) for each in corpus(REPORT_SEEDS[:1])]
    perfect = []
    for part in parts:
        score = np.zeros(part.series.values.size)
        for window in part.windows:
            score[window.start] = 1.0
        perfect.append(score)
    rng = np.random.default_rng(0)
    random = [rng.random(part.series.values.size) for part in parts]
    assert average_precision(sweep(perfect, parts, np.array([0.5]))) == 1.0
    swept = sweep(random, parts, thresholds(random, parts))
    assert average_precision(swept) < 0.1
    assert max(each.f1 for each in swept) < 0.15


def test_permanent_alerts_have_recall_1_and_low_precision():
    parts = [prepared(each) for each in corpus(REPORT_SEEDS[:1])]
    always = [np.ones(part.series.values.size) for part in parts]
    (found,) = sweep(always, parts, np.array([0.5]))
    assert found.recall == 1.0
    assert found.precision < 0.1
