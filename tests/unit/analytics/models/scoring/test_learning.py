"""What a series learns from a value besides levels, seasons and periods: runs, intervals, proofs and weights."""

import numpy as np
import pytest

from analytics.models.pace import Pace
from analytics.models.scoring import learning
from analytics.models.scoring.layout import (
    DRIFT_UP,
    EXCESS,
    EXPERTS,
    JUMP_UP,
    LEVEL_UP,
    PHASE_UP,
    STRETCH,
    TRIAL_QUANTA,
    TRIAL_UNKNOWN,
)
from tests.unit.analytics.models.scoring import records

PACE = Pace(alpha=0.01, warmup=30, follow=60)


def test_a_series_begins_with_its_first_value() -> None:
    core, tails, season = records.core(), records.tails(), records.season()
    tails.threshold[:] = 0.0
    season.searching.trial[:] = 0
    learning.begin(core, tails, season, 7.0, 100.0)
    assert (core.values.level, core.values.fast, core.anchor, core.last) == (7.0, 7.0, 7.0, 7.0)
    assert (core.values.count, core.run, core.time_s) == (1.0, 1.0, 100.0)
    assert (tails.threshold > 2.0).all()
    assert (season.searching.trial == TRIAL_UNKNOWN).all()
    assert (season.used.scale == 0).all()


def test_runs_of_equal_values_are_counted() -> None:
    core = records.core()
    core.last, core.run = 1.0, 1.0
    for value in (1.0, 1.0, 2.0, 2.0, 3.0):
        learning.learn_run(core, value)
    assert (core.runs, core.run, core.last) == (2.0, 1.0, 3.0)
    assert core.run_mean == pytest.approx((3.0 + 2.0) / 2.0)
    assert core.run_max == pytest.approx(0.999 * 3.0)


@pytest.mark.parametrize(
    ("count", "span_s", "expected"),
    [
        (1.0, 60.0, 60.0),  # the first interval there is
        (10.0, 12.0, 10.0 + 2.0 / 10.0),
        (500.0, 12.0, 10.0 + 2.0 / 50.0),
        (10.0, 600.0, 10.0 + 5.0 / 10.0),  # a gap counts for one and a half intervals
        (10.0, 1.0, 10.0 - 5.0 / 10.0),
    ],
)
def test_the_usual_interval_follows_slowly(count: float, span_s: float, expected: float) -> None:
    core, now = records.core(), records.moment()
    core.values.count, core.interval_s, core.time_s = count, 10.0, 1000.0
    learning.learn_moment(core, records.tails(), 1.0, 1000.0 + span_s, now, 0.01)
    assert core.interval_s == pytest.approx(expected)
    assert core.time_s == 1000.0 + span_s


@pytest.mark.parametrize(("gross", "expected"), [(0.0, 0.01 * 400.0), (1.0, 1.0 + 0.01 * (40.0 - 1.0))])
def test_the_gross_scale_has_all_outliers_in_it(gross: float, expected: float) -> None:
    core, now = records.core(), records.moment()
    core.values.count, core.gross_scale = 999.0, gross
    now.next_drift, now.next_drift_slow = 1.0, 2.0
    learning.learn_moment(core, records.tails(), 400.0, 10.0, now, 0.02)
    assert core.gross_scale == pytest.approx(expected)
    assert (core.drift, core.drift_slow) == pytest.approx((1.0, 2.0))


