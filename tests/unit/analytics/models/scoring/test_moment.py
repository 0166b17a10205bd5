"""What is expected of a moment, and each expert's statistic, by hand."""

import math
from typing import Any

import numpy as np
import pytest

from analytics.models.scoring import moment
from analytics.models.scoring import season as seasons
from analytics.models.scoring.layout import (
    DRIFT_DOWN,
    DRIFT_UP,
    EXPERTS,
    JUMP_UP,
    LEVEL_DOWN,
    LEVEL_UP,
    PHASE_UP,
    TRIAL_QUANTA,
    TRIAL_UNKNOWN,
    UNKNOWN,
)
from tests.unit.analytics.models.scoring import records

SIGMA = 1.2533  # standard deviations in a mean absolute deviation


def plain() -> Any:
    """A series at 100 with a scale of 10, and no season."""
    core = records.core()
    core.values.level = core.values.fast = core.last = 100.0
    core.values.scale = core.values.fast_scale = core.step_scale = 10.0
    core.runs = 1.0
    return core


def daily(days: float, proved: float = 1.0) -> tuple[Any, Any]:
    """A series whose day is 5 above the anchor of 100, and whose scale is 2 in the first hour."""
    core, season = plain(), records.core_and_season(proved)[1]
    core.bin_minutes, core.interval_s, core.quantum, core.season_proved = 10.0, 60.0, 0.5 / TRIAL_QUANTA, proved
    core.season_from_s, core.anchor, core.residuals.scale = -86_400.0 * days, 100.0, 2.0
    if proved:
        season.used.day[:] = 10 * TRIAL_QUANTA
        season.used.week[24 * 4], season.week.quantum = 6, 0.5  # the first hour of a Thursday
    else:
        season.searching.trial[:] = 10
    season.used.scale[0] = 4 * TRIAL_QUANTA
    return core, season


def looked(core: Any, season: Any, time_s: float = 0.0) -> Any:
    now = records.moment()
    moment.look(core, season, time_s, now)
    return now


@pytest.mark.parametrize(("level", "gross", "floor"), [(100.0, 0.0, 0.1), (-100.0, 1.0, 0.3), (0.0, 0.0, 1e-30)])
def test_the_smallest_scale_is_a_share_of_the_level_or_of_what_outliers_leave(
    level: float, gross: float, floor: float
) -> None:
    core = records.core()
    core.values.level, core.gross_scale = level, gross
    assert looked(core, records.season()).floor == pytest.approx(floor)


def test_without_a_season_the_level_is_expected() -> None:
    now = looked(plain(), records.season())
    assert now.has_season == 0.0
    assert moment.expectation(plain(), now) == pytest.approx((100.0, SIGMA * 10.0))


@pytest.mark.parametrize(("days", "has_season"), [(0.9, 0.0), (1.1, 1.0)])
def test_a_season_predicts_from_its_second_day_on(days: float, has_season: float) -> None:
    now = looked(*daily(days))
    assert (now.has_season, now.of_day, now.season_proved) == (has_season, 5.0 * has_season, has_season)


@pytest.mark.parametrize("proved", [0.0, 1.0])
def test_a_bin_that_is_unknown_predicts_nothing(proved: float) -> None:
    core, season = daily(3.0, proved)
    if proved:
        season.used.day[0] = UNKNOWN
    else:
        season.searching.trial[0] = TRIAL_UNKNOWN
    assert looked(core, season, 300.0).has_season == 0.0


@pytest.mark.parametrize(("proved", "week_error", "of_week"), [(1.0, 0.84, 3.0), (1.0, 0.86, 0.0), (0.0, 0.84, 0.0)])
def test_the_week_is_used_where_it_is_better(proved: float, week_error: float, of_week: float) -> None:
    core, season = daily(9.0, proved)
    season.week.day_error, season.week.week_error = 1.0, week_error
    assert looked(core, season).of_week == of_week


def test_a_proved_season_is_expected_with_the_scale_of_the_hour() -> None:
    core, season = daily(3.0)
    core.residuals.level = 0.5
    now = looked(core, season)
    assert now.residual_scale == pytest.approx(seasons.scale_of_hour(core, season, 0))
    assert moment.expectation(core, now) == pytest.approx((100.0 + 5.0 + 0.5, SIGMA * 2.0))


def test_a_season_that_is_not_proved_leaves_the_level_expected() -> None:
    core, season = daily(3.0, proved=0.0)
    now = looked(core, season)
    assert now.has_season == 1.0
    assert moment.expectation(core, now) == pytest.approx((100.0, SIGMA * 10.0))


