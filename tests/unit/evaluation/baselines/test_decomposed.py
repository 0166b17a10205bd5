"""Seasons by the clock, FluxEV's fluctuations and OneShotSTL's season, by hand."""

import numpy as np
import pytest

from common.units import NS_PER_S
from evaluation.baselines.decomposed import (
    _expected,
    _first_season,
    _fluctuations,
    _season,
    fluxev,
    one_shot_stl,
    season_of,
    seasons_ago,
)
from evaluation.series.labelled import Series
from evaluation.series.signals import Floats

HOUR_NS = 3600 * NS_PER_S
DAY_NS = 24 * HOUR_NS


def series(values: Floats, step_ns: int = HOUR_NS, probation: int = 72) -> Series:
    return Series("test", 0, np.arange(values.size, dtype=np.int64) * step_ns, values, (), probation)


def noise(points: int, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).normal(0.0, 1.0, points)


@pytest.mark.parametrize(
    ("step_ns", "season"),
    [(HOUR_NS, (DAY_NS, 24)), (HOUR_NS // 12, (DAY_NS, 288)), (DAY_NS, (7 * DAY_NS, 7)), (7 * HOUR_NS, (DAY_NS, 3))],
)
def test_a_season_is_a_day_or_a_week_of_daily_points(step_ns: int, season: tuple[int, int]) -> None:
    assert season_of(series(np.zeros(50), step_ns)) == season


def test_points_of_earlier_seasons_are_found_by_time() -> None:
    times_ns = np.array([0, 1, 2, 23, 24, 26, 50], np.int64) * HOUR_NS
    found = seasons_ago(Series("test", 0, times_ns, np.zeros(7), (), 4), 2)
    # A day before 24, 26 and 50 h: 0, 2 and 26 h. Two days before 50 h: 2 h.
    assert found.tolist() == [[-1, -1, -1, -1, 0, 2, 5], [-1, -1, -1, -1, -1, -1, 2]]


def test_a_fluctuation_is_what_an_error_adds_to_the_deviation() -> None:
    values, window, alpha = noise(40), 5, 0.2
    errors = np.zeros(40)
    for i in range(window, 40):
        forecast = values[i - window]
        for past in values[i - window + 1 : i]:
            forecast += alpha * (past - forecast)
        errors[i] = values[i] - forecast
    found = _fluctuations(values, window, alpha)
    assert not found[: 2 * window].any()
    for i in (2 * window, 25, 39):
        added = errors[i - window : i + 1].std() - errors[i - window : i].std()
        assert found[i] == pytest.approx(max(added, 0.0))


@pytest.mark.parametrize(
    ("ago", "drift", "now", "largest"),
    [
        ([5], 0, 20, 5.0),
        ([5], 2, 20, 7.0),
        ([5, 15], 2, 20, 17.0),
        ([-1], 2, 20, 0.0),
        ([1], 3, 20, 4.0),  # nothing before the first
        ([9], 5, 10, 9.0),  # nothing from now on
    ],
)
def test_expected_is_the_largest_near_the_same_time(ago: list[int], drift: int, now: int, largest: float) -> None:
    assert _expected(np.arange(20.0), np.array(ago), drift, now) == largest


def test_a_season_is_the_mean_of_one_and_two_ago() -> None:
    season = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    assert _season(season, np.array([4, 1]), 0, 6) == (16 + 2) / 2
    assert _season(season, np.array([4, 1]), 1, 6) == (32 + 4) / 2
    assert _season(season, np.array([4, -1]), 0, 6) == 16.0
    assert _season(season, np.array([-1, -1]), 0, 6) == 0.0
    assert _season(season, np.array([5, 0]), 3, 6) == (32 + 8) / 2, "no later than the newest"


def test_the_first_season_is_the_mean_of_each_hour_without_the_trend() -> None:
    hours = np.arange(24 * 5)
    shape = np.sin(2 * np.pi * hours / 24)
    values = shape + 0.1 * hours
    found = _first_season(series(values, probation=96), values)
    assert found.size == 96
    assert found[24:48] == pytest.approx(found[:24])
    assert found[:24].mean() == pytest.approx(0.0, abs=1e-9)
    assert np.corrcoef(found, shape[:96])[0, 1] > 0.95
    assert _first_season(series(values, probation=40), values).size == 0, "less than two seasons"


def test_a_daily_fluctuation_becomes_usual() -> None:
    values = noise(24 * 30)
    values[20::24] += 20.0
    values[24 * 25 + 8] += 20.0
    found = fluxev(series(values, probation=24 * 5))
    assert found.argmax() == 24 * 25 + 8


def test_the_trend_is_followed_and_the_season_expected() -> None:
    hours = np.arange(24 * 20)
    values = 5.0 * np.sin(2 * np.pi * hours / 24) + 0.01 * hours + 0.1 * noise(hours.size)
    found = one_shot_stl(series(values, probation=24 * 3))
    assert np.quantile(found[24 * 6 :], 0.95) < 4.0
    moved = values.copy()
    moved[24 * 15 :] += 10.0
    assert one_shot_stl(series(moved, probation=24 * 3))[24 * 15] > 3 * found[24 * 6 :].max()