@pytest.mark.parametrize(
    ("before", "residual_scale", "after"), [(0.0, 0.69, 1.0), (0.0, 0.71, 0.0), (1.0, 0.84, 1.0), (1.0, 0.86, 0.0)]
)
def test_a_season_is_proved_below_0_7_and_given_up_above_0_85(
    before: float, residual_scale: float, after: float
) -> None:
    tails, (core, season) = records.tails(), records.core_and_season(before)
    core.values.scale, core.residuals.scale, core.drift = 1.0, residual_scale, 5.0
    tails.threshold[:] = 9.0
    core.phase.slot_s, core.phase.lag, core.phase.proved = 60.0, 7.0, 1.0
    learning.prove(core, tails, season, 2.0)
    assert core.season_proved == after
    changed = before != after
    assert core.drift == (0.0 if changed else 5.0), "distances mean something else from now on"
    assert (tails.threshold[[LEVEL_UP, DRIFT_UP]] < 9.0).all() == changed
    assert tails.threshold[JUMP_UP] == 9.0
    assert (core.phase.slot_s, core.phase.lag, core.phase.proved) == ((0.0, 0.0, 0.0) if changed else (60.0, 7.0, 1.0))


@pytest.mark.parametrize(("proved", "of_period", "better"), [(1, 3.0, False), (1, 2.0, True), (0, 2.0, False)])
def test_a_season_is_not_proved_beside_a_period_that_leaves_less(proved: int, of_period: float, better: bool) -> None:
    core = records.core()
    core.residuals.scale, core.phase.proved, core.phase.error = 2.5, proved, of_period
    assert learning.period_is_better(core) == better


def test_a_bin_is_the_mean_of_its_first_day() -> None:
    core, season, now = records.core(), records.season(), records.moment()
    core.bin_minutes, core.interval_s, core.quantum, core.anchor = 10.0, 60.0, 2.0**-10, 100.0
    now.first_bin, now.second_bin = 0, 1
    for x in (104.0, 106.0) * 5:
        learning.learn_season(core, records.tails(), season, x, now, PACE)
        core.values.count += 1.0
    assert TRIAL_QUANTA * core.quantum * season.searching.trial[0] == pytest.approx(4.9, abs=0.2)


@pytest.mark.parametrize(("rest", "expected"), [(0.5, (144.0, 8.0, 3.0)), (0.7, (1.0, 0.0, 0.0))])
def test_residuals_begin_with_the_plain_scales(rest: float, expected: tuple[float, float, float]) -> None:
    """Which count for half a day, and not of a series that rests."""
    core = records.core()
    core.interval_s, core.rest, core.values.scale, core.values.fast_scale = 300.0, rest, 8.0, 3.0
    learning.begin_residuals(core)
    assert (core.residuals.count, core.residuals.scale, core.residuals.fast_scale) == expected


def test_a_series_that_rests_has_no_season() -> None:
    core, season = records.core_and_season(1.0)
    core.values.scale, core.rest = 1.0, 0.76
    learning.prove(core, records.tails(), season, 2.0)
    assert core.season_proved == 0.0


@pytest.mark.parametrize(
    ("score", "streak", "weight"),
    [
        (0.5, 9.0, 1.0),
        (1.2, 2.0, 1.0),  # the third value of an alert
        (1.2, 3.0, 0.1),
        (0.9, 5.0, 1.0),  # the sixth unusual one
        (0.9, 6.0, 0.25),
        (1.2, 59.0, 1.0),  # it has lasted: it is the new normal
    ],
)
def test_the_rest_of_an_event_counts_little_where_events_are_frequent(
    score: float, streak: float, weight: float
) -> None:
    core, tails = records.core(), records.tails()
    core.values.count, core.streak, core.reported = 1e6, streak, 101.0
    before = tails.threshold.copy()
    learning.learn_tails(core, tails, np.zeros(EXPERTS), PACE, score)
    step = 0.03 * 0.15 * weight * max(0.55, 0.1 * 2.3)
    assert before[LEVEL_UP] - tails.threshold[LEVEL_UP] == pytest.approx(step, rel=1e-3)
    assert core.streak == (streak + 1.0 if score >= 0.8 else 0.0)