@pytest.mark.parametrize(("proved", "low"), [(0.0, 10.0), (1.0, math.nan)])
def test_a_period_predicts_only_where_no_season_is_used(proved: float, low: float) -> None:
    core, season, now = plain(), records.season(), records.moment()
    phase = core.phase
    phase.slot_s, phase.quantum, phase.lag, phase.judged, phase.newest = 1.0, 1.0, 4.0, 99.0, 21.0
    phase.earlier = 21.0
    season.searching.slots[:] = 10
    now.season_proved = proved
    moment.look_back(core, season.searching.slots, 10.0, 22.0, now)
    assert now.period_low == pytest.approx(low, nan_ok=True)


@pytest.mark.parametrize(
    ("fast", "slow", "expected"), [(3.0, 1.0, 3.0), (1.0, 1.5, 1.5), (1.0, 9.0, 2.0), (-1.0, 9.0, -1.0)]
)
def test_the_slow_mean_counts_up_to_twice_the_fast_one(fast: float, slow: float, expected: float) -> None:
    assert moment.drift_statistic(fast, slow) == expected


def measured(core: Any, x: float, now: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    statistics = np.zeros(EXPERTS)
    moment.measure(core, x, now, statistics)
    return statistics


def test_statistics_of_a_plain_series() -> None:
    core = plain()
    core.drift, core.drift_slow = 0.6, 0.3
    now = looked(core, records.season())
    found, z = measured(core, 130.0, now), 30.0 / (SIGMA * 10.0)
    drift, slow = 0.6 + (z - 0.6) / 6.0, 0.3 + (z - 0.3) / 24.0
    assert found[LEVEL_UP] == found[JUMP_UP] == pytest.approx(z)
    assert found[LEVEL_DOWN] == -found[LEVEL_UP]
    assert found[DRIFT_UP] == pytest.approx(max(drift / 0.30, min(slow / 0.146, 2.0 * drift / 0.30)))
    assert found[DRIFT_DOWN] == pytest.approx(max(-drift / 0.30, min(-slow / 0.146, -2.0 * drift / 0.30)))
    assert found[PHASE_UP] == 0.0
    assert (now.next_drift, now.next_drift_slow) == pytest.approx((drift, slow))


def test_distances_are_bounded_in_running_means() -> None:
    core = plain()
    now = looked(core, records.season())
    found = measured(core, 1e9, now)
    assert found[LEVEL_UP] == 100.0
    assert now.next_drift == pytest.approx(6.0 / 6.0)


@pytest.mark.parametrize(
    ("fast_scale", "jump"),
    [
        (3.1, 3.0 / (SIGMA * 2.8)),
        (2.9, 10.0 / (SIGMA * 2.9)),  # steps are hardly smaller than errors of the fast level
        (3.2, 10.0 / (SIGMA * 3.2)),  # nor are those much smaller than the scale
    ],
)
def test_a_random_walk_is_predicted_by_its_last_value(fast_scale: float, jump: float) -> None:
    core = plain()
    core.values.fast_scale, core.step_scale, core.last = fast_scale, 2.8, 107.0
    assert measured(core, 110.0, looked(core, records.season()))[JUMP_UP] == pytest.approx(jump)


@pytest.mark.parametrize(("proved", "level"), [(1.0, 4.0 / (SIGMA * 2.0)), (0.0, 9.0 / (SIGMA * 10.0))])
def test_the_distance_from_a_proved_season_counts(proved: float, level: float) -> None:
    core, season = daily(3.0, proved)
    found = measured(core, 109.0, looked(core, season))
    assert found[LEVEL_UP] == pytest.approx(level)


@pytest.mark.parametrize(
    ("days", "value", "expected"),
    [
        (3.0, 109.0, 9.0 / (SIGMA * 10.0)),  # the plain level is nearer
        (3.0, 106.0, 1.0 / (SIGMA * 2.0)),  # the season is
        (3.0, 100.0, 0.0),  # as ordinary as values are
        (8.0, 109.0, 4.0 / (SIGMA * 2.0)),
    ],
)
def test_until_a_week_was_seen_the_nearer_of_season_and_level_is_judged(
    days: float, value: float, expected: float
) -> None:
    core, season = daily(days)
    now = looked(core, season)
    measured(core, value, now)
    assert moment.nearer(now) == pytest.approx(expected)


def test_jumps_are_measured_without_the_season_where_that_predicts_better() -> None:
    core, season = daily(3.0)
    core.residuals.count, core.residuals.fast, core.residuals.fast_scale = 21.0, 1.0, 1.0
    core.residuals.scale = 4.0
    now = looked(core, season)
    jump = measured(core, 109.0, now)[JUMP_UP]
    assert jump == pytest.approx(3.0 / (SIGMA * 1.0 * now.residual_scale / 4.0))