@pytest.mark.parametrize(
    ("score", "count", "interval_s", "reported", "streak", "weight"),
    [
        (1.2, 600.0, 60.0, 11.9, 0.0, 0.02),
        (0.8, 600.0, 60.0, 0.0, 0.0, 0.02),  # nearly reported
        (0.79, 600.0, 60.0, 0.0, 0.0, 1.0),
        (1.2, 599.0, 60.0, 0.0, 0.0, 1.0),  # all of its first values are what is usual
        (1.2, 120.0, 3600.0, 0.0, 0.0, 0.02),  # five days are over
        (1.2, 119.0, 3600.0, 0.0, 0.0, 1.0),
        (1.2, 600.0, 60.0, 12.1, 0.0, 1.0),  # two in a hundred: it is what is usual
        (1.2, 1e6, 60.0, 99.9, 0.0, 0.02),  # of the last 5000 values
        (1.2, 1e6, 60.0, 100.1, 0.0, 1.0),
        (1.2, 1e6, 60.0, 0.0, 59.0, 1.0),  # it has lasted: it is the new normal
    ],
)
def test_what_is_reported_is_not_history(
    score: float, count: float, interval_s: float, reported: float, streak: float, weight: float
) -> None:
    core, tails, statistics = records.core(), records.tails(), np.zeros(EXPERTS)
    core.values.count, core.interval_s, core.reported, core.streak = count, interval_s, reported, streak
    statistics[LEVEL_UP] = 30.0
    tails.excesses[LEVEL_UP] = EXCESS * 90.0
    learning.learn_tails(core, tails, statistics, PACE, score)
    assert tails.excesses[LEVEL_UP] / EXCESS - 90.0 == pytest.approx(weight, rel=1e-3)
    unusual = 1.0 if score >= 0.8 else 0.0
    assert core.reported == pytest.approx(reported * (1.0 - 1.0 / 5000.0) + unusual)


def test_one_statistic_beyond_its_threshold_raises_only_that() -> None:
    core, tails, statistics = records.core(), records.tails(), np.zeros(EXPERTS)
    core.values.count = 100.0
    statistics[LEVEL_UP] = 5.0
    before = tails.threshold.copy()
    learning.learn_tails(core, tails, statistics, PACE, 0.0)
    assert tails.threshold[LEVEL_UP] > before[LEVEL_UP]
    assert (tails.threshold[LEVEL_UP + 1 : PHASE_UP] < before[LEVEL_UP + 1 : PHASE_UP]).all()
    assert tails.ladder[0, LEVEL_UP] == STRETCH


def test_experts_of_a_period_learn_only_while_there_is_one() -> None:
    for lag in (0.0, 20.0):
        core, tails = records.core(), records.tails()
        core.values.count, core.phase.lag = 100.0, lag
        before = tails.threshold.copy()
        learning.learn_tails(core, tails, np.zeros(EXPERTS), PACE, 0.0)
        assert (tails.threshold[PHASE_UP] < before[PHASE_UP]) == (lag > 0.0)


def test_tails_of_a_period_begin_with_its_first_trial() -> None:
    core, tails = records.core(), records.tails()
    core.values.count, core.phase.judged = 100.0, 1.0
    tails.threshold[:] = 9.0
    learning.learn_tails(core, tails, np.zeros(EXPERTS), PACE, 0.0)
    assert tails.threshold[PHASE_UP] == np.float32(3.0)
    assert tails.threshold[LEVEL_UP] > 8.0


@pytest.mark.parametrize(("count", "rate"), [(9.0, 0.1), (1e6, 1e-3)])
def test_the_errors_of_day_and_week_are_bounded_running_means(count: float, rate: float) -> None:
    core, season = records.core_and_season(1.0)
    week = season.week
    core.residuals.count, week.quantum, week.day_error, week.week_error = count, 0.5, 1.0, 1.0
    season.used.week[0] = 6
    learning.learn_whether_weekly(core, season, 4.0, 0, 5.0)
    assert (week.day_error, week.week_error) == pytest.approx((1.0 + rate * 3.0, 1.0 + rate * 0.0))
    learning.learn_whether_weekly(core, season, 400.0, 0, 1.0)
    assert week.day_error < 1.0 + rate * 3.0
